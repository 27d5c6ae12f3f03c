"""CUPTI: the kernels that ran on the devices, as `cupti-python` tells, where it is installed."""

from __future__ import annotations

import sys
import threading
from typing import Any

_BUFFER = 1 << 20


class Activity:
    """The kernels that end between `start` and `stop`: names, and begin and end in nanoseconds."""

    def __init__(self, cupti: Any) -> None:
        self._cupti = cupti
        self._lock = threading.Lock()
        self.kernels: list[tuple[str, int, int]] = []
        self._kind = cupti.ActivityKind.CONCURRENT_KERNEL
        cupti.activity_register_callbacks(self._wanted, self._completed)
        cupti.activity_enable(self._kind)

    def _wanted(self) -> tuple[int, int]:
        return _BUFFER, 0  # bytes, and as many records as fit

    def _completed(self, activities: Any) -> None:
        with self._lock:
            for a in activities:
                if a.kind == self._kind:
                    self.kernels.append((a.name, int(a.start), int(a.end)))

    def stop(self) -> list[str]:
        """The names of the kernels; waits for what still runs."""
        sys.modules["cupy"].cuda.runtime.deviceSynchronize()
        self._cupti.activity_flush_all(1)
        self._cupti.activity_disable(self._kind)
        return [name for name, _, _ in self.kernels]


def start() -> Activity | None:
    """Begin to collect; None without `cupti-python`, or without a device that allows it."""
    try:
        from cupti import cupti
    except ImportError:
        return None
    try:
        return Activity(cupti)
    except Exception:  # whatever a driver that is missing or forbids it makes of it
        return None
