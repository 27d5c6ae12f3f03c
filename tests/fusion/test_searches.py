"""Searches in sorted arrays are part of the kernels of both back ends, and give NumPy's places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fusecuda.emit_cuda import nvrtc
from fusecuda.engine import build as compile_graph
from fusecuda.errors import GraphError
from fusecuda.graph import build
from fusecuda.graph.dtypes import BOOL, FLOAT64, INT64, DType
from fusecuda.graph.index_map import axis_map
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import SIDES, Graph, Node
from fusecuda.graph.text import parse_hlo, print_hlo
from fusecuda.graph.verify import verify
from fusecuda.options import Options
from tests import emulated
from tests.fusion.test_segments import Drawn
from tests.marks import at_length, chosen
from tests.strategies import DTYPES, LAYOUTS, SPECIALS, lay_out, mixed_values

Array = np.ndarray[Any, Any]
REAL = [d for d in DTYPES if d.kind in "biuf"]
USUAL = [np.dtype(name) for name in ("int64", "float16", "float64")]
EXTENTS = (0, 1, 2, 7, 32, 33, 200)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel's IR is checked."""
    monkeypatch.setenv("FUSECUDA_VERIFY", "1")


def table(drawn: Drawn, dtype: DType, extent: int, layout: str = "contiguous") -> Node:
    """A sorted array, some of whose elements come twice, with NaN behind the others."""
    values = mixed_values(drawn.rng, dtype, (extent,))
    values[: extent // 3] = values[extent // 3 : 2 * (extent // 3)]
    return drawn.given(np.sort(values), layout)


def tables_of(dtype: DType) -> list[DType]:
    """The types of tables whose elements are compared in ``dtype``."""
    return [d for d in REAL if np.promote_types(d, dtype) == dtype]


def first_elements(node: Node, shape: tuple[int, ...]) -> Node:
    """The first element of ``node`` everywhere."""
    return build.index(node, axis_map([(0, 0, None)], len(shape)), shape)


# --- values


@pytest.mark.parametrize("dtype", chosen(REAL, USUAL), ids=str)
def test_bits(dtype: DType) -> None:
    """Special values in tables of any extent, type and layout, whole runs of values and less."""
    drawn = Drawn(1)
    specials = SPECIALS[dtype]
    values = np.concatenate([specials, mixed_values(drawn.rng, dtype, (700,))])
    x = drawn.given(values)
    for number, extent in enumerate(EXTENTS):
        for turn, kind in enumerate(tables_of(dtype)):
            layout = LAYOUTS[(number + turn) % 4]
            at = table(drawn, kind, extent, layout)
            side = SIDES[(number + turn) % 2]
            drawn.outputs.append(build.search(at, x, side))
    drawn.run(cuda=False)
    drawn.outputs = drawn.outputs[::5]
    drawn.run()


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_of_any_layout(layout: str, side: str) -> None:
    """Of arrays with axes, with what their values are computed from and what is made of places."""
    drawn = Drawn(2)
    x = drawn.given(mixed_values(drawn.rng, FLOAT64, (30, 41)), layout)
    for extent in (9, 90):
        at = table(drawn, FLOAT64, extent, "strided")
        doubled = build.elementwise("add", [x, x], FLOAT64)
        found = build.search(at, doubled, side)
        again = build.search(at, build.convert(found, FLOAT64), side)
        drawn.outputs += [build.elementwise("add", [found, again], INT64), doubled]
    assert drawn.run().launches <= 2


def test_a_value_of_no_axes() -> None:
    """A place of one value, and of what is the same for all elements."""
    drawn = Drawn(3)
    at, one = table(drawn, FLOAT64, 50), drawn.given(np.array(0.25))
    x = drawn.given(drawn.rng.normal(size=(6, 7)))
    place = build.search(at, one, "left")
    spread = build.broadcast_to(one, (6, 7))
    mean = build.reduce("sum", x, [1])
    of_rows = build.index(build.search(at, mean, "right"), axis_map([(0, 1, 0)], 2), (6, 7))
    drawn.outputs += [place, build.search(at, spread, "left"), of_rows]
    drawn.run()


@pytest.mark.parametrize("shape", [(7, 900), (900, 7), (300, 5), (40, 60)])
@pytest.mark.parametrize("axis", [0, 1])
def test_places_that_are_reduced(shape: tuple[int, int], axis: int) -> None:
    """In rows and in columns, of which one kernel computes places before and after a reduction."""
    drawn = Drawn(4)
    at, x = table(drawn, FLOAT64, 60), drawn.given(drawn.rng.normal(size=shape))
    x = build.elementwise("multiply", [x, x], FLOAT64)
    places = build.convert(build.search(at, x, "right"), FLOAT64)
    total = build.reduce("sum", places, [axis])
    back = build.index(total, axis_map([(0, 1, 1 - axis)], 2), shape)
    share = build.elementwise("divide", [places, back], FLOAT64)
    drawn.outputs += [total, build.search(at, share, "left")]
    assert drawn.run().launches <= 2


def test_a_running_sum_of_places() -> None:
    """Rows are cut where a total runs on, and where all of a run is looked for."""
    drawn = Drawn(5)
    at, x = table(drawn, FLOAT64, 40), drawn.given(drawn.rng.normal(size=(3, 1100)))
    places = build.search(at, x, "left")
    sums = build.library("cumsum", [places], x.shape, INT64, kwargs=(("axis", 1),))
    again = build.search(at, build.convert(sums, FLOAT64), "right")
    drawn.outputs += [build.elementwise("add", [again, places], INT64), sums]
    drawn.run()


def test_places_that_tell_where() -> None:
    """A count of values in bins: the values are looked for, and their places added to."""
    drawn = Drawn(6)
    at, x = table(drawn, FLOAT64, 12), drawn.given(mixed_values(drawn.rng, FLOAT64, (5000,)))
    places = build.search(at, x, "left")
    zeros = build.broadcast_to(build.constant(0, INT64), (13,))
    drawn.outputs.append(build.scatter("add", zeros, build.constant(1, INT64), [places]))
    drawn.run()


def test_picked_places() -> None:
    """Places of values that a mask picks."""
    drawn = Drawn(7)
    at, x = table(drawn, FLOAT64, 45), drawn.given(drawn.rng.normal(size=2000))
    mask = build.elementwise("greater", [x, build.constant(0.5, FLOAT64)], BOOL)
    drawn.outputs.append(build.compact(build.search(at, x, "left"), mask))
    drawn.run()


# --- memory


def test_the_table_is_read_behind_no_guard() -> None:
    """A part of a concatenate has an element of the table, which others of a run look through."""
    drawn = Drawn(8)
    at = table(drawn, FLOAT64, 40)
    x, y = (drawn.given(drawn.rng.normal(size=n)) for n in (1200, 600))
    parts = build.concatenate([first_elements(at, (600,)), y], 0)
    drawn.outputs += [parts, build.search(at, x, "right")]
    assert drawn.run().launches == 1


def test_a_table_that_is_overwritten() -> None:
    """All are looked for in what was there before."""
    values = np.sort(np.random.default_rng(9).normal(size=3000))
    x = build.parameter(0, values.shape, FLOAT64)
    found = build.search(x, build.elementwise("multiply", [x, x], FLOAT64), "left")
    graph = Graph((x,), (build.convert(found, FLOAT64),), "over", (0,))
    verify(graph)
    given, (want,) = values.copy(), interpret(graph, [values])
    compile_graph(graph, {}, Options()).run([given])
    assert np.array_equal(given, want)


def test_a_table_that_is_computed() -> None:
    """It is stored; what has been moved in it, and what is a view, is read where it lies."""
    drawn = Drawn(10)
    a, x = drawn.given(drawn.rng.normal(size=80)), drawn.given(drawn.rng.normal(size=500))
    sums = build.library("cumsum", [build.elementwise("exp", [a], FLOAT64)], (80,), FLOAT64)
    every = build.index(sums, axis_map([(1, 3, 0)], 1), (26,))
    drawn.outputs += [build.search(sums, x, "left"), build.search(every, x, "right")]
    drawn.run()


def test_indices_that_are_known_to_lead_to_elements_are_not_tested() -> None:
    """Places that are kept within an array never fail, and the kernel has no error to report."""
    drawn = Drawn(11)
    at, x = table(drawn, FLOAT64, 20), drawn.given(drawn.rng.normal(size=500))
    place = build.search(at, x, "left")
    kept = build.elementwise("minimum", [place, build.constant(19, INT64)], INT64)
    drawn.outputs = [build.gather(at, [kept])]
    text = drawn.run().emit("c")[0]
    assert "status" not in text
    drawn.outputs = [build.gather(at, [place])]  # there may be one place more
    executable = compile_graph(drawn.graph, {}, Options())
    assert "status" in executable.emit("c")[0]
    with pytest.raises(IndexError):
        executable.run([np.zeros(20), np.ones(500)])


# --- texts


def test_text() -> None:
    """What is printed is read again."""
    drawn = Drawn(0)
    x = drawn.given(np.ones((3, 9)))
    drawn.outputs.append(build.search(table(drawn, FLOAT64, 5), x, "right"))
    text = print_hlo(drawn.graph)
    assert "s64[3,9] search(%1, %0), side=right" in text
    assert print_hlo(parse_hlo(text)) == text


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("s64[2] search(%0, %1)", "no side"),
        ("s64[2] search(%0, %1), side=above", "no side"),
        ("s64[2] search(%0), side=left", "takes 2"),
        ("s64[3] search(%0, %1), side=left", "int64 for each value"),
        ("s32[2] search(%0, %1), side=left", "int64 for each value"),
        ("s64[2] search(%2, %1), side=left", "1-d array"),
        ("s64[6] search(%1, %0), side=left", "in the dtype of its values"),
        ("s64[6] search(%0, %3), side=left", "real numbers"),
    ],
)
def test_what_is_not_well_formed(line: str, why: str) -> None:
    head = (
        "HloModule bad\n  %0 = f32[6] parameter(0)\n  %1 = f64[2] parameter(1)\n"
        "  %2 = f64[2,3] parameter(2)\n  %3 = c64[6] parameter(3)\n"
    )
    with pytest.raises(GraphError, match=why):
        verify(parse_hlo(f"{head}  %4 = {line}\nROOT (%4)\n"))


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("arch", ["sm_90", pytest.param("sm_75", marks=pytest.mark.slow)])
@at_length
def test_nvrtc_compiles_them(arch: str) -> None:
    """Loops, rows and columns of tables of some types."""
    drawn = Drawn(12)
    for dtype in (np.dtype(n) for n in ("f2", "u1", "i8", "f4", "?")):
        for shape in ((900,), (60, 40)):
            x = drawn.given(lay_out(np.ones(shape), "strided"))
            found = build.search(drawn.given(np.ones(9, dtype)), x, SIDES[len(shape) - 1])
            drawn.outputs += [found, build.reduce("sum", found, [0])]
    unique = {source.symbol: source for source in emulated.assembled(drawn.graph)[1]}
    nvrtc.compile_text(nvrtc.unit(list(unique.values())), nvrtc.options(arch))
