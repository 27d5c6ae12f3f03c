"""Counting: every launch of the process, ours, NumPy's and CuPy's, so that programs compare."""

from __future__ import annotations

import sys
from typing import Any

from ..streams.launches import LaunchCounter
from ..watch import Lap
from . import cupti
from .hooks import hooks


class ProcessCounter(LaunchCounter):
    """Launches counted while its block runs, in all threads: ``total``, ``by_name``, ``how``."""

    def __init__(self) -> None:
        super().__init__()
        self.how = "nothing has been counted yet"
        self._device: Any = None

    def enters(self) -> None:
        hooks.quiet(1)

    def leaves(self) -> None:
        hooks.quiet(-1)

    def begin(self) -> None:
        self._device = cupti.start() if "cupy" in sys.modules else None
        hooks.add(self.launched)
        super().begin()
        self.how = self._counted()

    def end(self) -> None:
        super().end()
        hooks.remove(self.launched)
        device, self._device = self._device, None
        if device is not None:
            self.by_name.update(device.stop())

    def ran(self, executable: Any, lap: Lap | None) -> None:
        if self._device is None or executable.options.on_host:
            super().ran(executable, lap)

    def launched(self, name: str) -> None:
        if self._device is None or not name.startswith("cupy."):
            super().launched(name)

    def _counted(self) -> str:
        """In words, what is counted and how."""
        parts = ["compiled kernels and library calls by the engine"]
        for library, unit in (("NumPy", "ufuncs, reductions and other functions"),
                              ("CuPy", "kernels called from Python")):  # fmt: skip
            if library.lower() not in sys.modules:
                continue
            why_not = hooks.why_not.get(library)
            if library == "CuPy" and self._device is not None:
                parts.append("all kernels on the device by CUPTI")
            elif why_not:
                parts.append(f"{library}'s own calls are not counted: {why_not}")
            else:
                parts.append(f"{library}'s {unit} by hooks on its calls")
        return "; ".join(parts)


def count_launches() -> ProcessCounter:
    """A context manager that counts launches: ``.total``, ``.by_name``, and in words ``.how``.

    Counts in all threads, while its block runs: compiled kernels; library calls (a matrix product,
    a sort) of plans, one each; of what other code calls of NumPy's own the ufuncs, ``a + b`` among
    them, their reductions, and the functions that go over an array; CuPy's kernels, by CUPTI where
    `cupti-python` can be imported, else where Python calls them. So the same block around a program
    unfused and fused gives figures that compare. Calls on numbers do not count, 0-d arrays among
    them, nor does what fusecuda itself calls of NumPy's to plan. What CUPTI tells is added when the
    block ends.
    """
    return ProcessCounter()
