"""CuPy's device on a driver that does nothing, over host memory: what a call costs the host.

`install` comes before CuPy is imported. Programs, arrays and CuPy's binding of the driver are the
real ones; CuPy's runtime needs a driver of its own, so there are stand-ins for the two calls of it
that a call makes, which tell the current device and stream, and memory is not allocated anew.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

SOURCE = Path(__file__).with_name("stub_driver.c")


def load_stub(folder: Path) -> Any:
    """The driver, compiled in ``folder`` and found by its name from then on."""
    target = folder / "libcuda.so.1"
    flags = ["-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    subprocess.run(["cc", *flags, "-o", target, SOURCE], check=True, timeout=60)
    return ctypes.CDLL(str(target), ctypes.RTLD_GLOBAL)


def install(folder: Path) -> tuple[Any, Any]:
    """The device that is CuPy's only one in this process from now on, and its driver."""
    assert "cupy" not in sys.modules, "CuPy looks for the driver when it is imported"
    driver = load_stub(folder)
    driver.stub_told.restype = ctypes.c_char_p
    import cupy

    from fusecuda.emit_cuda import cupy_device
    from tests.cupy_host import host

    class StubDevice(cupy_device.CupyDevice):
        """Kernels are what the stub takes for one; results of one shape have the same memory."""

        def __init__(self) -> None:
            self.number, self.arch = 0, "sm_90"
            self._streams = []
            self._made: dict[Any, Any] = {}

        def load(self, sources: Sequence[Any]) -> dict[str, Any]:
            counts = {s.symbol: len(s.parameters) for s in sources}
            return {symbol: SimpleNamespace(ptr=count) for symbol, count in counts.items()}

        def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
            key = shape, dtype
            found = self._made.get(key)
            if found is None:
                found = self._made[key] = host(np.zeros(shape, dtype))
            return found

        def zeros(self, nbytes: int) -> Any:
            return host(np.zeros(nbytes, np.uint8))

    device = StubDevice()
    stream = SimpleNamespace(ptr=0)
    cupy_device._thread.ready.add(0)
    cupy_device._current_stream = lambda: stream
    cupy_device.current_device = lambda: device
    cupy.cuda.runtime.getDevice = int  # which gives 0
    return device, driver
