"""Checks by other programs: the tests marked ``gpu``, and compute-sanitizer over a sample."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT_LINES = 40  # of a program's output where it failed
MOST_PROCESSES = 14  # each of them has a context on the device
EMULATED = ("tests/emit_cuda", "tests/fusion", "tests/codegen", "tests/graph")


def gpu_tests(seconds: float, logs: Path | None = None) -> dict[str, Any]:
    """What the tests marked ``gpu`` come to."""
    found = _pytest(["-m", "gpu", *marked_files()], seconds, logs, "gpu-tests")
    if found["outcome"] == "failed with status 5":
        found["outcome"] = "not run: no test was selected, for the driver offers no device"
    return found


def emulators_tests(seconds: float, logs: Path | None = None) -> dict[str, Any]:
    """What the emulator's tests come to when the device runs their kernels."""
    return _pytest(
        ["-p", "tests.on_gpu", "-m", "not slow", *EMULATED], seconds, logs, "emulators-tests"
    )


def _pytest(arguments: Sequence[str], seconds: float, logs: Path | None, name: str) -> Any:
    if importlib.util.find_spec("pytest") is None:
        return {"outcome": "not run: pytest is not installed"}
    # Plugins that pyproject.toml counts on may be missing, and so may be what other tests import.
    options = ["-o", "addopts=", "-o", "filterwarnings=", "--import-mode=importlib"]
    options += ["-p", "no:cacheprovider", "-q", "--tb=short"]
    options += ["-p", "tests.lost_device", "-p", "no:benchmark", "--durations=10"]
    if importlib.util.find_spec("xdist") is not None:
        options += ["-n", str(min(MOST_PROCESSES, os.cpu_count() or 1))]
    if importlib.util.find_spec("pytest_timeout") is not None:
        options += ["--timeout=90", "--timeout-method=thread"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    return run(command, seconds, logs / f"{name}.log" if logs else None)


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


def run(command: Sequence[str], seconds: float, log: Path | None = None) -> dict[str, Any]:
    """The outcome of a program, its last lines and its seconds; ``log`` gets all that it says."""
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
    if log is not None:
        log.write_bytes(text)
    lines = text.decode("utf-8", "replace").splitlines()
    kept = lines[-1:] if outcome == "passed" else lines[-KEPT_LINES:]
    return {"outcome": outcome, "seconds": time.monotonic() - start, "output": kept}
