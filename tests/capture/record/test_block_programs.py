"""Random programs in blocks: what has been recorded before, and what is nearly that, by NumPy."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture.calls.test_programs import DTYPES, NAMES, SLICES, Writer, cut
from tests.capture_check import equal, lazy
from tests.marks import few, one_in

pytestmark = pytest.mark.usefixtures("on_lazy_arrays")


class BlockWriter(Writer):
    """Adds what blocks know by kinds: numbers, broadcasts, reductions, views of temporaries."""

    def statement(self) -> str:
        a, b = self.name(), self.name()
        k = int(self.rng.integers(0, 5))
        other = (
            f"{a} = cut({a} + {b} * {k})", f"{a} = cut({a} * NUMBER + {b})",
            f"{a} = cut({a} - {b}.max(axis=1, keepdims=True))", f"{a}[1:, 1:] += {b}[:-1, :-1]",
            f"{a}[:, 1:-1] -= {a}[:, :-2]; {a}[...] = cut({a})",
            f"w = {a} + {b}; w += {k}; w = cut(w)",
            f"w = {a} + {b}; v = w[1:]; w += 1; seen.append(v + w[:1])",
            f"w = {a} * 2; v = w[::-1]; v[0] = {k}; {a} = cut(w + v)",
            f"{a} = cut(np.where({a} > {k}, {b}, {a} + {k}))",
            f"w = np.where({a} > {b}, NUMBER, {a})",
            f"{a} = cut({a} + {a}.sum())", f"w = {a}[1:].mean(axis=1); seen.append(w - {k})",
            f"seen.append(np.sum({a}, axis=1) + np.sum({a}[:, 1:], axis=1))",
            f"{a} = cut(np.clip({a}, {k}, 9) + np.sum({a}) + np.sum({b}, axis=0))",
            f"w = {a}; w -= w; {b} = cut({b} + w)", f"{a}[0] = {k}; {a}[1, 1] = NUMBER",
            f"w = ({a} + {b})[1:]; w[0] = {k}; w = cut(w)", f"w = -{a} + abs({b}); w = cut(w)",
            f"{a} = cut({a} + np.zeros_like({b})[0])", f"{a} = {a}[::-1] + {b} * 0; {a} = cut({a})",
            f"w = np.add({a}, {a}); seen.append(np.where(w > {k}, w, w))", f"{a}[1:] = {a}[1:]",
        )  # fmt: skip
        return str(self.pick(*other)) if self.rng.integers(3) else super().statement()


def run_seed(seed: int) -> None:
    """A program, the same with more statements, and both again, on other values each time."""
    length = int(np.random.default_rng(seed).integers(3, 16))
    for turn, longer in enumerate((0, 0, 0, 2, 0, 2)):
        writer = BlockWriter(seed)
        number = (2.0, 2.0, 3.0, 2.0, 1.0, 2.0)[turn]
        source = writer.program(length + longer).replace("NUMBER", str(number))
        dtypes = [writer.pick(*DTYPES) for _ in NAMES] if seed % 2 else [DTYPES[seed // 2 % 2]] * 4
        rng = np.random.default_rng((seed, turn))
        given = [rng.integers(0, 20, (3, 4)).astype(t) for t in dtypes]
        wanted_args = [v.copy() for v in given]
        space: dict[str, Any] = {"np": np, "S": SLICES, "cut": cut}
        exec(source, space)
        raised: type[Exception] | None = None
        wanted = None
        try:
            wanted = space["program"](*wanted_args)
        except TypeError as error:  # casts that NumPy refuses
            raised = type(error)
        try:
            arrays = [lazy(v) for v in given]
            got = None
            with contextlib.suppress(raised or ()), fc.fused():
                got = space["program"](*arrays)
                assert raised is None
            equal(got, wanted)
            equal(arrays, wanted_args)
        except Exception as error:
            error.add_note(f"seed {seed}, turn {turn}, dtypes {dtypes}:\n{source}")
            raise


@pytest.mark.parametrize("block", few(range(12), 1))
@one_in(4)
def test_programs(block: int) -> None:
    """Random programs end with NumPy's own values in every variable and every argument."""
    for seed in range(block * 4, block * 4 + 4):
        run_seed(seed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("block", range(3))
def test_many_programs(block: int) -> None:
    """Three hundred other random programs."""
    for seed in range(20_000 + block * 100, 20_000 + block * 100 + 100):
        run_seed(seed)
