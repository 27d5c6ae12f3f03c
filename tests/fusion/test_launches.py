"""The launch table: named programs run in the fewest kernels and move the fewest bytes.

Loads and stores are counted for each array element by an instrumented build of the very kernels, so
the counts are not the planner's own claim.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.engine import Executable
from fusecuda.fusion import kernel_ir as ir
from fusecuda.fusion.binding import Bound
from fusecuda.fusion.variants import ROW
from fusecuda.tools.traffic import count_traffic
from tests.marks import one_in
from tests.programs import PROGRAMS, Program

SIZES = [(37, 53), (5, 1300), (700, 3)]


def passes_of(executable: Executable, argument: int) -> int:
    """In how many passes over a row, which stays in the cache, ``argument`` is read for elements.

    Where elements lie side by side a later pass reads them again, else what an earlier one kept.
    """
    (step,) = executable.assembly.steps
    assert isinstance(step, Bound)
    forms = {
        form
        for form, access in enumerate(step.lowered.accesses)
        if access.node is executable.assembly.plan.graph.parameters[argument]
    }
    loads = [
        {s.form for s in stage.body if isinstance(s, ir.Load)} for stage in step.lowered.ir.stages
    ]
    passes = sum(not forms.isdisjoint(read) for read in loads)
    assert passes <= 1 or step.variant.skeleton == ROW
    return max(1, passes)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@one_in(6)
def test_launches_and_loads(program: Program, size: tuple[int, int]) -> None:
    """One launch, each argument element read once in a pass, each result element written once."""
    arguments = program.arguments(np.random.default_rng(1), *size)
    executable = fc.lower(program.function, *arguments)
    assert executable.launches == program.launches, executable.explain()
    traffic = count_traffic(executable, arguments)
    assert traffic.strays == 0
    for argument, (loads, wanted) in enumerate(zip(traffic.loads, program.loads, strict=False)):
        least, most = wanted or (size[0], size[0])
        assert loads.min() >= least, argument
        assert loads.max() <= most * passes_of(executable, argument), argument
    for stores in traffic.stores[: len(arguments)]:
        assert not stores.any()
    for stores in traffic.stores[len(arguments) :]:
        assert (stores == 1).all()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_values(program: Program) -> None:
    """The kernels compute what NumPy computes, up to rounding in another order."""
    arguments = program.arguments(np.random.default_rng(2), 64, 200)
    want = program.function(*arguments)
    got = fc.lower(program.function, *arguments)(*arguments)
    for g, w in zip(np.atleast_1d(got), np.atleast_1d(want), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-13)


KEEPING = {
    "mean": lambda x: x.mean(axis=1, keepdims=True),
    "mean and centred": lambda x: (x - (m := x.mean(axis=1, keepdims=True)), m),
    "columns": lambda x: (x - (m := x.mean(axis=0, keepdims=True)), m),
    "everything": lambda x: x.sum(keepdims=True) * 2,
    "row value under new axes": lambda x: np.cbrt(x.max(axis=1)[None, :, None]) + 1,
    "log of a sum": lambda x: (
        (e := np.exp(x - (m := x.max(axis=1, keepdims=True))))
        / (s := e.sum(axis=1, keepdims=True)),
        m + np.log(s),
    ),
}


@pytest.mark.parametrize("kind", KEEPING)
@pytest.mark.parametrize("shape", [(64, 200), (1, 200), (64, 1), (1, 1)])
@one_in(10)
def test_row_values_that_keep_their_axis(kind: str, shape: tuple[int, int]) -> None:
    """They take no kernel of their own, and have their shape."""
    x = np.random.default_rng(3).normal(size=shape)
    executable = fc.lower(KEEPING[kind], x)
    assert executable.launches == 1, executable.explain()
    got, want = executable(x), KEEPING[kind](x)
    if not isinstance(want, tuple):
        got, want = (got,), (want,)
    for g, w in zip(got, want, strict=True):
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-13)


def test_launches_are_counted_when_they_happen() -> None:
    """`count_launches` sees each call of a compiled kernel, by name, and only inside its block."""
    function = fc.fused(lambda x: np.exp(x) + 1)
    x = np.ones(10)
    function(x)
    with fc.count_launches() as outer:
        function(x)
        with fc.count_launches() as inner:
            function(x)
    function(x)
    assert (outer.total, inner.total) == (2, 1)
    assert list(inner.by_name) == ["loop_exp_add"]


def test_a_stencil_update_moves_its_slice_and_not_the_array() -> None:
    """Ten elements written in the middle of ten thousand: the rest is neither read nor written."""

    def stencil(u: np.ndarray) -> None:
        u[5000:5010] = u[4999:5009] + u[5001:5011]

    u = np.arange(10_000.0)
    traffic = count_traffic(fc.lower(stencil, u), (u,))
    loads, stores = traffic.loads[0], traffic.stores[0]
    assert loads[:4999].sum() == loads[5011:].sum() == 0
    assert loads.sum() == 20
    assert stores.sum() == stores[5000:5010].sum() == 10
    want = np.arange(10_000.0)
    stencil(want)
    np.testing.assert_array_equal(u, want)


def test_bytes_of_a_kernel_are_what_is_counted() -> None:
    """`kernels[i].bytes_read` and `bytes_written` agree with the counted traffic."""
    x, y, z = (np.ones((30, 40)) for _ in range(3))
    executable = fc.lower(lambda x, y, z: x + y * z, x, y, z)
    (kernel,) = executable.kernels
    traffic = count_traffic(executable, (x, y, z))
    assert kernel.bytes_read + kernel.bytes_written == traffic.bytes_moved
    assert kernel.flops == 2 * x.size
    read = re.findall(r"//   in\d reads parameter\((\d)\) float64\[30, 40\]\n", kernel.source)
    assert sorted(read) == ["0", "1", "2"]


def added_at(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    sums = np.zeros(4)
    np.add.at(sums, at, x)
    return sums


def placed_at(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    placed = np.zeros(4)
    placed[at] = x
    return placed


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (added_at, 50),
        (placed_at, 0),
        (lambda x, at: np.cumsum(x), 50),
        (lambda x, at: np.cumsum(x * 2) + at.sum(), 200),
        (lambda x, at: x.astype("f4"), 0),
    ],
)
def test_whatever_computes_is_counted(function: Any, flops: int) -> None:
    """Scans and additions at indices, too; what moves or converts elements is not."""
    x, at = fc.spec(50), fc.spec(50, np.int64)
    assert fc.cost(function, x, at).flops == flops


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x + 1, ""),
        (lambda x: x.sum(axis=1), ""),
        (lambda x: (x + 1) * 2, "go over the same elements, and nothing between them is stored"),
        (lambda x: (x * x).sum(axis=1), "compute what is reduced, as it is read"),
        (
            lambda x: np.sqrt((x * x).sum(axis=1)),
            "compute what is reduced, as it is read, and what follows from that alone",
        ),
        (
            lambda x: x - x.mean(axis=1, keepdims=True),
            "need the same rows, again where they follow a reduction",
        ),
    ],
)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_heads_say_why_operations_are_together(function: Any, why: str, target: str) -> None:
    (text,) = fc.lower(function, fc.spec((30, 40))).emit(target)
    told = re.findall(r"// together, for they ([^:]*): ", text.replace("\n//   ", " "))
    assert told == ([why] if why else [])


def test_only_cuda_is_compiled_for_an_arch() -> None:
    executable = fc.lower(lambda x: x + 1, fc.spec(9))
    with pytest.raises(ValueError, match="for 'c' are not compiled for an arch"):
        executable.emit("c", arch="sm_90")


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: x + 1, "loop"),
        (lambda x: x.sum(axis=1), "reduction"),
        (lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), "resident"),
        (np.sort, "library"),
    ],
)
def test_kinds_of_kernels(function: Any, kind: str) -> None:
    (kernel,) = fc.lower(function, fc.spec((30, 40))).kernels
    assert kernel.kind == kind and f'"{kind}"' in (fc.Kernel.__doc__ or "")


def test_a_row_value_goes_to_a_strided_argument() -> None:
    """One that keeps its axis, written to memory that is laid out in its own way."""

    def function(x: np.ndarray, out: np.ndarray) -> None:
        out[...] = x.mean(axis=1, keepdims=True) * 2

    x = np.arange(24.0).reshape(4, 6)
    memory = np.zeros((8, 3))
    fc.fused(function)(x, memory[::2, 1:2])
    want = np.zeros((8, 3))
    function(x, want[::2, 1:2])
    np.testing.assert_array_equal(memory, want)
