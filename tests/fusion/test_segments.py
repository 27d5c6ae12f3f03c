"""Reductions of segments are kernels of both back ends, with what is around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda import launch, nvrtc
from fusecuda.engine import build as compile_graph
from fusecuda.errors import GraphError
from fusecuda.fusion.variants import ANY, COLUMN, ROW
from fusecuda.graph import build
from fusecuda.graph.dtypes import BOOL, FLOAT64, INT64, DType, is_reducible
from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.graph.node import Graph, Node
from fusecuda.graph.text import parse_hlo, print_hlo
from fusecuda.graph.tree import SEGMENTS
from fusecuda.graph.verify import verify
from fusecuda.options import Options
from tests import emulated, emulator
from tests.marks import at_length, one_in
from tests.strategies import DTYPES, LAYOUTS, lay_out, mixed_values, same_bits, strides_of

Array = np.ndarray[Any, Any]
EMULATED = emulator.available()


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel's IR is checked."""
    monkeypatch.setenv("FUSECUDA_VERIFY", "1")


class Drawn:
    """A graph under way: its parameters, their values, and results."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.parameters: list[Node] = []
        self.arrays: list[Array] = []
        self.outputs: list[Node] = []

    def given(self, values: Array, layout: str = "contiguous") -> Node:
        self.arrays.append(lay_out(values, layout))
        node = build.parameter(len(self.parameters), values.shape, values.dtype)
        self.parameters.append(node)
        return node

    def ends(self, extent: int, count: int, layout: str = "contiguous") -> tuple[Node, Node]:
        """Ends of segments of any length, which overlap and are in no order."""
        first = self.rng.integers(0, extent, count)
        last = first + 1 + self.rng.integers(0, extent, count) % (extent - first)
        return self.given(first, layout), self.given(last, layout)

    @property
    def graph(self) -> Graph:
        return Graph(tuple(self.parameters), tuple(self.outputs))

    def run(self, cuda: bool = EMULATED) -> Any:
        """The executable, whose results are the interpreter's; those of CUDA C are, too."""
        graph, strides = self.graph, strides_of(self.arrays)
        verify(graph)
        executable = compile_graph(graph, strides, Options())
        with np.errstate(all="ignore"):
            want = interpret(graph, self.arrays)
            found = executable.run(self.arrays)
            assert all(map(same_bits, found, want))
            if cuda:
                want = interpret(graph, self.arrays, CUPY)
                found, _ = emulated.run(graph, self.arrays, strides)
                assert all(map(same_bits, found, want))
        return executable


def kinds_of(dtype: DType) -> list[str]:
    return [k for k in SEGMENTS if is_reducible(k, dtype)]


