"""What scripts for CuPy ask of CuPy besides arrays, under ``run --device cpu``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.test_run import script, start


def prints(tmp_path: Path, text: str, expected: str) -> None:
    done = start(script(tmp_path, text))
    assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0), done.stderr


def test_modules_are_imported_by_name(tmp_path: Path) -> None:
    """They are those that the module has; what is not there is an import error."""
    text = (
        "import cupy as cp, cupy.linalg, cupy.cuda, cupyx\n"
        "from cupy.linalg import norm\n"
        "from cupy.fft import rfft\n"
        "from cupy.cuda import Device\n"
        "print(float(norm(cp.ones(4))), rfft(cp.ones(2)).real, cupy.linalg is cp.linalg)\n"
        "for name in ('cupy.nowhere', 'cupyx.scipy.nowhere'):\n"
        "    try:\n        __import__(name)\n"
        "    except ModuleNotFoundError as error:\n        print(error.name)\n"
        "try:\n    cp.RawKernel\nexcept AttributeError as error:\n    print(error)\n"
    )
    said = "cupy.RawKernel is CUDA code, which needs a GPU: not on the CPU"
    prints(tmp_path, text, f"2.0 [2. 0.] True\ncupy.nowhere\ncupyx.scipy.nowhere\n{said}\n")


def test_streams_events_and_pools(tmp_path: Path) -> None:
    """An event is over when what was recorded before it has been computed."""
    text = (
        "import cupy as cp\n"
        "start, end = cp.cuda.Event(), cp.cuda.Event(disable_timing=False)\n"
        "x = cp.ones((300, 300))\n"
        "with cp.cuda.Device(0), cp.cuda.Stream(non_blocking=True) as stream:\n"
        "    start.record()\n"
        "    y = x * 2 + 1\n"
        "    print(y.storage.pending)\n"
        "    end.record(stream)\n"
        "    print(y.storage.pending)\n"
        "    z = y + 1\n"
        "    cp.cuda.Stream.null.synchronize()\n"
        "    print(z.storage.pending)\n"
        "end.synchronize()\n"
        "print(cp.cuda.get_elapsed_time(start, end) > 0)\n"
        "cp.cuda.runtime.deviceSynchronize(); cp.cuda.Device().synchronize()\n"
        "for pool in cp.get_default_memory_pool(), cp.get_default_pinned_memory_pool():\n"
        "    pool.set_limit(size=1 << 30); pool.free_all_blocks()\n"
        "    print(pool.used_bytes(), pool.total_bytes())\n"
        "cp.cuda.set_allocator(cp.cuda.MemoryPool().malloc)\n"
        "with cp.cuda.using_allocator(None):\n    print(cp.zeros(2))\n"
        "z = x + 3\n"
        "stream.launch_host_func(lambda k: print(k, z.storage.pending), 5)\n"
        "z += 3\n"
        "stream.add_callback(lambda s, error, k: print(s is stream, error, z[0, 0], k), 6)\n"
    )
    said = "True\nFalse\nFalse\nTrue\n0 0\n0 0\n[0. 0.]\n5 False\nTrue 0 7.0 6\n"
    prints(tmp_path, text, said)


def test_what_only_cupy_has(tmp_path: Path) -> None:
    """`fuse`, scatters, old names, numbers of a type; a function that draws such is no whole."""
    text = (
        "import cupy as cp, cupyx\n"
        "from cupyx import scatter_add\n"
        "@cp.fuse\ndef f(x):\n    return x * x\n"
        "@cp.fuse(kernel_name='g')\ndef g(x):\n    return x + 1\n"
        "def drawn(n):\n    return cp.random.rand(n, dtype=cp.float32)\n"
        "a = cp.zeros(3); scatter_add(a, cp.array([0, 0, 2]), 1)\n"
        "cupyx.scatter_max(a, cp.array([1]), 7.0)\n"
        "print(f(g(a)), cp.trapz(a), cp.float_ is cp.float64, cupyx.rsqrt(cp.full(1, 4.0)))\n"
        "for _ in range(12):\n    x = drawn(4)\n"
        "print(x.dtype, x.shape, cp.random.RandomState(0).uniform(size=2, dtype='f4').dtype)\n"
        "print(isinstance(cp.random.RandomState(0).normal(size=2), cp.ndarray))\n"
        "out = cp.asnumpy(a).copy(); cp.asnumpy(a + 1, out=out); print(out)\n"
        "a.set(out); a.get(stream=None, out=out)\n"
        "print(a, out, a.get(order='F'), cp.asnumpy([1]))\n"
    )
    head = "[ 9. 64.  4.] 8.5 True [0.5]\nfloat32 (4,) float32\nTrue\n"
    prints(tmp_path, text, f"{head}[3. 8. 2.]\n{3 * '[3. 8. 2.] '}[1]\n")


def test_scipy_under_cupys_name(tmp_path: Path) -> None:
    """Functions that are called as NumPy's are not taken for these, at any call."""
    pytest.importorskip("scipy")
    text = (
        "import cupy as cp\n"
        "from cupyx.scipy.ndimage import convolve\n"
        "from cupyx.scipy.special import erf\n"
        "import cupyx.scipy.signal\n"
        "def turned(a, k):\n    return convolve(a, k)\n"
        "x = cp.eye(4)\n"
        "for _ in range(12):\n    x = turned(x, cp.ones((1, 1)))\n"
        "print(x.sum(), isinstance(x, cp.ndarray), erf(x).max() > 0.8)\n"
        "print(cupyx.scipy.signal.fftconvolve(cp.ones(3), cp.ones(2)).round(6))\n"
    )
    prints(tmp_path, text, "4.0 True True\n[1. 2. 2. 1.]\n")


