"""What waits for all that is pending: kernels on addresses, the runtime, other allocators."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fusecuda import fused

cp = pytest.importorskip("cupy")
from fusecuda.capture.cupy import internals, patches  # noqa: E402 - it needs CuPy
from tests import cupy_host  # noqa: E402 - it needs CuPy
from tests.cupy_host import host, seen  # noqa: E402 - it needs CuPy

cupy_host.install()


def on_an_address(address: int) -> None:
    kernel = cp.ElementwiseKernel("uint64 p", "float64 y", "y = ((double *)p)[i]", "reads")
    kernel(address, size=4)


def waiting(address: int) -> None:
    cp.cuda.runtime.deviceSynchronize()


def allocating(address: int) -> None:
    with cp.cuda.using_allocator(None):
        pass


@pytest.mark.parametrize("call", [on_an_address, waiting, allocating], ids=lambda c: c.__name__)
def test_what_is_pending_is_computed_before(call: Callable[[int], None]) -> None:
    x = host(np.arange(4.0))
    address = x.data.ptr
    with fused(device="cpu"):
        x += 1
        y = x * 2
        with contextlib.suppress(cp.cuda.runtime.CUDARuntimeError):  # there is no driver
            call(address)
        assert type(y) is cp.ndarray
        np.testing.assert_array_equal(seen(x), np.arange(1.0, 5.0))


def test_functions_that_others_put_there_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a block, while the gates of an earlier one are still up, and inside."""
    called = []

    def put(label: str) -> None:
        monkeypatch.setattr(cp.cuda.runtime, "deviceSynchronize", lambda: called.append(label))

    for label in ("before", "between"):
        put(label)
        with fused(device="cpu"):
            y = host(np.arange(4.0)) * 2
            cp.cuda.runtime.deviceSynchronize()
            assert type(y) is cp.ndarray
    patches.settle()
    cp.cuda.runtime.deviceSynchronize()
    with fused(device="cpu"):
        host(np.arange(4.0)) * 2
        put("inside")
    patches.settle()
    cp.cuda.runtime.deviceSynchronize()
    assert called == ["before", "between", "between", "inside"]


def test_what_is_recorded_under_an_allocator_is_computed_under_it() -> None:
    x = host(np.arange(4.0))
    with fused(device="cpu"):
        with cp.cuda.using_allocator(None):
            y = x * 2
            assert type(y) is not cp.ndarray
        assert type(y) is cp.ndarray


def test_callbacks_are_gated_while_a_block_is_active() -> None:
    names = ("launch_host_func", "add_callback", "synchronize")
    with fused(device="cpu"):
        gated = [isinstance(getattr(cp.cuda.Stream, n), types.FunctionType) for n in names]
    assert all(gated)


class InfoArray(cp.ndarray):  # type: ignore[misc]  # CuPy has no types
    """As CuPy's documentation has one."""

    def __array_finalize__(self, obj: Any) -> None:
        self.info = getattr(obj, "info", None)


def test_views_of_a_users_class_lie_in_the_array() -> None:
    x = host(np.arange(6.0))
    with fused(device="cpu"):
        y = x * 2
        z = y[1:].view(InfoArray)
        y += 1
    assert type(z) is InfoArray
    assert internals.pointer_of(z).ptr == internals.pointer_of(y).ptr + 8
