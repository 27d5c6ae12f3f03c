"""Random programs: statements with views, writes, masks and reads, on NumPy, lazily and fused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record.recorder import default_recorder
from tests.capture_check import equal, lazy
from tests.marks import few, one_in

pytestmark = pytest.mark.usefixtures("threshold")

Statement = Callable[[dict[str, Any]], None]
NAMES = ("a", "b", "c", "d")
SLICES = (slice(None), slice(1, None), slice(None, -1), slice(None, None, -1), slice(None, None, 2))
DTYPES = ("f8", "f8", "f4", "i8", "u1")


@pytest.fixture(params=[0, 100, 1 << 30], ids=["recorded", "mixed", "at once"])
def threshold(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below which lazy arrays outside of blocks are worked on at once."""
    monkeypatch.setattr(default_recorder, "at_once_below", request.param)


def cut(v: Any) -> Any:
    """Bring values back among small integers; exact in every dtype."""
    return np.remainder(v, v.dtype.type(64))


class Writer:
    """Makes one random program as Python source over the variables in `NAMES`."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.looks = bool(self.rng.integers(2))  # whether values are looked at on the way

    def pick(self, *options: Any) -> Any:
        """One of ``options``."""
        return options[int(self.rng.integers(len(options)))]

    def name(self) -> str:
        """A variable."""
        return str(self.pick(*NAMES))

    def part(self, name: str) -> str:
        """Text of a view of a variable, always of at least one axis."""
        s, t = self.pick(*range(len(SLICES))), self.pick(*range(len(SLICES)))
        return str(
            self.pick(
                name, name, f"{name}[S[{s}]]", f"{name}[S[{s}], S[{t}]]", f"{name}.T", f"{name}[0]",
                f"{name}[:, 1]", f"{name}.reshape(-1)", f"{name}.reshape(-1)[S[{s}]]",
                f"{name}.T[S[{s}]]", f"{name}[None]",
            )
        )  # fmt: skip

    def value(self) -> str:
        """Text of an expression, not too large."""
        a, b = self.name(), self.name()
        k = int(self.rng.integers(0, 4))
        return str(
            self.pick(
                f"{a} + {b}", f"{a} - {b}", f"{a} * {k}", f"np.maximum({a}, {b})", f"{a} > {b}",
                f"np.where({a} > {b}, {a}, {k})",
                f"{a}.sum(axis=0)", f"{a}.max(axis=1)[:, None]",
                f"{a}.sum()", f"{a}[0, 0]", f"{a}[[0, 2]].sum(0)", f"abs({a}.astype('i8'))",
                f"{k}",
                f"np.roll({a}, {k}, 1)", f"{a}[::-1]", f"{a}.mean(axis=0) > {k}",
                f"{a}.astype('f4')",
                f"np.concatenate([{a}[:2], {b}[2:]])",
                f"{a}.argmax(axis=0)", f"np.cumsum({a}, 1)",
                f"{a}.copy().T.reshape({a}.shape)", f"np.minimum({a}, {b}[1])", f"{a}.min()",
            )
        )  # fmt: skip

    def statement(self) -> str:
        """Text of one statement."""
        a, b = self.name(), self.name()
        k = int(self.rng.integers(0, 5))
        view = self.part(a)
        look = [
            f"s = float({a}.sum()); {b}[0] = s % 7", f"seen.append(np.array({view}))",
            f"if {a}[0, 1] > {k}: {b}[1] = {k}", "s = str(w)",
        ]  # fmt: skip
        whole = f"np.zeros_like({a}) + ({self.value()})"
        return str(
            self.pick(
                f"{a} = cut({whole})", f"{a} = cut({whole})", f"{a}[...] = cut({whole})",
                f"{a}, {b} = {b}, {a}", f"v = {view}; v[...] = cut(v + {k})", f"{a} = {b}",
                f"v = {view}; v += {k}; v[...] = cut(v)", f"{a} = {b}.copy()",
                f"{a}[1:] = {a}[:-1]", f"{a}[:, 1:] += {a}[:, :-1]; {a}[...] = cut({a})",
                f"{a}[{a} > {b}] = {k}", f"{a}[[0, 2]] = {k}", f"{a}[[2, 0]] = cut({b}[[0, 1]])",
                self.pick(*look) if self.looks else f"seen.append({view})",
                f"{a}[{k} % 3, 1] = {b}[1, {k} % 4]",
                f"np.add({a}, {k}, out={b}, casting='unsafe'); {b}[...] = cut({b})",
                f"w = {view}", f"w = cut(w); {a}[0] = {k}", "seen.append(w.sum())",
                f"np.copyto({a}, {b}, where={b} > {k}, casting='unsafe')",
                f"{a}[1], {a}[0] = {b}[0], {b}[1]",
                f"{a}.fill({k})", f"{a}.sort(axis=0)",
                f"{a} = cut(np.pad({b}[1:, 1:], ((1, 0), (0, 1))))",
            )
        )  # fmt: skip

    def program(self, statements: int) -> str:
        """Source of a function of the variables, all by name, that gives all of them back."""
        body = [f"    {self.statement()}" for _ in range(statements)]
        head = f"def program({', '.join(NAMES)}):\n    seen = []\n    w = a\n"
        return head + "\n".join(body) + f"\n    return [{', '.join(NAMES)}, w, *seen]\n"


def run_seed(seed: int) -> None:
    """One program on NumPy arrays, on lazy arrays, and fused (twice, with other values)."""
    writer = Writer(seed)
    source = writer.program(int(writer.rng.integers(3, 14)))
    space: dict[str, Any] = {"np": np, "S": SLICES, "cut": cut}
    exec(source, space)
    program = space["program"]
    fused = fc.fused(program)
    dtypes = [writer.pick(*DTYPES) for _ in NAMES]
    for round_ in range(2):
        rng = np.random.default_rng(seed + round_)
        given = [rng.integers(0, 20, (3, 4)).astype(t) for t in dtypes]
        wanted_args = [v.copy() for v in given]
        wanted = program(*wanted_args)
        try:
            arrays = [lazy(v) for v in given]
            equal(program(*arrays), wanted)
            equal(arrays, wanted_args)
            args = [v.copy() for v in given]
            equal(fused(*args), wanted)
            equal(args, wanted_args)
        except Exception as error:
            error.add_note(f"seed {seed}, call {round_}, dtypes {dtypes}:\n{source}")
            raise


@pytest.mark.parametrize("block", few(range(20), 1))
@one_in(6)
def test_programs(block: int) -> None:
    """Random programs end with NumPy's own values in every variable and every argument."""
    for seed in range(block * 6, block * 6 + 6):
        run_seed(seed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("block", range(3))
def test_many_programs(block: int) -> None:
    """Three hundred other random programs."""
    for seed in range(10_000 + block * 100, 10_000 + block * 100 + 100):
        run_seed(seed)
