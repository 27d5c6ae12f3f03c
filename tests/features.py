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
_VALUE_TESTS = """
    vecmath vecmath_digests ops reductions functions array_api numpy_namespace array fused
    fused_results plans other_dtypes without_compiler run cupy_calls cupy_tape cupy_tape_faults
    cupy_fused philox counters
"""
VALUE_TESTS = tuple(
    str(found.relative_to(HERE))
    for name in _VALUE_TESTS.split()
    for found in HERE.rglob(f"test_{name}.py")
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
    optimised = {"FUSECUDA_CC": "cc"}  # kernels as they are elsewhere, in all tests
    narrow = {"NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)}
    library = other_libm(folder)
    if library:
        narrow["LD_PRELOAD"] = str(library)
    return {
        "NumPy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": " ".join(WIDE)} | optimised,
        "NumPy without AVX2, and another C library": narrow | optimised,
        "kernels without AVX-512": {"FUSECUDA_CC": "cc -mno-avx512f"},
    }


def main(options: list[str]) -> int:
    """Run all settings; 1 if a test failed in one of them."""
    names = [str(HERE / name) for name in VALUE_TESTS if (HERE / name).exists()]
    failed = []
    command = [sys.executable, "-m", "pytest", "-q", *names, *options]
    with tempfile.TemporaryDirectory() as folder:
        # Most kernels serve two settings.
        kept = {"FUSECUDA_TEST_CACHE": f"{folder}/kernels", "FUSECUDA_TEST_MORE": "1.5"}
        for name, environment in settings(Path(folder)).items():
            print(f"== {name}: {environment}", flush=True)
            changed = {**kept, **os.environ, **environment}
            if subprocess.run(command, env=changed, check=False).returncode:
                failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all settings passed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