def test_processes_that_are_started_anew(tmp_path: Path) -> None:
    """A module that the script imports is given the stand-in there, too."""
    text = (
        "import multiprocessing\n"
        "import cupy as cp\n"
        "def work(k):\n    x = cp.arange(4.0) * k\n    x[1:] += x[:-1]\n    return f'{x} {x!r}'\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [1, 2]) == [work(1), work(2)])\n"
    )
    prints(tmp_path, text, "True\n")


def test_it_is_loaded_when_it_is_asked_for(tmp_path: Path) -> None:
    """Whatever is imported first; what was defined before is called as wholes, too."""
    text = (
        "import sys, importlib.util\n"
        "def f(a):\n    return a * 2\n"
        "class C:\n    def m(self, a):\n        return a + 1\n"
        "print('cupy' in sys.modules, importlib.util.find_spec('cupy').name)\n"
        "import {first}\n"
        "import cupy as cp, cupyx, cupy.fft\n"
        "print(cp is sys.modules['cupy'], cupyx.scatter_add, cp.fft is cupy.fft)\n"
        "print(type(globals()['f']).__name__, type(vars(C)['m']).__name__)\n"
        "print(f(C().m(cp.ones(2))))\n"
    )
    for first in "cupy", "cupyx", "cupy.linalg", "fusecuda.numpy":
        done = start(script(tmp_path, text.replace("{first}", first)))
        assert done.returncode == 0, done.stderr
        before, modules, kinds, result = done.stdout.splitlines()
        assert before == "False cupy"
        assert modules.startswith("True <function scatter_add") and modules.endswith("True")
        assert (kinds, result) == ("Whole Whole", "[4. 4.]")


def test_what_is_fused_has_the_region_of_the_script(tmp_path: Path) -> None:
    """A script that never names CuPy records as one that does."""
    text = (
        "def g(a):\n    return a + 1\n"
        "from fusecuda import fused\n"
        "import numpy as np\n"
        "from fusecuda.capture.record.recorder import recorder_in_force\n"
        "f = fused(lambda a: a * 2 + 1)\n"
        "print(f(np.ones(2)), recorder_in_force.get().array_name, type(globals()['g']).__name__)\n"
    )
    prints(tmp_path, text, "[3. 3.] array Whole\n")
