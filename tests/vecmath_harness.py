"""Build the functions of ``vecmath.h`` into a shared library, check and time them.

``python tests/vecmath_harness.py --bench`` prints ns per element beside NumPy's;
``--ulp N`` prints the largest error over N random arguments per function.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import functools
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from fusecuda.cpu_fallback import compiler, texts

HEADER_DIR = Path(__file__).resolve().parents[1] / "fusecuda" / "cpu_fallback"
FLAGS = [flag.text for flag in compiler.FLAGS]

PRIORITY_1 = ("exp", "log", "sin", "cos", "tanh", "expm1", "log1p", "exp2", "log2", "log10", "tan")
UNARY = (
    *PRIORITY_1,
    *("cbrt", "arctan", "sinh", "cosh", "arcsin", "arccos"),
    *("erf", "erfc", "arcsinh", "arccosh", "arctanh", "expit"),
)
BINARY = ("pow", "arctan2", "hypot", "logaddexp")
SPECIAL_UNARY = (
    *("gammaln", "gamma", "psi", "erfcx", "erfinv", "erfcinv", "ndtr", "ndtri", "log_ndtr"),
    *("logit", "log_expit", "i0", "i0e", "i1", "i1e", "entr", "exp10", "exprel", "cosm1"),
)
SPECIAL_BINARY = (
    *("xlogy", "xlog1py", "rel_entr", "kl_div", "huber", "pseudo_huber"),
    *("boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p"),
)
OF_TWO = frozenset((*BINARY, *SPECIAL_BINARY))
TYPES = {"f64": (np.float64, "double"), "f32": (np.float32, "float")}
ALL = [(name, kind) for kind in TYPES for name in (*UNARY, *BINARY)]
ALL += [(name, kind) for kind in TYPES for name in (*SPECIAL_UNARY, *SPECIAL_BINARY)]
ANGLES = ("sin", "cos", "tan")
LOGS = ("log", "log2", "log10", "log1p")
PACKED = (*ANGLES, "pow")  # with vector functions of our own, of both types
PACKED_DOUBLES = (*LOGS, "arcsinh", "arccosh", "arctanh", "arctan")  # of doubles alone
PACKED_FLOATS = (*LOGS, "tanh", "erf", "arctan2")  # and of floats alone
# Functions in float arithmetic, and the largest error of each over all floats, in ULP.
SINGLE = {
    **{"exp": 0.91, "exp2": 0.88, "expm1": 0.90, "log": 1.0, "log2": 0.90, "log1p": 1.0},
    **{"tanh": 1.0, "expit": 0.81, "erf": 0.77, "sin": 0.90, "cos": 0.90, "tan": 0.85},
    **{"arctan": 0.92, "arcsin": 0.75, "arccos": 0.96, "sinh": 0.95, "cosh": 0.98, "cbrt": 0.51},
    **{"log10": 1.0, "arcsinh": 0.92, "arccosh": 0.95, "arctanh": 0.92},
}
NUMPY_NAME = {"pow": "power"}

# Where each function is sampled for errors and times: everyday arguments.
DOMAIN = {
    "exp": (-20, 20),
    "log": (1e-3, 1e3),
    "sin": (-100, 100),
    "cos": (-100, 100),
    "tan": (-100, 100),
    "tanh": (-3, 3),
    "expm1": (-3, 3),
    "log1p": (-0.9, 10),
    "exp2": (-20, 20),
    "log2": (1e-3, 1e3),
    "log10": (1e-3, 1e3),
    "cbrt": (-100, 100),
    "arctan": (-10, 10),
    "sinh": (-5, 5),
    "cosh": (-5, 5),
    "arcsin": (-1, 1),
    "arccos": (-1, 1),
    "arcsinh": (-10, 10),
    "arccosh": (1, 10),
    "arctanh": (-1, 1),
    "erf": (-4, 4),
    "erfc": (-4, 10),
    "expit": (-20, 20),
}


def source(functions: Iterable[tuple[str, str]] = ALL, packs: bool = True) -> str:
    """Return a C file with one plain loop per function and type."""
    functions = list(functions)
    called = [f"fc_{name.replace('pow', 'power')}_{kind}(" for name, kind in functions]
    lines = [f"#define FC_WANTS_{name}" for name in texts.packed(called) if packs]
    lines += [f'#include "{header}"' for header in ("vecmath.h", *texts.SPECIAL)]
    for name, kind in functions:
        ctype = TYPES[kind][1]
        operands = ("x", "y") if name in OF_TWO else ("x",)
        declared = "".join(f"const {ctype} *restrict {o}, " for o in operands)
        passed = ", ".join(f"{o}[i]" for o in operands)
        lines.append(
            f"void {name}_{kind}({declared}{ctype} *restrict out, long n)\n"
            f"{{ for (long i = 0; i < n; i++) out[i] = fc_{name}_{kind}({passed}); }}"
        )
    return "\n".join(lines) + "\n"


def said_by(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, input="", capture_output=True, text=True, check=False).stdout


def is_gcc(command: Sequence[str]) -> bool:
    """Whether a compiler is gcc, whatever it is called."""
    return "Free Software Foundation" in said_by(command[0], "--version")


def accepted(command: Sequence[str], flags: Iterable[str]) -> list[str]:
    """Return those of our flags that the compiler takes, as the program itself would choose."""
    gcc = is_gcc(command)
    return [f for f in flags if f != "-w" and (gcc or not f.startswith("-fno-tree"))]


def compile_library(
    folder: Path,
    extra: tuple[str, ...] = (),
    command: Sequence[str] = ("cc",),
    functions: Iterable[tuple[str, str]] = ALL,
    packs: bool = True,
) -> tuple[Path, str]:
    """Compile the loops; return the library and what the compiler said."""
    text, library = folder / "loops.c", folder / "loops.so"
    text.write_text(source(functions, packs))
    line = [*command, *accepted(command, FLAGS), *extra, f"-I{HEADER_DIR}"]
    return library, run([*line, str(text), "-o", str(library), "-lm"])


def compiled_for(target: str, loops: str, folder: Path) -> Path:
    """A library of ``loops`` behind the kernels' prelude, for this machine but for ``target``.

    The test is skipped where that is a flag of another architecture's.
    """
    if target != "-march=native" and "__x86_64__" not in said_by("cc", "-dM", "-E", "-"):
        pytest.skip(f"{target} is x86's")
    text, library = folder / "loops.c", folder / "loops.so"
    text.write_text(texts.unit(texts.prelude(), [loops], texts.epilogue()), "utf-8")
    flags = accepted(["cc"], [*FLAGS, "-march=native"])
    run(["cc", *flags, target, "-w", "-fPIC", "-shared", str(text), "-o", str(library), "-lm"])
    return library


def run(command: Sequence[str]) -> str:
    """Run a command and return what it said on its error output; raises if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stderr


