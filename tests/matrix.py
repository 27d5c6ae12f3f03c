"""The tests of what NumPy and Python decide, with every Python and NumPy that can be had here.

    python tests/matrix.py [--short] [--python PATH ...] [--numpy 2.0 ...] [-- pytest's arguments]

Each pair gets an environment of its own under .venv-matrix, made once. What cannot be installed is
left out, with a line that says so. The exit status is that of the tests: 0 if all pairs pass.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-matrix"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
NEWEST = "newest"
NUMPYS = ("2.0", "2.1", "2.2", "2.3", "2.4", NEWEST)
NEEDS = ("pytest>=8", "pytest-timeout", "pytest-xdist", "hypothesis", "mpmath", "scipy")
TESTS = [
    "array", "array_api", "bytecode", "calls", "calls_attacked", "functions", "fused",
    "fused_results", "joined", "lifted", "memory",
    "numpy_creation", "numpy_namespace", "numpy_rules", "ops", "other_dtypes", "random_dags",
    "reductions",
]  # fmt: skip
SHORT_TESTS = [
    "array", "array_api", "bytecode", "fused", "lifted", "memory", "numpy_creation", "numpy_rules",
    "ops", "other_dtypes",
]  # fmt: skip


@dataclass
class Outcome:
    """What became of one pair: a word for the table, and whether tests ran and failed."""

    said: str
    ran: bool = False
    failed: bool = False


def output(*command: str | Path) -> str | None:
    """What a command prints, or None if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def pythons(given: list[str]) -> dict[str, str]:
    """An interpreter for each version that is here; those ``given`` come first."""
    places = [*given, sys.executable]
    places += [found for v in PYTHONS if (found := shutil.which(f"python{v}"))]
    places += map(str, sorted(Path.home().glob(".pyenv/versions/*/bin/python"), reverse=True))
    found: dict[str, str] = {}
    for place in places:
        version = output(place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
        if version in PYTHONS:
            found.setdefault(version, place)
        elif place in given:
            raise SystemExit(f"{place} is none of Python {', '.join(PYTHONS)}")
    return dict(sorted(found.items(), key=lambda item: PYTHONS.index(item[0])))


def installed(environment: Path, python: str, numpy: str) -> str | None:
    """NumPy's version in the environment of a pair, made if need be, or None."""
    ask = (environment / "bin" / "python", "-c", "import numpy, pytest; print(numpy.__version__)")
    if (version := output(*ask)) is not None:
        return version
    installer = FOLDER / "pip"
    if not (installer / "bin" / "pip").exists():
        subprocess.run([sys.executable, "-m", "venv", installer], check=True)
        pip(installer, "install", "--upgrade", "pip")
    subprocess.run([python, "-m", "venv", "--clear", "--without-pip", environment], check=True)
    wanted = "numpy>=2" if numpy == NEWEST else f"numpy=={numpy}.*"
    target = ("--python", str(environment / "bin" / "python"))
    pip(installer, *target, "install", "--only-binary", "numpy,scipy", wanted, *NEEDS)
    return output(*ask)


def pip(installer: Path, *arguments: str) -> None:
    """Run pip; what it says is shown only if it fails, by its last line."""
    command = [installer / "bin" / "python", "-W", "ignore", "-m", "pip", "--quiet"]
    command += ["--disable-pip-version-check"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        print(f"    {(errors or ['pip failed'])[-1]}", flush=True)


def tested(environment: Path, files: list[str], arguments: list[str]) -> Outcome:
    """The outcome of the tests of ``files``; what fails is shown."""
    command = [environment / "bin" / "python", "-m", "pytest", "--quiet", "--tb=short"]
    command += ["-p", "no:cacheprovider", *arguments, *files]
    began = time.monotonic()
    settings = {"FUSECUDA_TEST_CACHE": str(FOLDER / "kernels"), "FUSECUDA_TEST_MORE": "1.5"}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=settings | os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = {w: int(n) for n, w in re.findall(r"(\d+) (passed|failed|error)", done.stdout[-300:])}
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:], flush=True)
    wrong = counts.get("failed", 0) + counts.get("error", 0)
    word = f"{wrong} FAILED" if done.returncode else f"{counts.get('passed', 0)} passed"
    return Outcome(f"{word}, {time.monotonic() - began:.0f} s", True, bool(done.returncode))


def pair(
    version: str, python: str, numpy: str, args: argparse.Namespace, seen: set[str]
) -> Outcome:
    """The outcome of one pair."""
    print(f"Python {version}, NumPy {numpy}", flush=True)
    environment = FOLDER / f"python{version}-numpy{numpy}"
    found = installed(environment, python, numpy)
    if found is None:
        print("    cannot be installed here: left out", flush=True)
        return Outcome("-")
    minor = ".".join(found.split(".")[:2])
    if minor in seen:
        return Outcome(f"as {minor}")
    seen.add(minor)
    chosen = SHORT_TESTS if args.short else TESTS
    outcome = tested(
        environment,
        [str(f.relative_to(ROOT)) for n in chosen for f in ROOT.glob(f"tests/**/test_{n}.py")],
        args.pytest,
    )
    outcome.said = f"{found}: {outcome.said}"
    print(f"    {outcome.said}", flush=True)
    return outcome


def table(outcomes: dict[tuple[str, str], Outcome], numpys: list[str]) -> str:
    """A line for each Python, a column for each NumPy."""
    versions = list(dict.fromkeys(version for version, _ in outcomes))
    rows = [["Python", *(f"NumPy {n}" for n in numpys)]]
    for version in versions:
        cells = [outcomes.get((version, n), Outcome("")).said for n in numpys]
        rows.append([version, *cells])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def main() -> int:
    """Run the matrix and print its table; 1 if a test failed or none ran."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="oldest and newest pair, fewer tests")
    parser.add_argument("--python", action="append", default=[], help="an interpreter to use")
    parser.add_argument("--numpy", action="append", default=[], choices=NUMPYS)
    parser.add_argument("pytest", nargs="*", help="arguments for pytest")
    args = parser.parse_args()
    here = pythons(args.python)
    for version in PYTHONS:
        if version not in here:
            print(f"Python {version} is not on this machine: left out")
    numpys = args.numpy or list(NUMPYS)
    pairs = [(version, numpy) for version in here for numpy in numpys]
    if args.short:
        pairs = list(dict.fromkeys([(min(here), numpys[0]), (max(here), numpys[-1])]))
    outcomes: dict[tuple[str, str], Outcome] = {}
    seen: dict[str, set[str]] = {version: set() for version in here}
    for version, numpy in pairs:
        outcomes[version, numpy] = pair(version, here[version], numpy, args, seen[version])
    print(table(outcomes, [n for n in numpys if any(n == numpy for _, numpy in pairs)]))
    ran = [outcome for outcome in outcomes.values() if outcome.ran]
    return int(not ran or any(outcome.failed for outcome in ran))


if __name__ == "__main__":
    sys.exit(main())
