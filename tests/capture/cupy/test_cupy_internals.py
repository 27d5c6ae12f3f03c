"""What CuPy's inside must be like: each test says what breaks if a new CuPy changes it."""

from __future__ import annotations

import contextlib
import gc
import itertools
import types
import weakref
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from cupy.cuda.runtime import CUDARuntimeError  # noqa: E402

import fusecuda as fc  # noqa: E402
from fusecuda import fused  # noqa: E402
from fusecuda.capture.cupy import gates, internals, patches  # noqa: E402
from fusecuda.capture.cupy.layout import view_of  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402

cupy_host.install()
F8 = np.dtype("f8")


@pytest.fixture(autouse=True)
def unpatched() -> None:
    """The stand-ins of blocks before, which stay until CuPy is called, are taken away."""
    patches.settle()


class Store:
    """Stands for a storage."""

    error: Any = None


def pending(shape: tuple[int, ...] = (3, 4)) -> Any:
    memory = internals.PendingMemory(Store(), internals.nbytes_of(shape, F8), 0)
    return internals.make_pending(memory, shape, F8), memory


def test_arrays_over_made_up_addresses() -> None:
    """Without it no array could be there before its memory: `_init` takes any pointer."""
    a, memory = pending()
    assert isinstance(a, cp.ndarray)
    assert (a.shape, a.strides, a.dtype, a.size) == ((3, 4), (32, 8), F8, 12)
    assert internals.pointer_of(a).ptr == memory.ptr >= internals.FIRST_ADDRESS
    assert internals.pointer_of(a).mem is memory


def test_addresses_are_used_once() -> None:
    """Two pending arrays never overlap, large ones included."""
    spans = []
    for n in (1, 1000, 1 << 20, 1 << 34, 3, 1 << 30):
        memory = internals.PendingMemory(Store(), n, 0)
        spans.append((memory.ptr, memory.ptr + n))
    spans.sort()
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a[1:], lambda a: a.T, lambda a: a.reshape(12), lambda a: a[::-1, 1],
        lambda a: cp.broadcast_to(a, (2, 3, 4)), lambda a: cp.split(a, 3)[1], lambda a: a.view(),
        lambda a: cp.flip(a, 0), lambda a: a.diagonal(), lambda a: next(iter(a)),
        lambda a: cp.moveaxis(a, 0, 1), lambda a: cp.expand_dims(a, 0), lambda a: a.squeeze(),
        cp.rot90, lambda a: a.real, lambda a: a.swapaxes(0, 1),
    ],
)  # fmt: skip
def test_views_register_themselves(make: Any) -> None:
    """Views by CuPy call ``__array_finalize__``; one that did not would keep a made-up address."""
    a, memory = pending()
    view = make(a)
    assert type(view) is internals.Pending
    real = host(np.arange(12.0).reshape(3, 4))
    internals.bind(memory, internals.pointer_of(real))
    assert type(view) is type(a) is cp.ndarray
    np.testing.assert_array_equal(seen(view), seen(make(real)))
    late = a[1:]
    assert type(late) is cp.ndarray


def test_binding_keeps_the_object() -> None:
    """Class and pointer of an array are exchanged in place: the user's object stays."""
    a, memory = pending()
    before = id(a)
    real = host(np.ones((3, 4)))
    internals.bind(memory, internals.pointer_of(real))
    assert id(a) == before and a.data.ptr == real.data.ptr
    del real
    assert seen(a).sum() == 12


def test_pending_memory_dies_with_its_arrays() -> None:
    """What nobody holds is not computed: an array must not be part of a cycle."""
    gc.disable()
    try:
        a, memory = pending()
        known = weakref.ref(memory)
        view = a[1:]
        del a, memory
        assert known() is not None
        del view
        assert known() is None
    finally:
        gc.enable()


