"""Fission: a pass of many reductions becomes loops of a few, which share nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusecuda as fc
from fusecuda.codegen.fission import TOGETHER, parts_of
from fusecuda.cpu_fallback.interpreted import KERNELS
from fusecuda.fusion import kernel_ir as ir
from fusecuda.graph.interpret import interpret
from tests.marks import at_length
from tests.strategies import same_bits

ARRAYS = list(np.random.default_rng(6).normal(size=(10, 3000)))


def norms(arrays: list[Any]) -> Any:
    """Sums of squares, of which one scale is made for all."""
    total = 0.0
    for a in arrays:
        total = total + (a * a).sum()
    return [a / np.sqrt(total) for a in arrays]


def stages_of(program: Any) -> list[ir.Stage]:
    return [stage for step in program.assembly.steps for stage in step.lowered.ir.stages]


@at_length
def test_each_statement_has_one_part() -> None:
    def moments(arrays: list[Any]) -> Any:
        """Of pairs, which stay together; all of them make one scale."""
        total = 0.0
        for a, b in zip(arrays[::2], arrays[1::2], strict=True):
            total = total + (a * b).sum() * (a * a).sum() * b.max()
        return [a / total for a in arrays]

    program = fc.lower(moments, ARRAYS)
    stages = [s for s in stages_of(program) if len(s.reduces) > TOGETHER]
    assert stages
    for stage in stages:
        parts = parts_of(stage)
        assert len(parts) > 1
        outs = sorted(r.out for part in parts for r in part.reduces)
        assert outs == sorted(r.out for r in stage.reduces)
        assert all(sum(s in part.body for part in parts) == 1 for s in stage.body)
        for part in parts:
            made = {s.out for s in part.body if not isinstance(s, ir.Effect)}
            assert made.issuperset(r.value for r in part.reduces)
    for got, want in zip(program(ARRAYS), moments(ARRAYS), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_few_are_folded_before_the_next_are_computed() -> None:
    """Their buffers stay in the first cache; the bits are those of one sum alone."""
    program = fc.lower(norms, ARRAYS)
    (text,) = program.emit("c")
    first = text.partition("for (int64_t at = ")[2].partition("for (int64_t at = ")[0]
    assert first.count("done + FC_LANES <= count") == -(-len(ARRAYS) // TOGETHER)
    sums = [fc.lower(lambda a: (a * a).sum(), a)(a) for a in ARRAYS]
    total = 0.0
    for one in sums:
        total = total + one
    for got, a in zip(program(ARRAYS), ARRAYS, strict=True):
        assert same_bits(got, a / np.sqrt(total))


def test_what_is_stored_stays_together() -> None:
    """Nothing is overwritten before all is read."""
    stage = ir.Stage(
        body=[ir.Load(1, np.dtype("f8"), 0), ir.Store(1, 1, np.dtype("f8"))],
        reduces=[ir.Reduce(10 + k, np.dtype("f8"), "sum", 1, np.dtype("f8")) for k in range(9)],
    )
    assert parts_of(stage) == [stage]


def extremes(x: Any) -> Any:
    """Of whole rows, of parts of rows, and of all of a part, which lies in pieces."""
    return x.max(axis=1), x.min(axis=1), x[:, 1:-5].sum(), x[:, 3:].max(), x.min(), x.sum(axis=1)


def test_floats_are_folded_where_they_are() -> None:
    """Whole chunks that lie in one piece, and no others; NaN is kept."""
    rng = np.random.default_rng(7)
    for columns in (20, 700, 1536, 1541):
        x = rng.normal(size=(9, columns))
        x[x > 1] = -0.0
        x[0], x[1, ::2], x[1, 1::2] = 0.0, -0.0, 0.0
        x[3, columns // 2] = x[4, -1] = x[5, 0] = np.nan
        x[6, 3] = np.inf
        for values in (x, x.astype(np.float32), np.delete(x, (3, 4, 5), axis=0)):
            program = fc.lower(extremes, values)
            wanted = interpret(program.graph, [values], KERNELS)
            for got, want in zip(program(values), wanted, strict=True):
                assert same_bits(np.asarray(got) + 0, want + 0)  # zeros of either sign are equal
    assert any("const double *b" in text for text in program.emit("c"))
