"""Measure: what a profile's figures are compared with, the device's own copy; and its sensors."""

from __future__ import annotations

import contextlib
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

from . import tables

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

_INHERITED, _USER_ONLY = 1 << 1, 1 << 5  # threads begun later count too; nothing of the kernel's
_EVENTS = {  # of perf_event_open: type, number, flags
    "instructions": (0, 1, _INHERITED | _USER_ONLY),
    "cycles": (0, 0, _INHERITED | _USER_ONLY),
    "cache misses": (0, 3, _INHERITED | _USER_ONLY),
    "page faults": (1, 2, _INHERITED | _USER_ONLY),
    "context switches": (1, 3, _INHERITED),  # the kernel's work, each of them
}
_SYSCALLS = {"x86_64": 298, "aarch64": 241}


class ProcessorCounters:
    """Counters of all threads of this process as the system allows: none of them may be there."""

    def __init__(self) -> None:
        self._files: dict[str, list[int]] = {}
        number = _SYSCALLS.get(os.uname().machine) if sys.platform == "linux" else None
        if number is None:
            return
        call = ctypes.CDLL(None, use_errno=True).syscall
        threads = sorted(map(int, os.listdir("/proc/self/task")))
        for name, (kind, config, flags) in _EVENTS.items():
            words = struct.pack("=IIQQQQQ", kind, 112, config, 0, 0, 0, flags)
            attributes = ctypes.create_string_buffer(words.ljust(112, b"\0"))
            found = (call(number, attributes, thread, -1, -1, 0) for thread in threads)
            files = [file for file in found if file >= 0]  # a thread may have ended
            if files:
                self._files[name] = files

    def stop(self) -> dict[str, int]:
        """The counts by name, since this was made."""
        counts = {}
        for name, files in self._files.items():
            counts[name] = sum(struct.unpack("=Q", os.read(file, 8))[0] for file in files)
            for file in files:
                os.close(file)
        self._files = {}
        return counts


# --- the device's sensors


def _clock(nvml: Any, handle: Any) -> float:
    kind = nvml.NVML_CLOCK_SM
    now, most = nvml.nvmlDeviceGetClockInfo, nvml.nvmlDeviceGetMaxClockInfo
    return float(now(handle, kind) / most(handle, kind))


def _throttled(nvml: Any, handle: Any) -> Any:
    """Why, as bits of `_REASONS`; NVML has renamed the question."""
    ask = getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", None)
    return (ask or nvml.nvmlDeviceGetCurrentClocksThrottleReasons)(handle)


_FIGURES: dict[str, Callable[[Any, Any], Any]] = {
    "memory": lambda nvml, handle: nvml.nvmlDeviceGetMemoryInfo(handle).used,
    "clock": _clock,
    "throttled": _throttled,
    "power": lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
    "energy": lambda nvml, handle: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3,
}
_REASONS = {
    0x2: "clocks are set", 0x4: "power cap", 0x8: "slowdown", 0x10: "sync boost", 0x20: "heat",
    0x40: "heat", 0x80: "power brake", 0x100: "display",
}  # fmt: skip


class Sensors(threading.Thread):
    """Samples of NVML, taken in a thread; without `pynvml` or a driver there are none.

    Each sample is a time of `time.perf_counter` and figures by name, those that the device tells:
    memory in bytes, the clock as a share of its maximum, why it is throttled, watts and joules.
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
        """A sample at the begin, at the end, and in between."""
        while self._sample() and not self._done.wait(self.INTERVAL):
            pass
        self._sample()

    def _sample(self) -> bool:
        figures = {}
        for name, figure in _FIGURES.items():
            with contextlib.suppress(Exception):  # this device does not tell
                figures[name] = float(figure(self._nvml, self._handle))
        if figures:
            self.samples.append((time.perf_counter(), figures))
        return bool(figures)

    def stop(self) -> None:
        """No more samples."""
        self._done.set()
        if self.is_alive():
            self.join()

    def told(self) -> str:
        """What the samples say of the time in which they were taken, in a line."""
        found: dict[str, list[float]] = {}
        for _, figures in self.samples:
            for name, value in figures.items():
                found.setdefault(name, []).append(value)
        parts = []
        if memory := found.get("memory"):
            parts.append(f"{tables.size(max(memory))} of the device's memory in use")
        if clock := found.get("clock"):
            parts.append(f"clock at {sum(clock) / len(clock):.0%} of its maximum")
        bits = {int(value) & bit for value in found.get("throttled", ()) for bit in _REASONS}
        if reasons := dict.fromkeys(_REASONS[bit] for bit in sorted(bits - {0})):
            parts.append(f"throttled: {', '.join(reasons)}")
        if power := found.get("power"):
            parts.append(f"{sum(power) / len(power):.0f} W")
        if energy := found.get("energy"):
            parts.append(f"{energy[-1] - energy[0]:.3g} J")
        return ", ".join(parts)


def _uuid() -> str:
    """NVML's name of CuPy's current device: numbers may differ between the two."""
    runtime = sys.modules["cupy"].cuda.runtime
    text = runtime.getDeviceProperties(runtime.getDevice())["uuid"].hex()
    parts = text[:8], text[8:12], text[12:16], text[16:20], text[20:32]
    return "GPU-" + "-".join(parts)