def test_stand_ins_keep_identity() -> None:
    """``from cupy import roll``, done before the block, is caught too: its code is exchanged."""
    from cupy import roll

    patches.settle()
    code = roll.__code__
    with fused(device="cpu"):
        assert cp.roll is roll and roll.__code__ is not code
        y = roll(host(np.arange(4.0)) * 2, 1)
        assert type(y) is internals.Pending
    patches.settle()
    assert roll.__code__ is code


def test_all_is_put_back() -> None:
    """After the last block, CuPy's class, functions and types are what they were."""
    patches.settle()
    kernels = (cp.RawKernel, cp.ReductionKernel, cp.cuda.Function, cp.ufunc)
    before = dict(vars(cp.ndarray))
    calls = [vars(k)["__call__"] for k in kernels]
    slots = [internals._get_slot(k, internals._CALL_SLOT) for k in kernels]
    with fused(device="cpu"), fused(device="cpu"):
        assert patches.active() == 1
        assert vars(cp.ndarray)["sum"] is not before.get("sum")
        assert [vars(k)["__call__"] for k in kernels] != calls
    assert patches.active() == 0
    here = vars(cp.ndarray)["sum"]
    with fused(device="cpu"):
        assert vars(cp.ndarray)["sum"] is here  # was not put in place again
    host(np.arange(3.0))[1:]  # the first operation that no block records
    assert dict(vars(cp.ndarray)) == before
    assert [vars(k)["__call__"] for k in kernels] == calls
    assert [internals._get_slot(k, internals._CALL_SLOT) for k in kernels] == slots


