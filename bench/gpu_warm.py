"""``python -m bench.gpu_warm K N SIZE ONLY``: lets rivals compile, so that measuring need not wait.

The K-th of N processes that take turns; what JAX and PyTorch compile stays in their own caches.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from . import gpu_rivals
from .gpu_cases import CASES
from .gpu_measure import OURS, Budget, reason

PROCESSES = 8


def caches(folder: Path) -> dict[str, str]:
    """The variables that give rivals' caches a place."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"),
        "JAX_COMPILATION_CACHE_DIR": str(folder / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }


def warm(size: int, only: str, root: Path, folder: Path, seconds: float) -> None:
    """Run all processes; those that have not ended in time are stopped."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.gpu_warm", str(k), str(PROCESSES), str(size), only],
            cwd=root,
            env={**os.environ, **caches(folder), "PYTHONPATH": str(root)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for k in range(PROCESSES)
    ]
    budget = Budget(seconds)
    for process in started:
        try:
            process.wait(max(0.1, budget.left()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main(arguments: Sequence[str]) -> int:
    """Let each rival call the programs of this process once."""
    part, parts, size = map(int, arguments[:3])
    chosen = [case for case in CASES if arguments[3].lower() in case.name.lower()]
    makers, _ = gpu_rivals.makers(everyone=True)
    for case in chosen[part::parts]:
        inputs = case.inputs(size, np.dtype(case.dtype))
        for name, make in makers.items():
            if name in (OURS, "CuPy"):
                continue
            try:
                contender = make(case, inputs)
                contender.call()
                contender.wait()
            except Exception as error:  # which measuring will tell
                print(name, case.name, reason(error))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
