"""Digests of the vector math under many compilers and settings, to be equal everywhere.

``python -m tests.vecmath_digests`` runs every setting that this machine offers on 60,000 draws of
each function and rewrites the table in docs/machines.md. Draws are made of integers, so that they
are the same on every machine; results are hashed with one NaN for all.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import mpmath
import numpy as np

from fusecuda.cpu_fallback import interpreted
from tests import vecmath_harness as harness

Array = np.ndarray
Function = tuple[str, str]  # name, kind
ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).parent / "goldens" / "vecmath_digests.txt"
PAGE = ROOT / "docs" / "machines.md"
BEGIN, END = "<!-- digests -->\n", "<!-- end of digests -->\n"
COUNT = 60_000
SPECIAL = [0.0, 1.0, 0.5, 2.0, 3.0, 10.0, 1e300, 1e-300, 709.5, 745.1, 88.7, 103.9, 1023.0, 1074.0]
SPECIAL += [float("inf"), float("nan"), 5e-324, 1e-45, 2.0**-1022, 2.0**-126, 2.0**52, 2.0**24]


# --- draws --------------------------------------------------------------------------------------


@functools.cache
def near_multiples(count: int) -> Array:
    """Doubles next to multiples of pi/2, near and far."""
    with mpmath.workprec(1200):
        near = [float(mpmath.pi / 2 * n) for n in range(1, count // 2)]
        far = [float(mpmath.pi / 2 * (2 * n + 1) * mpmath.mpf(2) ** (n % 1000)) for n in range(500)]
    return np.array([*near, *far, float.fromhex("0x1.6ac5b262ca1ffp+849")])


def draws(function: Function, count: int = COUNT) -> tuple[Array, ...]:
    """The operands of one function: the same on every machine."""
    name, kind = function
    rng = np.random.default_rng(zlib.crc32(f"{name} {kind}".encode()))
    operands = 2 if name in harness.OF_TWO else 1
    return tuple(_operand(rng, kind, count) for _ in range(operands))


def _operand(rng: np.random.Generator, kind: str, count: int) -> Array:
    dtype = harness.TYPES[kind][0]
    info = np.finfo(dtype)
    word = np.dtype(f"u{info.bits // 8}")
    each = count // 6

    def patterns(low: int, high: int) -> Array:
        """Random signs and fractions under exponents from ``low`` to ``high``, of 2."""
        fraction = rng.integers(0, 1 << info.nmant, each, dtype=np.uint64)
        exponent = rng.integers(low + info.maxexp - 1, high + info.maxexp, each, dtype=np.uint64)
        sign = rng.integers(0, 2, each, dtype=np.uint64) << np.uint64(info.bits - 1)
        return (fraction | exponent << np.uint64(info.nmant) | sign).astype(word).view(dtype)

    one = np.array(1, dtype).view(word)
    steps = rng.integers(-1 << 20, 1 << 20, each).astype(word)  # wraps around
    with np.errstate(over="ignore", invalid="ignore"):
        multiples = rng.choice(near_multiples(4000), each).astype(dtype)
        special = np.array([s * v for s in (1, -1) for v in SPECIAL]).astype(dtype)
    parts = [
        patterns(-info.maxexp + 1, info.maxexp),  # everything: subnormals, infinities, NaN
        patterns(-6, 7),
        patterns(-3, 3),
        (one + steps).view(dtype),
        patterns(-info.maxexp + 1, -info.maxexp + 1 + info.nmant),  # subnormals and their bounds
        multiples,
    ]
    everything = np.concatenate([*parts, rng.choice(special, count)])[: count + count // 10]
    rng.shuffle(everything)
    return everything[:count]


def values(
    library: harness.Functions,
    functions: Sequence[Function] = tuple(harness.ALL),
    count: int = COUNT,
) -> dict[Function, Array]:
    """What the functions of a library are at their draws."""
    return {f: library(f[0], *draws(f, count)) for f in functions}


def digest(array: Array) -> str:
    """What two arrays of equal bits share, every NaN being alike."""
    clean = np.where(np.isnan(array), array.dtype.type(0x7FC), array)
    marked = np.isnan(array).tobytes() + clean.tobytes()
    return hashlib.sha256(marked).hexdigest()[:16]


# --- settings -----------------------------------------------------------------------------------

Run = Callable[[Sequence[Function], int], dict[Function, Array]]


@dataclass(frozen=True)
class Setting:
    """A way to compute the functions: a compiler with arguments, or NumPy."""

    label: str
    command: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    emulator: tuple[str, ...] = ()

    def lacks(self) -> str:
        """What this machine lacks for it; nothing if it can be run."""
        if self.label == INTERPRETED:
            return ""
        if "-m" in "".join(self.flags) and platform.machine() not in ("x86_64", "AMD64"):
            return "not an x86-64 processor"
        wanted = [program[0] for program in (self.command, self.emulator) if program]
        missing = [program for program in wanted if shutil.which(program) is None]
        return f"no {' and no '.join(missing)}" if missing else ""

    def version(self) -> str:
        """What computes: the first line of the compiler's version, or NumPy's."""
        if self.label == INTERPRETED:
            return f"NumPy {np.__version__}"
        return subprocess.check_output([self.command[0], "--version"], text=True).splitlines()[0]

    def results(
        self, functions: Sequence[Function] = tuple(harness.ALL), count: int = COUNT
    ) -> dict[Function, Array]:
        """The functions' values at their draws."""
        if self.label == INTERPRETED:
            return {f: _interpreted(f, count) for f in functions}
        with tempfile.TemporaryDirectory() as name:
            if self.emulator:
                return self._emulated(Path(name), functions, count)
            built, _ = harness.compile_library(Path(name), self.flags, self.command, functions)
            return values(harness.Functions(built), functions, count)

    def _emulated(
        self, folder: Path, functions: Sequence[Function], count: int
    ) -> dict[Function, Array]:
        text, program = folder / "main.c", folder / "main"
        text.write_text(harness.source(functions) + _main(functions, count))
        flags = [
            f
            for f in harness.FLAGS
            if f not in ("-shared", "-march=native", "-mprefer-vector-width=512", "-fPIC")
        ]
        line = [*self.command, *flags, *self.flags, "-static", f"-I{harness.HEADER_DIR}"]
        harness.run([*line, str(text), "-o", str(program), "-lm"])
        data = [np.concatenate(draws(f, count)).tobytes() for f in functions]
        (folder / "in").write_bytes(b"".join(data))
        harness.run([*self.emulator, str(program), str(folder / "in"), str(folder / "out")])
        answer, at, found = (folder / "out").read_bytes(), 0, {}
        for name, kind in functions:
            dtype = np.dtype(harness.TYPES[kind][0])
            found[name, kind] = np.frombuffer(answer, dtype, count, at)
            at += count * dtype.itemsize
        return found


