"""Calls that raise errors again and again, between others that do not: they cost what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.calls import recorded as recording
from fusecuda.capture.record.rest import Trial


def counted_recordings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that has one more element for each call that is recorded, or that goes on."""
    made: list[int] = []

    class Counted(recording.HostCall):
        def run(self) -> Any:
            made.append(1)
            return super().run()

    monkeypatch.setattr(recording, "HostCall", Counted)
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))
    monkeypatch.setattr(Trial, "took", lambda *args, **kwargs: None)
    return made


def begins(x: Any, kind: str) -> Any:
    """Raises by what is a condition."""
    if kind != "good":
        raise ValueError(f"no {kind} of {len(x)}")
    return x * 2 + 1


def goes_on(x: Any, kind: str) -> Any:
    """Raises by a value that it looks at behind an effect, whatever ``kind`` is."""
    print(end="")
    y = x * 2 + 1
    if y.max() > 5:
        raise ValueError(f"too much: {y.max():.1f}")
    return y


@pytest.mark.parametrize(
    ("program", "kind"), [(begins, "bad"), (goes_on, "good")], ids=["begins", "goes_on"]
)
def test_what_raises_between_others_is_called_plainly(
    program: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other call raises: those are not recorded each time, and all end as they do plainly."""
    made = counted_recordings(monkeypatch)
    f = fc.fused(program)
    for turn in range(64):
        x = np.full(3, turn / 64)
        assert f(x, "good").tolist() == program(x, "good").tolist()
        with pytest.raises(ValueError, match=r"no bad of 3|too much") as known:
            program(x + 9, kind)
        with pytest.raises(ValueError, match=f"^{known.value}$"):
            f(x + 9, kind)
    assert len(made) <= 16


def test_what_raises_no_more_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a call of those that raised ends well, the next one is recorded, and replayed then."""
    made = counted_recordings(monkeypatch)
    allowed = {"bad"}

    @fc.fused
    def g(x: Any, kind: str) -> Any:
        if kind in allowed:
            raise ValueError(kind)
        return x * 2 + 1

    g(np.ones(3), "good")
    for _ in range(8):
        with pytest.raises(ValueError, match="bad"):
            g(np.ones(3), "bad")
    before = len(made)
    allowed.clear()
    for _ in range(8):
        assert g(np.ones(3), "bad").tolist() == [3, 3, 3]
    assert len(made) == before + 1
