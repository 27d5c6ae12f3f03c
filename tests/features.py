"""Run the tests of values as other machines would: ``python -m tests.features [pytest's options]``.

NumPy's elementary functions have other bits where it may not use AVX-512 or AVX2, and again with
another C library; compiled kernels are other code without AVX-512. A test whose oracle is one
machine's libm fails in one of these settings.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy._core._multiarray_umath as umath

HERE = Path(__file__).parent
VALUE_TESTS = (
    *("test_vecmath.py", "test_vecmath_digests.py", "test_ops.py", "test_reductions.py"),
    *("test_random_dags.py", "test_functions.py", "test_array_api.py", "test_numpy_namespace.py"),
    *(
        "test_array.py",
        "test_fused.py",
        "test_fused_results.py",
        "test_plans.py",
        "test_programs.py",
    ),
    *("test_launches.py", "test_other_dtypes.py", "test_without_compiler.py", "test_run.py"),
    *("test_cupy_calls.py", "test_cupy_tape.py", "test_cupy_tape_faults.py", "test_cupy_fused.py"),
)
DISPATCHED: list[str] = list(umath.__cpu_dispatch__)  # what this NumPy can do without
WIDE = [f for f in DISPATCHED if "512" in f or f == "X86_V4"]


def other_libm(folder: Path) -> Path | None:
    """The C library of another machine, built in ``folder``; None where none can be."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        return None
    library = folder / "other_libm.so"
    flags = ["-O1", "-fPIC", "-shared", "-fno-builtin"]
    subprocess.run(
        ["cc", *flags, str(HERE / "other_libm.c"), "-o", str(library), "-ldl"], check=True
    )
    return library


def settings(folder: Path) -> dict[str, dict[str, str]]:
    """The environment of each setting, by what it is called."""
    narrow = {"NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)}
    library = other_libm(folder)
    if library:
        narrow["LD_PRELOAD"] = str(library)
    return {
        "NumPy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": " ".join(WIDE)},
        "NumPy without AVX2, and another C library": narrow,
        "kernels without AVX-512": {"FUSECUDA_CC": "cc -mno-avx512f"},
    }


def main(options: list[str]) -> int:
    """Run all settings; 1 if a test failed in one of them."""
    names = [str(HERE / name) for name in VALUE_TESTS if (HERE / name).exists()]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, environment in settings(Path(folder)).items():
            print(f"== {name}: {environment}", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", *names, *options]
            if subprocess.run(command, env={**os.environ, **environment}, check=False).returncode:
                failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all settings passed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