def _interpreted(function: Function, count: int) -> Array:
    name = {"pow": "power"}.get(function[0], function[0])
    return interpreted.call(name, *draws(function, count))


def _main(functions: Iterable[Function], count: int) -> str:
    """A program that reads the operands of one function after another and writes its values."""
    lines = ["#include <stdio.h>", f"enum {{ N = {count} }};", "static double x[N], y[N], r[N];"]
    lines += ["int main(int argc, char **argv) {", "    if (argc < 3) return 2;"]
    lines += ['    FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");']
    for name, kind in functions:
        ctype = harness.TYPES[kind][1]
        names = ("x", "y") if name in harness.OF_TWO else ("x",)
        for operand in names:
            lines.append(f"    if (fread({operand}, sizeof({ctype}), N, in) != N) return 1;")
        passed = ", ".join(f"({ctype} *){operand}" for operand in (*names, "r"))
        lines.append(f"    {name}_{kind}({passed}, N);")
        lines.append(f"    fwrite(r, sizeof({ctype}), N, out);")
    return "\n".join([*lines, "    return fclose(out);", "}", ""])


INTERPRETED = "no compiler: the interpreter"
NATIVE = Setting("cc, as on this machine", ("cc",))
SETTINGS = (
    NATIVE,
    Setting("cc -march=x86-64", ("cc",), ("-march=x86-64",)),
    Setting("cc -march=x86-64-v2", ("cc",), ("-march=x86-64-v2",)),
    Setting("cc -mno-fma", ("cc",), ("-mno-fma",)),
    Setting("cc -mno-avx512f", ("cc",), ("-mno-avx512f",)),
    Setting("cc -O0", ("cc",), ("-O0",)),
    Setting("cc -O0 -march=x86-64", ("cc",), ("-march=x86-64", "-O0")),
    Setting("clang", ("clang",)),
    Setting("clang -march=x86-64", ("clang",), ("-march=x86-64",)),
    Setting("clang -O0", ("clang",), ("-O0",)),
    Setting("ARM64, emulated", ("aarch64-linux-gnu-gcc",), (), ("qemu-aarch64",)),
    Setting(INTERPRETED),
)


# --- the record and the page --------------------------------------------------------------------


def recorded() -> dict[Function, str]:
    """The digests on record."""
    rows = (line.split() for line in RECORD.read_text().splitlines())
    return {(name, kind): value for name, kind, value in rows}


def lines_of(results: dict[Function, Array]) -> str:
    """The record's text for ``results``."""
    return "".join(f"{name} {kind} {digest(v)}\n" for (name, kind), v in results.items())


def page(found: dict[str, dict[Function, str]], versions: dict[str, str]) -> str:
    """The table of settings and the table of digests."""
    record = recorded()
    lines = [f"Run on {processor()}.", ""]
    lines += ["| setting | what computed | functions with the digest below |", "|---|---|---|"]
    for label, digests in found.items():
        equal = sum(digests.get(f) == record[f] for f in record)
        said = f"{equal} of {len(record)}" if digests else "not run"
        lines.append(f"| {label} | {versions[label]} | {said} |")
    lines += ["", "| function | float64 | float32 |", "|---|---|---|"]
    for name in dict.fromkeys(name for name, _ in harness.ALL):
        lines.append(f"| {name} | `{record[name, 'f64']}` | `{record[name, 'f32']}` |")
    return "\n".join(lines) + "\n"


def processor() -> str:
    """What the system calls this machine's processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    name = next((line for line in text.splitlines() if line.startswith("model name")), "")
    return f"{platform.machine()}, {name.partition(':')[2].strip() or 'unnamed'}"


def main() -> int:
    """Run every setting; 1 if one differs from the record."""
    found: dict[str, dict[Function, str]] = {}
    versions: dict[str, str] = {}
    for setting in SETTINGS:
        lack = setting.lacks()
        results = {} if lack else setting.results()
        found[setting.label] = {f: digest(v) for f, v in results.items()}
        versions[setting.label] = lack or setting.version()
        print(setting.label, "-", lack or "run", flush=True)
    text = PAGE.read_text()
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(head + BEGIN + page(found, versions) + END + tail)
    record = recorded()
    return int(any(digests not in ({}, record) for digests in found.values()))


if __name__ == "__main__":
    sys.exit(main())