CASES = (
    ((100,), 0, 7), ((3000,), 0, 5), ((1,), 0, 3), ((5, 40), 1, 9), ((40, 5), 0, 9),
    ((700, 40), 0, 4), ((3, 20, 4), 1, 70), ((2, 33, 9), 1, 1), ((20, 3), 0, 100),
    ((2, 1300), 1, 3), ((20,), 0, 100),
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@one_in(24)
def test_bits(dtype: Any) -> None:
    """Every kind, of special values, in every layout: C and CUDA C have the interpreter's bits."""
    drawn = Drawn(7)
    for number, kind in enumerate(kinds_of(dtype)):
        for shape, axis, count in CASES[number % 5 :: 5]:
            values = mixed_values(drawn.rng, dtype, shape)
            if kind in ("max", "min"):
                values = values + dtype.type(0)  # which zero is the larger is left open
            x = drawn.given(values, str(drawn.rng.choice(LAYOUTS)))
            layout = str(drawn.rng.choice(("contiguous", "offset", "reversed", "strided")))
            first, last = drawn.ends(shape[axis], count, layout)
            drawn.outputs.append(build.segment(kind, x, first, last, axis))
    executable = drawn.run()
    assert {k.kind for k in executable.kernels} == {"reduction"}


def numpys(kind: str, x: Array, first: Array, last: Array, axis: int) -> Array:
    """Each segment by NumPy's own reduction."""
    rows = np.moveaxis(x, axis, -1)
    pairs = zip(first.tolist(), last.tolist(), strict=True)
    parts = [getattr(np, kind)(rows[..., a:b], axis=-1) for a, b in pairs]
    return np.moveaxis(np.stack(parts, axis=-1), -1, axis).astype(x.dtype)


@pytest.mark.parametrize("kind", SEGMENTS)
def test_the_interpreter_means_numpys_reductions(kind: str) -> None:
    dtype = BOOL if kind in ("any", "all") else INT64
    for shape, axis, count in CASES:
        drawn = Drawn(3)
        x = drawn.given(drawn.rng.integers(0, 3, shape).astype(dtype))
        ends = drawn.ends(shape[axis], count)
        drawn.outputs.append(build.segment(kind, x, *ends, axis))
        (found,) = interpret(drawn.graph, drawn.arrays)
        values, first, last = drawn.arrays
        np.testing.assert_array_equal(found, numpys(kind, values, first, last, axis))


def test_a_segment_has_the_bits_of_a_sum_of_its_own() -> None:
    """One tree, counted from the segment's first element on; only zeros keep their sign."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=5000)
    first, last = np.array([0, 17, 1000, 4000]), np.array([17, 1000, 4999, 4001])
    parts = [fc.lower(np.sum, x[a:b])(x[a:b]) for a, b in zip(first, last, strict=True)]
    drawn = Drawn(0)
    drawn.outputs.append(build.segment("sum", *map(drawn.given, (x, first, last)), 0))
    (found,) = drawn.run().run(drawn.arrays)
    assert same_bits(found, np.array(parts))


def test_zeros_keep_their_sign() -> None:
    """A sum has no zero to start from: NumPy's ``reduceat`` gives -0.0, too."""
    for dtype in (np.float16, np.float32, np.float64, np.complex128):
        drawn = Drawn(0)
        x = drawn.given(np.full(40, -0.0).astype(dtype) * dtype(1))
        first, last = drawn.given(np.array([0, 3, 5])), drawn.given(np.array([1, 5, 40]))
        drawn.outputs.append(build.segment("sum", x, first, last, 0))
        (found,) = drawn.run().run(drawn.arrays)
        assert np.signbit(found.real).all()


# --- what shares the kernel


def mean_of_squares(drawn: Drawn, shape: tuple[int, ...], axis: int, count: int) -> Node:
    """Sums with a producer before, and what is made of each segment after."""
    x = drawn.given(drawn.rng.normal(size=shape))
    first, last = drawn.ends(shape[axis], count)
    square = build.elementwise("multiply", [x, x], FLOAT64)
    total = build.segment("sum", square, first, last, axis)
    number = build.convert(build.elementwise("subtract", [last, first], INT64), FLOAT64)
    column = build.reshape(number, (count, *(1 for _ in shape[axis + 1 :])))
    return build.elementwise("divide", [total, column], FLOAT64)


@pytest.mark.parametrize(("shape", "axis", "count"), CASES)
@one_in(18)
def test_what_is_before_and_after_shares_the_kernel(
    shape: tuple[int, ...], axis: int, count: int
) -> None:
    drawn = Drawn(2)
    mean = mean_of_squares(drawn, shape, axis, count)
    drawn.outputs.append(build.elementwise("sqrt", [mean], FLOAT64))
    drawn.outputs.append(build.reduce("max", mean, range(len(mean.shape))))
    assert drawn.run().launches == 1


def test_reductions_of_the_same_segments_share_a_kernel() -> None:
    drawn = Drawn(4)
    x = drawn.given(drawn.rng.normal(size=900))
    ends, others = drawn.ends(900, 30), drawn.ends(900, 30)
    low, high = (build.segment(kind, x, *ends, 0) for kind in ("min", "max"))
    drawn.outputs += [build.elementwise("subtract", [high, low], FLOAT64)]
    assert drawn.run().launches == 1
    drawn.outputs += [build.segment("sum", x, *others, 0)]
    executable = drawn.run()
    assert executable.launches == 1 and len(executable.kernels) == 2  # side by side
    drawn.outputs += [build.reduce("sum", x, [0])]
    assert len(drawn.run().kernels) == 3


def test_what_has_the_same_extents_stays_apart() -> None:
    """The kernel of segments computes no elements outside of them, and no other rows."""
    drawn = Drawn(5)
    x = drawn.given(drawn.rng.normal(size=30))
    y = drawn.given(drawn.rng.normal(size=(8, 30)))
    first, last = drawn.ends(30, 8)
    part = build.segment("sum", x, first, last, 0)
    column = build.broadcast_to(build.reshape(part, (8, 1)), (8, 30))
    drawn.outputs += [part, build.elementwise("multiply", [y, column], FLOAT64)]
    row = build.elementwise("add", [y, build.broadcast_to(x, (8, 30))], FLOAT64)
    drawn.outputs += [build.reduce("sum", row, [1]), row]
    drawn.run()


def test_ends_that_the_kernel_computes_are_known_before() -> None:
    """Segments that begin where other ones sum up to need a kernel of their own."""
    drawn = Drawn(6)
    x = drawn.given(np.ones(50, np.int64))
    first, last = drawn.ends(50, 6)
    counts = build.segment("sum", x, first, last, 0)
    one = build.elementwise("subtract", [counts, build.constant(1, INT64)], INT64)
    drawn.outputs.append(build.segment("sum", x, one, counts, 0))
    assert drawn.run().launches == 2
    lone = Drawn(6)
    x = lone.given(np.ones(1, np.int64))
    ends = lone.given(np.zeros(1, np.int64)), lone.given(np.ones(1, np.int64))
    twice = build.segment("sum", build.segment("sum", x, *ends, 0), *ends, 0)
    lone.outputs.append(twice)
    lone.run()


def test_computed_ends_and_gathers_inside() -> None:
    """Ends of a running count, and a product of elements picked by other ones."""
    drawn = Drawn(8)
    table = drawn.given(drawn.rng.normal(size=20))
    picks = drawn.given(drawn.rng.integers(-20, 20, 600))
    counts = build.elementwise("add", [build.iota((20,), 0), build.constant(1, INT64)], INT64)
    last = build.elementwise("multiply", [counts, build.constant(30, INT64)], INT64)
    first = build.elementwise("subtract", [last, counts], INT64)
    picked = build.gather(table, [picks])
    framed = build.pad(picked, build.constant(2.5, FLOAT64), ((3, 2),))
    drawn.outputs.append(build.segment("prod", picked, first, last, 0))
    drawn.outputs.append(build.segment("sum", framed, first, last, 0))
    drawn.run()


# --- variants


def test_columns_of_one_segment_stand_side_by_side() -> None:
    """Rows that are neighbours and have the same segment; others come one after the other."""
    for shape, axis, count, want in (
        ((300, 40), 0, 5, COLUMN), ((40, 300), 1, 5, ROW), ((20, 2), 0, 100, ANY),
        ((1, 90), 1, 100, ROW), ((20,), 0, 100, ROW),
    ):  # fmt: skip
        drawn = Drawn(9)
        x = drawn.given(drawn.rng.normal(size=shape))
        drawn.outputs.append(build.segment("sum", x, *drawn.ends(shape[axis], count), axis))
        (step,) = drawn.run().assembly.steps
        assert step.variant.skeleton == want, shape


@pytest.mark.skipif(not EMULATED, reason="needs a C++ compiler")
def test_skeletons_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warp for each segment, of whatever length; columns of one segment side by side."""

    def drawn() -> Drawn:
        found = Drawn(10)
        for shape, axis, count in (((2000,), 0, 40), ((700, 40), 0, 4), ((3, 300, 9), 1, 5)):
            mean = mean_of_squares(found, shape, axis, count)
            found.outputs += [mean, build.reduce("min", mean, range(len(shape)))]
        return found

    def skeletons(wide: bool, levels: int) -> list[str]:
        one = drawn()
        want = interpret(one.graph, one.arrays, CUPY)
        found, device = emulated.run(one.graph, one.arrays)
        assert all(map(same_bits, found, want))
        variants = [b.variant for p, _ in device.reports for b in p.bounds]
        assert all(v.wide == wide for v in variants)
        assert variants[0].levels == levels
        return [v.skeleton for v in variants]

    assert skeletons(wide=False, levels=0) == ["short rows", "columns", "columns"]
    monkeypatch.setattr(launch, "_NARROW", 1)
    monkeypatch.setattr(launch, "MOST_CHUNKS", 3)
    assert skeletons(wide=True, levels=21) == ["short rows", "columns", "columns"]


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("arch", ["sm_90", pytest.param("sm_75", marks=pytest.mark.slow)])
@at_length
def test_nvrtc_compiles_them(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All skeletons, and those of long segments."""
    texts: list[Any] = []
    for most in (launch.MOST_CHUNKS, 1):
        monkeypatch.setattr(launch, "MOST_CHUNKS", most)
        drawn = Drawn(11)
        for kind, dtype in (("sum", "f2"), ("max", "f4"), ("prod", "i1"), ("any", "?")):
            for shape in ((900,), (60, 40)):
                x = drawn.given(np.ones(shape, dtype))
                drawn.outputs.append(build.segment(kind, x, *drawn.ends(shape[0], 7), 0))
        texts += emulated.assembled(drawn.graph)[1]
    unique = {source.symbol: source for source in texts}
    nvrtc.compile_text(nvrtc.unit(list(unique.values())), nvrtc.options(arch))


# --- what is not well formed


BAD = ((-1, 2), (3, 3), (4, 2), (0, 11), (10, 11), (-(1 << 62), 1 << 62))


@pytest.mark.parametrize(("low", "high"), BAD)
@pytest.mark.parametrize("shape", [(10,), (10, 40)])
@one_in(8)
def test_segments_out_of_bounds(low: int, high: int, shape: tuple[int, ...]) -> None:
    """An error on the CPU, with arguments as they were; on a device nothing else is read."""
    drawn = Drawn(12)
    x = drawn.given(drawn.rng.normal(size=shape))
    first = drawn.given(np.array([0, low, 5]))
    last = drawn.given(np.array([4, high, 10]))
    total = build.segment("sum", x, first, last, 0, "here.py:7")
    target = drawn.given(np.ones(total.shape))
    drawn.outputs.append(build.elementwise("add", [target, total], FLOAT64))
    graph = Graph(tuple(drawn.parameters), tuple(drawn.outputs), "bad", (3,))
    with pytest.raises(IndexError, match="out of bounds"):
        interpret(graph, drawn.arrays)
    with pytest.raises(IndexError, match=r"out of bounds for size 10 \(recorded at here.py:7\)"):
        compile_graph(graph, {}, Options()).run(drawn.arrays)
    assert (drawn.arrays[3] == 1).all()
    if EMULATED:
        emulated.run(drawn.graph, drawn.arrays)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("f64[2] segment(%0, %1, %1), kind=argmax, axes={0}", "no kind among"),
        ("f64[2] segment(%0, %1, %1), kind=sum, axes={0,0}", "no kind among"),
        ("f64[2] segment(%0, %1, %1), kind=sum, axes={1}", "no such axis"),
        ("f64[3] segment(%0, %1, %1), kind=sum, axes={0}", "two int64 ends"),
        ("f64[6] segment(%0, %0, %0), kind=sum, axes={0}", "two int64 ends"),
        ("f64[2] segment(%0, %1), kind=sum, axes={0}", "takes 3 operands"),
        ("f64[2] segment(%0, %1, %1), kind=any, axes={0}", "has no any"),
        ("s64[2] segment(%0, %1, %1), kind=sum, axes={0}", "has no sum"),
    ],
)
def test_rules(line: str, why: str) -> None:
    head = "HloModule bad\n  %0 = f64[6] parameter(0)\n  %1 = s64[2] parameter(1)\n"
    with pytest.raises(GraphError, match=why):
        verify(parse_hlo(f"{head}  %2 = {line}\nROOT (%2)\n"))


def test_text() -> None:
    """What is printed is read again."""
    drawn = Drawn(0)
    x = drawn.given(np.ones((3, 9)))
    drawn.outputs.append(build.segment("max", x, *drawn.ends(9, 4), 1))
    text = print_hlo(drawn.graph)
    assert "segment(%0, %1, %2), kind=max, axes={1}" in text
    assert print_hlo(parse_hlo(text)) == text
