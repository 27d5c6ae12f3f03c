"""Counting launches: ours, the libraries', and those of NumPy and CuPy that nobody has fused."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.tools import counting, cupti, hooks


def plain(x: np.ndarray) -> np.ndarray:
    y = np.exp(x * 2.0 + 1.0)
    y -= y.max()
    return y / np.sum(y)


def test_the_same_block_counts_a_program_unfused_and_fused() -> None:
    """Operators, ufuncs and reductions of NumPy's own before; compiled kernels after."""
    x = np.linspace(0, 1, 1000)
    fused = fc.fused(plain)
    fused(x)
    with fc.count_launches() as before:
        plain(x)
    with fc.count_launches() as after:
        fused(x)
    assert before.by_name == {
        "numpy.multiply": 1, "numpy.add": 1, "numpy.exp": 1, "numpy.maximum.reduce": 1,
        "numpy.subtract": 1, "numpy.add.reduce": 1, "numpy.divide": 1,
    }  # fmt: skip
    assert before.total == 7
    assert after.total == 1, after.by_name
    assert "NumPy's ufuncs" in before.how


def test_functions_methods_and_other_libraries_ufuncs_count() -> None:
    """What goes over an array in C counts under its name; what does not is not counted."""
    x, v = np.ones((4, 4)), np.arange(3.0)
    with fc.count_launches() as count:
        np.where(x > 0, x, 0.0)
        np.concatenate([x, x])
        x.argmax()
        np.add.at(v, [0, 0], 1.0)
        np.linalg.inv(x + np.eye(4))
        x @ x
    names = count.by_name
    for name in ("where", "concatenate", "ndarray.argmax", "add.at", "inv", "matmul", "greater"):
        assert names[f"numpy.{name}"] == 1, (name, names)
    with fc.count_launches() as none:
        np.sin(2.0), x[1:], x.T, x.reshape(2, 8), 3.0 * 2.0, np.float64(2) * np.float64(3)
    assert none.total == 0, none.by_name


def test_modules_that_are_imported_later_count() -> None:
    """NumPy imports its transforms when they are asked for, which may be while somebody counts."""
    program = (
        "import numpy as np, fusecuda as fc\n"
        "with fc.count_launches() as count: np.fft.fft(np.ones(8))\n"
        "print(*count.by_name)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "numpy.fft" in found.stdout.split(), found


def test_numbers_do_not_count() -> None:
    """What a replay computes of numbers passes over no memory."""
    x = np.linspace(0, 1, 1000)
    fused = fc.fused(lambda x, angle: x * np.sin(np.radians(90 - angle)))
    for angle in (1.0, 2.0, 3.0):
        fused(x, angle)
    with fc.count_launches() as count:
        fused(x, 4.0)
        np.float64(2).astype(np.float32), np.add(np.array(1.0), 2.0)
    assert count.total == 1, count.by_name


def test_planning_does_not_count() -> None:
    """What we call of NumPy's while a function is recorded for the first time is not its own."""
    x = np.ones((40, 40))
    fused = fc.fused(lambda x: np.sin(x * 3.0 + 7.0) @ x)
    with fc.count_launches() as first:
        fused(x)
    with fc.count_launches() as second:
        fused(x)
    assert first.by_name == second.by_name
    assert second.by_name["matmul"] == 1 and second.total == 2
    exe = fc.lower(lambda x: np.sin(x * 3.0 + 7.0) @ x, x)
    assert exe.launches == second.total


def test_other_threads_count_and_nothing_is_left_behind() -> None:
    x = np.ones(10)
    place = hooks.numpy_hooks()[0].place
    before = ctypes.c_void_p.from_address(place).value
    with fc.count_launches() as outer:
        thread = threading.Thread(target=lambda: x + x)
        thread.start()
        thread.join()
        with fc.count_launches() as inner:
            x * x
        assert ctypes.c_void_p.from_address(place).value != before
        x - x
    x / x
    assert (outer.total, inner.total) == (3, 1)
    assert ctypes.c_void_p.from_address(place).value == before


def test_errors_pass_and_failed_calls_do_not_count() -> None:
    a, b, zero = np.ones(3), np.ones(4), np.zeros(3)
    with fc.count_launches() as count:
        with pytest.raises(ValueError, match="broadcast"):
            a + b
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            a / zero
    assert count.total == 0


def test_a_region_counts_library_calls(recorded: None) -> None:
    import fusecuda.numpy as fnp

    a = fnp.asarray(np.eye(50))
    with fc.count_launches() as count, fc.fused() as region:
        b = (a + 1.0) @ a
    assert region.launches == count.total == 2
    assert b.shape == (50, 50)


def test_without_a_compiler_it_says_what_is_missing() -> None:
    program = (
        "import numpy as np, fusecuda as fc\n"
        "with fc.count_launches() as c: np.ones(3) + 1\n"
        "print(c.total, c.how)"
    )
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True,
        check=True, env={"PATH": "/nowhere", "FUSECUDA_CACHE_DIR": "/nowhere/cache"},
    )  # fmt: skip
    assert found.stdout.startswith("0 ") and "not counted: it takes a C compiler" in found.stdout


def test_objects_laid_out_in_another_way_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "another")
    fresh = hooks.Hooks()
    fresh.add(lambda name: None)
    assert "laid out in another way" in fresh.why_not["NumPy"]


class _Told:
    """Stands for an array in a call of CuPy's that launches nothing."""

    def __cupy_override_elementwise_kernel__(self, kernel: object, *args: object) -> str:
        return "done"


def test_cupys_kernels_count_where_they_are_called() -> None:
    cupy = pytest.importorskip("cupy")
    with fc.count_launches() as count:
        assert cupy.exp(_Told()) == "done"
    assert cupy.exp(_Told()) == "done"
    assert count.by_name == {"cupy.exp": 1}
    assert "CuPy's kernels called from Python" in count.how


class _Cupti:
    """What `cupti-python` offers, without a device."""

    class ActivityKind:
        CONCURRENT_KERNEL = 10

    def activity_register_callbacks(self, wanted: object, completed: object) -> None:
        self.completed = completed

    def activity_enable(self, kind: int) -> None: ...
    def activity_disable(self, kind: int) -> None: ...

    def activity_flush_all(self, flag: int) -> None:
        record = type("Record", (), {"kind": 10, "name": "gemm", "start": 5, "end": 9})
        self.completed([record, record])


def test_what_cupti_tells_takes_the_place_of_our_own_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = pytest.importorskip("cupy")
    monkeypatch.setattr(cupy.cuda.runtime, "deviceSynchronize", lambda: None)
    monkeypatch.setattr(cupti, "start", lambda: cupti.Activity(_Cupti()))
    with counting.count_launches() as count:
        cupy.exp(_Told())
    assert count.by_name == {"gemm": 2} and "CUPTI" in count.how
