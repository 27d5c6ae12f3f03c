"""What tapes have done, counted, and programs on CuPy arrays compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from fusecuda import fused  # noqa: E402
from fusecuda.capture.cupy import steps, tape  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402

cupy_host.install()
X = np.arange(24.0).reshape(4, 6)


class Watch:
    """What tapes have done since the last look."""

    def __init__(self) -> None:
        self.followed = self.learned = self.flushes = self.made_nodes = 0

    def look(self) -> tuple[int, int, int, int]:
        """Operations followed and recorded, flushes from the tape, times it was left."""
        found = self.followed, self.learned, self.flushes, self.made_nodes
        self.__init__()  # type: ignore[misc]
        return found


@pytest.fixture(name="watch")
def watching(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Counts, beginning with nothing known."""
    watch = Watch()
    steps.forget()

    def counting(name: str, count: Callable[[Any, Any], None]) -> None:
        original = getattr(tape.Tape, name)

        def call(self: Any, *args: Any) -> Any:
            result = original(self, *args)
            count(self, result)
            return result

        monkeypatch.setattr(tape.Tape, name, call)

    def add(field: str) -> Callable[[Any, Any], None]:
        return lambda self, result: setattr(watch, field, getattr(watch, field) + 1)

    counting("take", add("followed"))
    counting("learn", add("learned"))
    counting("rerun", add("flushes"))
    counting("_make_nodes", lambda self, _: self.path and add("made_nodes")(self, None))
    yield watch
    steps.forget()


def check(program: Callable[..., Any], *args: Any) -> None:
    """``program(module, …)`` gives and leaves in CuPy arrays what it does in NumPy's."""
    given = [host(a) if isinstance(a, np.ndarray) else a for a in args]
    wanted_args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    wanted = program(np, *wanted_args)
    with fused(device="cpu"):
        got = program(cp, *given)
    for g, w in zip((*got, *given), (*wanted, *wanted_args), strict=True):
        assert type(g) is cp.ndarray or not isinstance(w, np.ndarray)
        equal(seen(g) if isinstance(g, cp.ndarray) else g, w)