@functools.cache
def everything(kept: Path) -> dict[str, tuple[Path, str]]:
    """Per type all functions and what the compiler said, with all warnings and the vectoriser's.

    They are compiled once for all processes that share the folder: of two that come at once each
    compiles one type.
    """
    headers = [path.read_bytes() for path in sorted(HEADER_DIR.glob("*.h"))]
    words = [source(), *FLAGS, said_by("cc", "--version"), said_by("cc", "-march=native", "-v")]
    digest = hashlib.sha256(b"\0".join([*headers, *(word.encode() for word in words)]))
    folders = {kind: kept / f"functions-{digest.hexdigest()[:16]}-{kind}" for kind in TYPES}
    for kind in [kind for kind in TYPES if not _compile_type(folders[kind], kind, wait=False)]:
        _compile_type(folders[kind], kind, wait=True)
    return {k: (f / "loops.so", (f / "said").read_text()) for k, f in folders.items()}


def _compile_type(folder: Path, kind: str, wait: bool) -> bool:
    """Compile the functions of one type, unless that is done; False if another process is at it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        if not (folder / "said").exists():
            flags = ("-Wall", "-Wextra", *(("-fopt-info-vec",) if is_gcc(["cc"]) else ()))
            functions = [function for function in ALL if function[1] == kind]
            _, said = compile_library(folder, flags, functions=functions)
            (folder / "part").write_text(said)
            (folder / "part").replace(folder / "said")
    return True


class Functions:
    """The compiled loops as functions of arrays: ``lib("exp", x)``."""

    def __init__(self, *libraries: Path) -> None:
        self._libraries = [ctypes.CDLL(str(library)) for library in libraries]

    def __call__(self, name: str, *args: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        args = tuple(np.ascontiguousarray(arg) for arg in args)
        kind = {8: "f64", 4: "f32"}[args[0].itemsize]
        out = np.empty_like(args[0]) if out is None else out
        found = (getattr(library, f"{name}_{kind}", None) for library in self._libraries)
        function = next(function for function in found if function is not None)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*args, out)]
        function(*pointers, ctypes.c_long(args[0].size))
        return out


def sample(name: str, dtype: type, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Draw everyday arguments of one function."""
    rng = np.random.default_rng(seed)
    if name in BINARY:
        return rng.uniform(0.1, 10, count).astype(dtype), rng.uniform(-10, 10, count).astype(dtype)
    return (rng.uniform(*DOMAIN[name], count).astype(dtype),)


