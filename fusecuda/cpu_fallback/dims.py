"""Dims: the integer arguments of a kernel in C, by name and by where they stand."""

from __future__ import annotations

from collections.abc import Iterable

from ..codegen import names
from ..fusion import kernel_ir as ir


class Dims:
    """Where each integer argument of a kernel stands in ``dim``; the order is `Bound.dims`'s."""

    def __init__(self, kernel: ir.KernelIR) -> None:
        rows = 0 if kernel.kind == "loop" else max(1, kernel.row_rank)
        inner = max(1, kernel.rank)
        self.row_axes = [f"m{a}" for a in range(rows)]
        self.axes = [f"n{a}" for a in range(inner)]
        self.position = {"parts": 0, "part_length": 1}
        for axis in self.row_axes + self.axes:
            self._next(axis)
        for f, form in enumerate(kernel.forms):
            for axis in self.row_axes + self.axes:
                self._next(names.stride(f, axis))
            if form.dtype is None:
                self._next(names.origin(f))
        for number in range(kernel.limits):
            self._next(names.limit(number))
        for name in ("behind", "ahead", "room") if kernel.late else ():
            self._next(name)

    def _next(self, name: str) -> None:
        self.position[name] = len(self.position)

    def declare(self, used: Iterable[str]) -> list[str]:
        """Declarations of the integer arguments ``used``, in their order."""
        found = sorted(set(used), key=self.position.__getitem__)
        return [f"const int64_t {name} = a->dim[{self.position[name]}];" for name in found]
