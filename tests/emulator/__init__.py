"""Runs CUDA C source on the CPU and reports what a GPU may not forgive.

    module = Module(source)
    report = module.launch("saxpy", (4,), (256,), [np.float32(2), x, y, np.int32(x.size)])

The source is compiled by the system's C++ compiler, unchanged but for `__constant__` and
`extern __shared__`. The compiler's thread sanitizer reports every load and store to a runtime of
our own, which knows the arguments' memory, counts bytes, and keeps the order that barriers and
fences give. Threads are fibers; blocks run one after the other, those of a cluster together.

Differences from a GPU: subnormal numbers are kept (no flush to zero), the C math functions are the
host's, a product and a sum are never contracted, a float out of range casts to an integer as on
the host (not saturated), signed integers wrap, and a kernel that waits for a block that has not run
yet is reported as a deadlock. A wild access that lands in another argument is taken for one.
"""

from tests.emulator.build import EmulatorError, available
from tests.emulator.launch import Module, Report

__all__ = ["EmulatorError", "Module", "Report", "available"]
