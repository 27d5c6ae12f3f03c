"""Library calls of programs: operands are views of memory, results go straight into their place."""

from __future__ import annotations

import functools
import tracemalloc
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import engine
from fusecuda.capture.arrays import products
from fusecuda.capture.record import plans
from fusecuda.cpu_fallback import program as programs
from fusecuda.cpu_fallback.blueprint import Called
from fusecuda.emit_cuda.backend import program
from fusecuda.engine import build as compile_graph
from fusecuda.graph import build, library
from fusecuda.graph.index_map import axis_map, identity
from fusecuda.graph.interpret import interpret
from fusecuda.graph.library import Into
from fusecuda.graph.node import Graph, LibraryCall, Node, Operand
from fusecuda.options import Options
from fusecuda.streams.memory_plan import plan_memory
from tests.emulated import EmulatedDevice, assembled
from tests.marks import one_in
from tests.strategies import same_bits

BINARY = (Operand(0), Operand(1))
UNARY = (Operand(0),)


def whole(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """Small whole numbers, whose products and sums are exact in any order."""
    return np.random.default_rng(len(shape)).integers(-4, 5, shape).astype(dtype)


@pytest.fixture(autouse=True)
def none_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of few elements are the library's, too."""
    monkeypatch.setattr(products, "_is_small", lambda *given: False)


def ours(*inputs: Any) -> Any:
    """A module that stands for NumPy and keeps what its functions were given as ``out``."""
    module = types.SimpleNamespace(asarray=np.asarray, given=[])

    def called(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        module.given.append(out)
        return np.matmul(*args, out=out, **kwargs)

    module.matmul = called
    return module


def layouts(array: np.ndarray) -> list[np.ndarray]:
    """``array``, its elements laid out in other ways."""
    found = [array, np.asfortranarray(array), np.repeat(array, 2, axis=-1)[..., ::2]]
    return [*found, array[::-1].copy()[::-1]] if array.ndim else found


CALLS = [
    LibraryCall("matmul", BINARY), LibraryCall("dot", BINARY),
    LibraryCall("sort", UNARY, (("axis", 0), ("kind", None))),
    LibraryCall("sort", UNARY, (("axis", 1), ("kind", "stable"))),
    LibraryCall("argsort", UNARY, (("axis", 1), ("kind", None))),
    LibraryCall("cumsum", UNARY, (("axis", 1), ("dtype", "<f8"))),
    LibraryCall("cumprod", UNARY, (("axis", 0), ("dtype", "<f8"))),
    LibraryCall("copy", UNARY), LibraryCall("astype", (Operand(0), "<f4")),
    LibraryCall("true_divide", BINARY), LibraryCall("true_divide", (1.5, Operand(0))),
    LibraryCall("spacing", UNARY), LibraryCall("less", BINARY),
]  # fmt: skip


def _plain(array: np.ndarray) -> np.ndarray:
    """Without the bytes between long doubles, which mean nothing."""
    return array.astype(float) if array.dtype == np.longdouble else array


@pytest.mark.parametrize("spec", CALLS, ids=lambda s: f"{s.name}{len(s.args)}")
def test_into_memory_are_the_bits_of_the_call(spec: LibraryCall) -> None:
    """For each layout of the operands, of a type of each kind."""
    for dtype in (np.float64, np.longdouble, np.complex128):
        if spec.name == "spacing" and dtype is np.complex128:
            continue
        a, b = whole(6, 6, dtype=dtype) / 2, whole(6, 6, dtype=dtype) + 5
        a[0, 0], a[1, 1], a[2, 2] = -0.0, np.nan, np.inf
        for x in layouts(a):
            for y in layouts(b):
                with warnings.catch_warnings(action="ignore"):
                    given = [x, y][: sum(isinstance(arg, Operand) for arg in spec.args)]
                    want = library.call(spec, given)
                    out = np.full(want.shape, 77, want.dtype)
                    Into(spec)(given, out)
                assert same_bits(_plain(out), _plain(want)), (spec, dtype)


def test_a_function_writes_into_the_memory_itself() -> None:
    module = ours()
    out = np.empty((3, 3))
    Into(LibraryCall("matmul", BINARY), module)([np.eye(3), np.eye(3)], out)
    assert module.given[0] is out and np.array_equal(out, np.eye(3))


def test_a_function_does_not_write_where_bits_may_differ() -> None:
    """Into memory that lies otherwise; a device's product of two types; scans of a device."""
    module = ours()
    out_c = np.empty((3, 3))
    spread = np.empty((3, 6))[:, ::2]
    Into(LibraryCall("matmul", BINARY), module)([np.eye(3), np.eye(3)], spread)
    single = np.eye(3, dtype=np.float32)
    Into(LibraryCall("matmul", BINARY), module)([np.eye(3), single], np.empty((3, 3)))
    assert module.given == [None, None]
    added: list[Any] = []
    module.add = lambda *_, out=None: np.zeros((3, 3)) if added.append(out) is None else None
    Into(LibraryCall("add", BINARY), module)([np.eye(3), np.asfortranarray(whole(3, 3))], out_c)
    Into(LibraryCall("add", BINARY), module)([np.eye(3), whole(3, 3)], out_c)
    assert added[0] is None and added[1] is out_c
    module.cumsum = functools.partial(np.cumsum, out=None)  # a second one would be an error
    Into(LibraryCall("cumsum", UNARY, (("axis", 0),)), module)([np.eye(3)], np.empty((3, 3)))


def test_steady_calls_give_the_same_into_memory() -> None:
    spec = LibraryCall("matmul", BINARY)
    a = np.random.default_rng(0).normal(size=(50, 50))
    first, again = np.empty_like(a), np.empty_like(a)
    with library.steady():
        into = Into(spec)
        into([a, a], first)
        into([np.asfortranarray(a), a.copy()], again)
        assert first.tobytes() == again.tobytes()
        assert library.call(spec, [a, a]).tobytes() == first.tobytes()


@pytest.mark.parametrize(
    ("spec", "value"),
    [(LibraryCall("astype", (Operand(0), "<f4")), 1e300), (LibraryCall("multiply", BINARY), 1e300)],
    ids=lambda s: getattr(s, "name", ""),
)
def test_warnings_and_errors_name_the_line(spec: LibraryCall, value: float) -> None:
    """Those of a function that writes into memory, as otherwise."""
    a = np.full(4, value)
    out = np.empty(4, np.float32 if spec.name == "astype" else np.float64)
    into = Into(spec, np, "/made/up/user.py:41")
    with pytest.warns(RuntimeWarning, match="overflow encountered") as caught:
        into([a, a], out)
    assert [(w.filename, w.lineno) for w in caught] == [("/made/up/user.py", 41)]
    with np.errstate(all="raise"), pytest.raises(FloatingPointError) as error:
        into([a, a], out)
    names = [entry.path for entry in error.traceback]
    assert any(str(name) == "/made/up/user.py" for name in names)


# --- programs


def product(a: Node, b: Node) -> Node:
    shape, dtype = library.matmul_result((a.shape, a.dtype), (b.shape, b.dtype))
    return build.library("matmul", [a, b], shape, dtype)


def operands_seen(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[np.ndarray]]:
    """What the library calls of programs made from now on are given."""
    seen: list[Sequence[np.ndarray]] = []
    made = programs.step_of

    def step_of(called: Called) -> Callable[..., None]:
        step = made(called)

        def run(operands: Sequence[np.ndarray], out: np.ndarray) -> None:
            seen.append((*operands, out))
            step(operands, out)

        return run

    monkeypatch.setattr(programs, "step_of", step_of)
    plans.forget()  # and their programs
    return seen


VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "transpose": lambda x: x.T,
    "swapped axes": lambda x: np.swapaxes(x.reshape(3, 4, 12), 1, 2)[1],
    "rows": lambda x: x[2:],
    "steps": lambda x: x[::2, 1::3],
    "backwards": lambda x: x[::-1],
    "reshape": lambda x: x.reshape(6, 24),
    "one": lambda x: x[:1],
    "column": lambda x: x[:, 5],
    "stack": lambda x: np.broadcast_to(x, (2, 12, 12)),
    "nothing": lambda x: x[:0],
    "nothing inside": lambda x: x[:0].T,
}


@pytest.mark.parametrize("outer", [0, 3])
@pytest.mark.parametrize("name", VIEWS)
@one_in(8)
def test_views_reach_the_library_without_a_copy(
    name: str, outer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of arguments that are contiguous and that are not, and of what a kernel has stored."""
    view = VIEWS[name]
    seen = operands_seen(monkeypatch)
    memory = whole(12 + outer, 12 + outer)
    x = memory[outer:, outer:]

    def of_argument(x: Any, y: Any) -> Any:
        return view(x) @ y

    def of_stored(x: Any, y: Any) -> Any:
        return view(x * 2) @ y

    y = whole(view(np.zeros((12, 12))).shape[-1], 4)
    if outer and name in ("swapped axes", "reshape"):
        return  # NumPy copies
    for function, launches in ((of_argument, 1), (of_stored, 2)):
        fused = fc.fused(function, strict=bool(y.size))
        for _ in range(3):
            assert np.array_equal(fused(x, y), function(x, y))
        assert f"{launches} launch" in fused.explain() or not y.size
        x_seen, y_seen, out = seen[-1]
        assert np.shares_memory(y_seen, y) or not y.size
        if function is of_argument:
            assert np.shares_memory(x_seen, x) or not x_seen.size
        assert out.flags.c_contiguous


@pytest.mark.parametrize("size", [10, 600])
def test_calls_upon_calls(size: int) -> None:
    """Temporaries of library calls, in a block that is kept and in one that is not."""

    def chain(a: Any, b: Any) -> Any:
        c = np.sort(a @ b, axis=0)
        d = (c.T @ a) * 0.5
        return np.sort(d[1:], axis=1).reshape(-1), c

    a, b = whole(size, size), whole(size, size).T
    fused = fc.fused(chain, strict=True)
    for _ in range(3):
        for got, want in zip(fused(a, b), chain(a, b), strict=True):
            assert np.array_equal(got, want)
        a = a + 1


def test_a_product_takes_no_memory_but_its_result() -> None:
    n = 700
    a = build.parameter(0, (n, n), np.dtype(float))
    executable = compile_graph(Graph((a,), (product(a, a),)), {}, Options())
    array = whole(n, n)
    executable.run([array])
    tracemalloc.start()
    try:
        executable.run([array])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.1 * array.nbytes


def test_an_update_without_kernel_moves_its_part() -> None:
    n = 100_000
    dtype = np.dtype(np.longdouble)
    old, value = build.parameter(0, (n,), dtype), build.parameter(1, (3,), dtype)
    changed = build.update(old, value, identity(1))
    executable = compile_graph(Graph((old, value), (changed,), "g", (0,)), {}, Options())
    array, part = np.zeros(n, dtype), np.arange(3).astype(dtype)
    executable.run([array, part])
    tracemalloc.start()
    try:
        executable.run([array, part + 1])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert list(array[:4]) == [1, 2, 3, 0] and not array[4:].any()
    assert peak < array.nbytes / 4


def test_arguments_that_overlap_are_read_before_one_is_written() -> None:
    """A result in the memory of an argument does not come from what it has overwritten."""
    a = build.parameter(0, (5, 5), np.dtype(float))
    b = build.parameter(1, (5, 5), np.dtype(float))
    graph = Graph((a, b), (product(a, b),), "g", (0,))
    executable = compile_graph(graph, {}, Options())
    memory = whole(6, 5)
    first, second = memory[:5], memory[1:]
    (want,) = interpret(graph, [first.copy(), second.copy()])
    executable.run([first, second])
    assert np.array_equal(first, want)


def test_what_raises_leaves_an_argument_as_it_was() -> None:
    dtype = np.dtype(np.longdouble)
    a = build.parameter(0, (3,), dtype)
    divided = build.library("true_divide", [a], (3,), dtype, (1.0, Operand(0)))
    executable = compile_graph(Graph((a,), (divided,), "g", (0,)), {}, Options())
    array = np.array([2, 0, 4], dtype)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        executable.run([array])
    assert list(array) == [2, 0, 4]


def test_arguments_are_looked_at_before_a_library_call() -> None:
    """A replay that begins with a library call is for its shapes, types and layouts alone."""
    function = fc.fused(lambda x, w: np.maximum(x @ w, 1))
    x, w = whole(8, 8), whole(8, 8)
    readonly = w.copy()
    readonly.flags.writeable = False
    given = [
        (x, w), (x, w), (x.T, w), (x[:4], w), (x, w[:, :3]), (x.astype("f4"), w), (x, readonly),
        (x, np.asfortranarray(w)), (x, w.view(np.matrix)), (x, w[:, 0]), (x, w),
    ]  # fmt: skip
    for a, b in given:
        got, want = function(a, b), np.maximum(a @ b, 1)
        assert type(got) is type(want) and same_bits(np.asarray(got), np.asarray(want))
    with pytest.raises(ValueError, match="mismatch"):
        function(x, w[:5])


def test_the_driver_looks_where_a_library_call_comes_first() -> None:
    a = build.parameter(0, (4, 4), np.dtype(float))
    total = build.elementwise("add", [product(a, a), a], np.dtype(float))
    executable = compile_graph(Graph((a,), (total,)), {}, Options())
    x = whole(4, 4)
    executable.run([x])
    assert executable._checked is not None
    (result,) = executable.run_checked([x]) or [None]
    assert result is not None and np.array_equal(result, x @ x + x)
    for other in (x.T, x[:2], x.astype("f4"), x[::-1]):
        assert executable.run_checked([other]) is None
    assert np.array_equal(executable.run([x])[0], x @ x + x)  # type: ignore[arg-type]


def test_operands_are_numpys_own_arrays() -> None:
    """An axis of extent 1 has the stride that NumPy's reshape gives it: libraries look at it."""

    def function(x: Any, y: Any) -> Any:
        return (x * 2).reshape(12, 1) @ (y * 2).reshape(1, 5) + x.reshape(1, 12) @ x.reshape(12, 1)

    x, y = whole(12), whole(5)
    fused = fc.fused(function, strict=True)
    for _ in range(2):
        assert np.array_equal(fused(x, y), function(x, y))


# --- threads


LENGTH = 1 << 16  # of what two threads share


def kernel_then(name: str) -> engine.Executable:
    """A kernel for two threads, the library function ``name`` on what it makes, a small kernel."""
    n = LENGTH
    x = build.parameter(0, (n,), np.dtype(float))
    y = build.elementwise("add", [x, x], np.dtype(float))
    calls = {
        "dot": lambda: build.library("dot", [y, y], (), np.dtype(float)),
        "sort": lambda: build.library("sort", [y], (n,), np.dtype(float)),
    }
    z = calls[name]()
    if z.shape:
        z = build.index(z, axis_map([(0, 1, 0)], 1), (1,))
    return compile_graph(Graph((x,), (build.elementwise("sqrt", [z], z.dtype),)), {}, Options())


def test_threads_are_told_to_rest_before_a_product_alone() -> None:
    for name, rests in (("dot", 1), ("sort", 0)):
        executable = kernel_then(name)
        executable.run([np.ones(LENGTH)])
        program = executable._program
        assert isinstance(program, programs.Program)
        assert [program._says(i)[2] for i in (0, 2)] == [rests, 0]


# --- devices


def test_cupys_functions_write_into_the_memory_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """But not into an argument, which may overlap another one."""
    cupy = pytest.importorskip("cupy")
    from fusecuda.emit_cuda.cupy_device import CupyDevice

    module = ours()
    monkeypatch.setattr(cupy, "matmul", module.matmul)
    monkeypatch.setattr(cupy, "asarray", np.asarray)
    a = build.parameter(0, (3, 3), np.dtype(float))
    out = np.empty((3, 3))
    device = CupyDevice.__new__(CupyDevice)
    for apart in (True, False):
        out[:] = 0
        device.library(product(a, a), [np.eye(3), np.eye(3)], out, apart)
        assert np.array_equal(out, np.eye(3))
    first, second = module.given
    assert first is out and second is None


def test_what_is_no_function_of_cupys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums at places, and running extremes, are made of its operators."""
    pytest.importorskip("cupy")
    from fusecuda.emit_cuda import cupy_device

    monkeypatch.setattr(cupy_device, "cupy", np)
    device = cupy_device.CupyDevice.__new__(cupy_device.CupyDevice)
    old, value, places = np.zeros(4), np.ones(3), np.array([1, 1, 3])
    nodes = [build.parameter(k, a.shape, a.dtype) for k, a in enumerate((old, value, places))]
    added = build.library("scatter", nodes, (4,), old.dtype, kwargs=(("kind", "add"),))
    largest = build.library("cummax", nodes[:1], (4,), old.dtype, (Operand(0),), (("axis", 0),))
    for apart in (True, False):
        out = np.empty(4)
        device.library(added, [old, value, places], out, apart)
        assert out.tolist() == [0, 2, 0, 1]
        device.library(largest, [np.array([1.0, 3, 2, 5])], out, apart)
        assert out.tolist() == [1, 3, 3, 5]
    with pytest.raises(NotImplementedError, match="CuPy has no"):
        device.library(build.library("none", nodes[:1], (4,), old.dtype), [old], out, True)


def test_cupys_whole_arrays_are_given_as_they_are() -> None:
    """No other array is made over them; of a part one is."""
    pytest.importorskip("cupy")
    from fusecuda.emit_cuda.cupy_device import CupyDevice
    from tests.cupy_host import host, seen

    device = CupyDevice.__new__(CupyDevice)
    array = host(whole(4, 6))
    assert device.view(array, 0, (4, 6), (48, 8), array.dtype) is array
    turned = device.view(array, 0, (6, 4), (8, 48), array.dtype)
    row = device.view(array, 48, (6,), (8,), array.dtype)
    assert np.array_equal(seen(turned), seen(array).T) and np.array_equal(seen(row), seen(array)[1])


def test_a_device_is_told_what_is_apart() -> None:
    """Results and temporaries are; an argument is not."""
    told: list[bool] = []

    class Device(EmulatedDevice):
        def library(self, node: Node, operands: Any, out: Any, apart: bool) -> None:
            told.append(apart)
            super().library(node, operands, out, apart)

    a = build.parameter(0, (4, 4), np.dtype(float))
    inner = product(a, a)
    for target in (None, 0):
        graph = Graph((a,), (product(inner, inner),), "g", (target,))
        assembly, sources = assembled(graph)
        ready = program(assembly, sources, plan_memory(assembly, 1), Device())
        x = whole(4, 4)
        given = x.copy()
        (result,) = ready([given])
        assert np.array_equal(given if result is None else result, x @ x @ (x @ x))
    assert told == [True, True, True, False]
