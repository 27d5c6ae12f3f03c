"""What an installed package must be able to do; takes the folder of the tree it was built from."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import fusecuda as fc
import fusecuda.numpy as fnp

HERE = Path(fc.__file__).parent
TREE = Path(sys.argv[1]) / "fusecuda"


def check(holds: bool, what: str) -> None:
    """Exit with what failed, unless it holds."""
    if not holds:
        sys.exit(f"the installed package fails: {what}")


def files(folder: Path) -> set[Path]:
    """All files below the folder, but for what Python has compiled."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder) for path in found if "__pycache__" not in path.parts}


check("site-packages" in HERE.parts, f"it was imported from {HERE}")
check(files(HERE) == files(TREE), f"its files differ: {sorted(files(HERE) ^ files(TREE))}")


@fc.fused
def normalize(x: np.ndarray) -> np.ndarray:
    """Each row scaled to sum 1."""
    return x / x.sum(axis=1, keepdims=True)


data = np.arange(1.0, 13.0).reshape(3, 4)
check(np.array_equal(normalize(data), data / data.sum(axis=1, keepdims=True)), "a value")
check(fc.compile_count() > 0, f"nothing was compiled: {fc.info()['compiler']}")
check(float(fnp.sum(fnp.asarray(data) * 2)) == 156.0, "a lazy array")
check("__global__" in fc.lower(normalize, data).emit("cuda")[0], "CUDA C")
print(f"fusecuda {fc.__version__} works from {HERE}")
