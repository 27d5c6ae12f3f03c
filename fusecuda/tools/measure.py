"""Measure: what a profile's figures are compared with, the device's own copy; and its sensors."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

_COPIED = 1 << 26  # bytes: larger than caches
_ROUNDS = 5


@cache
def copy_bandwidth(device: str) -> float:
    """Bytes read and written in a second by the device's own copy of a large array.

    On the CPU a kernel of ours copies, on all its threads; on a GPU the driver does.
    """
    return _copied_by_driver() if device == "cuda" else _copied_by_kernel()


def _copied_by_kernel() -> float:
    from ..api import lower

    source = np.zeros(_COPIED // 8)
    copy = lower(np.positive, source)
    copy(source)
    best = min(_seconds(lambda: copy(source)) for _ in range(_ROUNDS))
    return 2 * source.nbytes / best


def _copied_by_driver() -> float:
    cupy: Any = sys.modules["cupy"]
    source = cupy.zeros(4 * _COPIED, cupy.uint8)
    target = cupy.empty_like(source)
    best = float("inf")
    for _ in range(_ROUNDS + 1):
        first, last = cupy.cuda.Event(), cupy.cuda.Event()
        first.record()
        target.data.copy_from_device_async(source.data, source.nbytes)
        last.record()
        last.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(first, last) / 1e3)
    return float(2 * source.nbytes / best)


def _seconds(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def ranges() -> tuple[Callable[[str], Any], Callable[[], Any]] | None:
    """What begins and ends a range of NVTX, by NVIDIA's module or CuPy's; None without them."""
    try:
        import nvtx

        return nvtx.push_range, nvtx.pop_range
    except ImportError:
        pass
    module = getattr(getattr(sys.modules.get("cupy"), "cuda", None), "nvtx", None)
    return None if module is None else (module.RangePush, module.RangePop)


# --- the processor's counters

_EVENTS = {  # of perf_event_open: type, number
    "instructions": (0, 1),
    "cycles": (0, 0),
    "cache misses": (0, 3),
    "page faults": (1, 2),
    "context switches": (1, 3),
}
_SYSCALLS = {"x86_64": 298, "aarch64": 241}
_DISABLED_INHERITED = 1 << 1 | 1 << 5  # threads begun later count too; nothing of the kernel's


class ProcessorCounters:
    """Counters of this process as the system allows: none of them may be there."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        number = _SYSCALLS.get(os.uname().machine) if sys.platform == "linux" else None
        if number is None:
            return
        call = ctypes.CDLL(None, use_errno=True).syscall
        for name, (kind, config) in _EVENTS.items():
            words = struct.pack("=IIQQQQQ", kind, 112, config, 0, 0, 0, _DISABLED_INHERITED)
            attributes = ctypes.create_string_buffer(words.ljust(112, b"\0"))
            found = call(number, attributes, 0, -1, -1, 0)
            if found >= 0:
                self._files[name] = found

    def stop(self) -> dict[str, int]:
        """The counts by name, since this was made."""
        counts = {}
        for name, file in self._files.items():
            counts[name] = struct.unpack("=Q", os.read(file, 8))[0]
            os.close(file)
        self._files = {}
        return counts


# --- the device's sensors


class Sensors(threading.Thread):
    """Samples of NVML, taken in a thread; without `pynvml` or a driver there are none.

    Each sample is a time of `time.perf_counter` and figures by name: memory, clocks against their
    maximum, why they are throttled, power and energy.
    """

    INTERVAL = 0.02

    def __init__(self) -> None:
        super().__init__(name="fusecuda sensors", daemon=True)
        self.samples: list[tuple[float, dict[str, float]]] = []
        self._done = threading.Event()
        self._handle: Any = None
        try:
            import pynvml

            self._nvml: Any = pynvml
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(_uuid())
        except Exception:  # no library, no driver, no device: whatever it says, there is none
            return
        self.start()

    def run(self) -> None:
        while not self._done.wait(self.INTERVAL):
            try:
                self.samples.append((time.perf_counter(), self._sample()))
            except Exception:  # the device does not tell
                return

    def _sample(self) -> dict[str, float]:
        nvml, handle = self._nvml, self._handle
        clock = nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)
        return {
            "memory": float(nvml.nvmlDeviceGetMemoryInfo(handle).used),
            "clock": clock / nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM),
            "throttled": float(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),
            "power": nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
            "energy": nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3,
        }

    def stop(self) -> None:
        """No more samples."""
        self._done.set()
        if self.is_alive():
            self.join()


def _uuid() -> str:
    """NVML's name of CuPy's current device: numbers may differ between the two."""
    runtime = sys.modules["cupy"].cuda.runtime
    text = runtime.getDeviceProperties(runtime.getDevice())["uuid"].hex()
    parts = text[:8], text[8:12], text[12:16], text[16:20], text[20:32]
    return "GPU-" + "-".join(parts)
