"""A small program that runs one kernel of each kind on the device, for compute-sanitizer.

``python -m bench.gpu_sample`` exits with 0 if all results are NumPy's.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .gpu_cases import CASES
from .gpu_measure import contenders_of
from .gpu_rivals import by_fusecuda

BYTES = 256 << 10


def main() -> int:
    """Run every case once, small, and say what is wrong."""
    import cupy

    cupy.cuda.set_allocator(None)  # each array by itself, so that its bounds are seen
    faults = 0
    for case in CASES:
        inputs: Any = case.inputs(max(BYTES, case.least), np.dtype(case.dtype))
        _, missing = contenders_of(case, inputs, {"fusecuda": by_fusecuda})
        for why in missing.values():
            print(f"{case.name}, {case.dtype}: {why}")
            faults += 1
    print(f"{len(CASES) - faults} of {len(CASES)} programs agree with NumPy")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