def natives(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The native calls of a block, and whether an argument was still pending."""
    found: list[Any] = []

    def native(self: Any, function: Any, args: Any, kwargs: Any) -> Any:
        values = [*args, *kwargs.values()]
        flat = [w for v in values for w in (v if isinstance(v, tuple | list) else [v])]
        found.append(any(type(v) is internals.Pending for v in flat))

    monkeypatch.setattr(cupy_host.HostSpace, "native", native)
    return found


RAW = cp.RawKernel('extern "C" __global__ void f(double* x) {}', "f")
REDUCTION = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
ELEMENTWISE = cp.ElementwiseKernel("T x", "T y", "y = x", "same")


@pytest.mark.parametrize(
    "call",
    [
        lambda y, h: RAW((1,), (1,), (y,)), lambda y, h: REDUCTION(y), lambda y, h: ELEMENTWISE(y),
        lambda y, h: ELEMENTWISE(h, y), lambda y, h: cp.add.reduce(y),
        lambda y, h: cp.add.outer(y, y), lambda y, h: cp.add.at(h, [0], y[0]),
        lambda y, h: cp.fuse(lambda x: x + 1)(y), lambda y, h: cp.fft.fft(y),
        lambda y, h: cp.random.permutation(y), lambda y, h: cp.linalg.svd(y),
        lambda y, h: __import__("cupyx").scatter_add(y, 0, 1), lambda y, h: y.__dlpack__(),
        lambda y, h: y.__reduce__(), lambda y, h: y.tofile("nowhere"),
        lambda y, h: y.set(np.ones(2)),
        lambda y, h: cp.asnumpy(y), lambda y, h: cp.unique(y), lambda y, h: cp.median(y),
        lambda y, h: cp.cuda.Stream.null.synchronize(), lambda y, h: cp.from_dlpack(y),
    ],
)  # fmt: skip
def test_native_code_sees_computed_arrays(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reads pointers itself is called after the flush, never with a made-up address."""
    h = host(np.ones((3, 4)))
    with fused(device="cpu"):
        y = h * 2
        h += 1
        pending_before = natives(monkeypatch)
        with contextlib.suppress(
            CUDARuntimeError, TypeError
        ):  # of what has no driver to go on with
            call(y, h)
        monkeypatch.undo()
        assert pending_before and not any(pending_before)
        assert type(y) is cp.ndarray
        assert seen(h)[0, 0] == 2


def test_a_plain_context_completes_what_others_have_pending() -> None:
    """Code outside the block, in another thread, computes the arrays that it is given."""
    import threading

    h = host(np.ones((3, 4)))
    results: list[Any] = []
    with fused(device="cpu"):
        y = h * 2
        h += 5

        def work() -> None:
            y.data  # noqa: B018
            h.data  # noqa: B018
            results.append((type(y), seen(y).copy(), seen(h).copy()))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    kind, first, second = results[0]
    assert kind is cp.ndarray and (first == 2).all() and (second == 6).all()


def test_gates_name_methods_that_exist() -> None:
    """A gate on nothing would be a hole."""
    for owner, name in gates._METHODS:
        assert hasattr(owner, name), (owner, name)


def test_ufunc_slots() -> None:
    """`a + b` reaches a ufunc's call slot; else operators would not be recorded."""
    h = host(np.ones(3))
    with fused(device="cpu") as region:
        made = [h + 1, 2 - h, cp.exp(h), np.exp(h), -h, abs(h), h < 2, np.float64(2) * h]
        h += 1
        assert all(type(v) is internals.Pending for v in made)
    assert region.launches >= 1


@pytest.mark.parametrize("seed", range(40))
def test_layouts(seed: int) -> None:
    """A view read off address and strides shows what NumPy's view shows."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 4)))
    a = np.arange(float(np.prod(shape))).reshape(shape)
    v = a
    for _ in range(3):
        d = int(rng.integers(v.ndim)) if v.ndim else 0
        step = int(rng.choice([1, 2, -1]))
        if v.ndim:
            key = [slice(None)] * v.ndim
            key[d] = slice(int(rng.integers(2)) if step > 0 else None, None, step)
            v = v[tuple(key)]
            v = v.transpose(rng.permutation(v.ndim))
    if v.size == 0:
        return
    offset = (v.__array_interface__["data"][0] - a.__array_interface__["data"][0]) // 8
    strides = tuple(s // 8 for s in v.strides)
    view = view_of(shape, v.shape, strides, offset)
    np.testing.assert_array_equal(view.of(a), v)


def test_functions_are_functions() -> None:
    """Public functions of CuPy have no closures: their code can be exchanged."""
    odd = [
        n
        for n in dir(cp)
        if isinstance(getattr(cp, n), types.FunctionType) and getattr(cp, n).__closure__
    ]
    assert set(odd) <= {"polyadd", "polymul", "polysub", "printoptions"}


def test_missing_names_are_no_operations() -> None:
    """CuPy 13 has a function of the module for them: what looks for a name runs nothing."""
    f = fused(lambda m, x: getattr(m, "no_such_name", m.exp)(x) + 1, device="cpu")
    for _ in range(3):
        f(cp, host(np.ones(3)))
    assert f.traces == 1, f.explain()


class Told:
    """An operand that says itself what a kernel of CuPy's gives."""

    def __cupy_override_elementwise_kernel__(self, *args: Any, **kwargs: Any) -> str:
        assert "no_such_keyword" not in kwargs
        return "done"


@pytest.mark.parametrize("outside", ["counted", "block"])
def test_calls_are_counted_and_recorded(outside: str) -> None:
    """Hooks that count calls of ufuncs and the stand-in for these calls share a slot."""
    a = host(np.ones(3))
    block, counted = fused(device="cpu"), fc.count_launches()
    with counted if outside == "counted" else block:
        with block if outside == "counted" else counted:
            assert type(np.float32(2) * a) is internals.Pending
            assert cp.exp(Told()) == cp.log(Told(), out=None) == "done"
            with pytest.raises(AssertionError):
                cp.exp(Told(), no_such_keyword=1)
        cp.sin(Told())
    cp.cos(Told())
    told = {"cupy.exp": 1, "cupy.log": 1} | ({"cupy.sin": 1} if outside == "counted" else {})
    assert {k: v for k, v in counted.by_name.items() if k.startswith("cupy.")} == told
    with fused(device="cpu"):
        assert type(np.float32(2) * a) is internals.Pending
