"""Checks by other programs: the tests marked ``gpu``, and compute-sanitizer over a sample."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT_LINES = 40  # of a program's output where it failed


def gpu_tests(seconds: float) -> dict[str, Any]:
    """What the tests marked ``gpu`` come to."""
    if importlib.util.find_spec("pytest") is None:
        return {"outcome": "not run: pytest is not installed"}
    # Plugins that pyproject.toml counts on may be missing, and so may be what other tests import.
    options = ["-o", "addopts=", "-o", "filterwarnings=", "--import-mode=importlib"]
    options += ["-p", "no:cacheprovider", "-m", "gpu", "-q", "--maxfail=20", "--tb=short"]
    found = run([sys.executable, "-m", "pytest", *options, *marked_files()], seconds)
    if found["outcome"] == "failed with status 5":
        found["outcome"] = "not run: no test was selected, for the driver offers no device"
    return found


def marked_files() -> list[str]:
    """The files of tests marked ``gpu``, from the root."""
    return [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if "mark.gpu" in path.read_text(encoding="utf-8")
    ]


def sanitizer(check: str, seconds: float) -> dict[str, Any]:
    """What compute-sanitizer finds in the sample by ``check``, or that it is not there.

    One that does not end in time has failed.
    """
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        return {"outcome": "not run: compute-sanitizer is not on PATH"}
    command = [tool, f"--tool={check}", "--error-exitcode=9"]
    found = run([*command, sys.executable, "-m", "bench.gpu_sample"], seconds)
    if found["outcome"].startswith("stopped"):
        found["outcome"] = f"failed: {found['outcome']}"
    return found


def run(command: Sequence[str], seconds: float) -> dict[str, Any]:
    """The outcome of a program, its last lines, and how long it ran."""
    if seconds < 5:
        return {"outcome": "not run: the time budget was spent"}
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        text, outcome = error.stdout or b"", f"stopped after {seconds:.0f} s"
    except OSError as error:
        return {"outcome": f"not run: {error}"}
    else:
        text = done.stdout
        outcome = "passed" if done.returncode == 0 else f"failed with status {done.returncode}"
    lines = text.decode("utf-8", "replace").splitlines()
    kept = lines[-1:] if outcome == "passed" else lines[-KEPT_LINES:]
    return {"outcome": outcome, "seconds": time.monotonic() - start, "output": kept}