def best_time(call: Callable[[], object], repeats: int = 15) -> float:
    """Return the least of several wall times of ``call()``."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def bench(lib: Functions, count: int = 100_000) -> None:
    """Print ns per element, ours and NumPy's."""
    print(f"{'':10s} {'f64':>8s} {'NumPy':>8s} {'f32':>8s} {'NumPy':>8s}")
    for name in (*UNARY, *BINARY):
        cells = []
        for dtype, _ in TYPES.values():
            args = sample(name, dtype, count)
            out = np.empty_like(args[0])
            ours = best_time(functools.partial(lib, name, *args, out=out))
            cells.append(f"{ours / count * 1e9:8.2f}")
            ufunc = getattr(np, NUMPY_NAME.get(name, name), None)
            theirs = ufunc and best_time(functools.partial(ufunc, *args, out=out))
            cells.append(f"{theirs / count * 1e9:8.2f}" if theirs else f"{'-':>8s}")
        print(f"{name:10s} " + " ".join(cells))


def reference(name: str) -> Callable[..., object]:
    """Return the mpmath function under NumPy's name."""
    import mpmath

    table = {
        "exp2": lambda x: mpmath.mpf(2) ** x,
        "log2": lambda x: mpmath.log(x, 2),
        "arcsin": mpmath.asin,
        "arccos": mpmath.acos,
        "arctan": mpmath.atan,
        "arcsinh": mpmath.asinh,
        "arccosh": mpmath.acosh,
        "arctanh": mpmath.atanh,
        "arctan2": mpmath.atan2,
        "pow": mpmath.power,
        "expit": lambda x: 1 / (1 + mpmath.exp(-x)),
        "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
        "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    }
    return table.get(name) or getattr(mpmath, name)


def ulp_errors(name: str, args: tuple[np.ndarray, ...], got: np.ndarray) -> np.ndarray:
    """Return |got - exact| in units of the last place of the exact result."""
    import mpmath

    mpmath.mp.prec = 200
    function, info, errors = reference(name), np.finfo(got.dtype), []
    for *values, result in zip(*(a.tolist() for a in args), got.tolist(), strict=True):
        exact = function(*map(mpmath.mpf, values))
        _, exponent = mpmath.frexp(exact)
        place = max(int(exponent) - info.nmant - 1, info.minexp - info.nmant)
        errors.append(float(abs(mpmath.mpf(result) - exact) / mpmath.mpf(2) ** place))
    return np.array(errors)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", action="store_true")
    parser.add_argument("--ulp", type=int, default=0, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lib = Functions(compile_library(Path(folder))[0])
        if options.bench:
            bench(lib)
        for name in (*UNARY, *BINARY) if options.ulp else ():
            cells = []
            for dtype, _ in TYPES.values():
                args = sample(name, dtype, options.ulp)
                errors = ulp_errors(name, args, lib(name, *args))
                worst = int(errors.argmax())
                cells.append(f"{errors[worst]:.3f} at {[float(a[worst]) for a in args]}")
            print(f"{name:10s} " + "   ".join(cells))


if __name__ == "__main__":
    sys.exit(main())
