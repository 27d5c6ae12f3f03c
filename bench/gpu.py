"""``python -m bench.gpu``: tests, ceilings, bandwidths, rivals, compile and host times on a device.

One command that ends in time whatever happens: rows are measured by a process of their own, which
is started again where a fault of the device, a crash or a hang ends it; a row that does so is
reported with its error and not tried again. JSON and Markdown are written under bench/results/.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import gpu_checks, gpu_report, gpu_warm
from .gpu_cases import SIZES
from .gpu_measure import NOT_MEASURED, Budget
from .gpu_worker import Job, all_jobs, read

RESULTS = Path(__file__).parent / "results"
ROOT = RESULTS.parent.parent
SECTIONS = "ceilings,compile,table,host,switches,rivals"
TESTS_SHARE, EMULATED_SHARE = 0.3, 0.15  # of the budget, at most
SANITIZER_SHARE, WARM_SHARE = 0.06, 0.2
STARTS = 6  # of the measuring process, at most
ROW_LIMIT = 90.0  # seconds after which a row that gives nothing is taken for a hang

Start = Callable[[Path, float], str]  # runs the measuring process: why it ended, or ""


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for; 0 if tests passed and rows were measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--budget", type=float, default=420.0, metavar="S", help="seconds in all")
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose name has TEXT")
    parser.add_argument("--no-checks", action="store_true", help="neither tests nor sanitizer")
    parser.add_argument("--sections", default=SECTIONS, metavar="A,B", help="what is measured")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    options = parser.parse_args(argv)
    budget = Budget(options.budget)
    options.results.mkdir(parents=True, exist_ok=True)
    checks = {} if options.no_checks else run_checks(budget, options.results)
    jobs = [j for j in all_jobs(only=options.only) if j.section in options.sections.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        os.environ.update(gpu_warm.caches(Path(folder)))
        if any(job.section == "rivals" for job in jobs) and has_device():
            most = WARM_SHARE * budget.seconds
            gpu_warm.warm(SIZES[0], options.only, ROOT, Path(folder), most)
        chosen = (options.only, options.sections)
        ends = measure(path, budget, lambda file, s: start_worker(file, s, *chosen))
        report = report_of(path, checks, ends, jobs)
    print(gpu_report.markdown(report))
    failed = any("failed" in c["outcome"] for c in checks.values())
    if "device" not in report["facts"]:
        print("No device was found: nothing is written.")
        return 1
    print(*write(report, options.results), sep="\n")
    return 1 if failed or not any("events" in r for r in report["rows"]) else 0


def has_device() -> bool:
    """True if CuPy is there and sees a device."""
    try:
        import cupy

        return bool(cupy.cuda.runtime.getDeviceCount())
    except Exception:  # no CuPy, or no driver
        return False


def run_checks(budget: Budget, logs: Path) -> dict[str, Any]:
    """The tests marked ``gpu``, those of the emulator on the device, and compute-sanitizer."""
    whole = budget.seconds
    found = {
        "tests marked gpu": gpu_checks.gpu_tests(TESTS_SHARE * whole, logs),
        "the emulator's tests there": gpu_checks.emulators_tests(EMULATED_SHARE * whole, logs),
    }
    for check in ("memcheck", "racecheck"):
        limit = min(SANITIZER_SHARE * budget.seconds, budget.left())
        found[f"compute-sanitizer {check}"] = gpu_checks.sanitizer(check, limit)
    return found


def measure(path: Path, budget: Budget, start: Start) -> list[str]:
    """Fill the file of rows; returns why processes ended before all was done."""
    ends: list[str] = []
    known = 0
    for _ in range(STARTS):
        if budget.left() < 5:
            break
        why = start(path, budget.left())
        if not why:
            break
        ends.append(why)
        _, rows, unfinished = read(path)
        if not unfinished and len(rows) == known:
            break  # it cannot even begin
        known = len(rows)
        with path.open("a", encoding="utf-8") as file:
            # A line that a killed process left unended must not swallow this one.
            file.write("\n")
            for job in all_jobs():
                if job.key in unfinished:
                    file.write(json.dumps({**job.facts(), "error": why}) + "\n")
    return ends


def start_worker(path: Path, seconds: float, only: str = "", sections: str = SECTIONS) -> str:
    """Run the measuring process; why it ended early, or ""."""
    environment = {
        **os.environ,
        "FUSECUDA_LOG": "tracebacks",  # so that an error's last line is the error
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }
    command = [sys.executable, "-m", "bench.gpu_worker", str(path), f"{seconds - 3:.1f}"]
    command += [only, sections]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE)
    return watch(process, path, Budget(seconds))


def watch(process: subprocess.Popen[bytes], path: Path, budget: Budget) -> str:
    """Why ``process`` failed, or ""; it is stopped when it hangs or the time is over."""
    changed, size = budget.clock(), -1
    while True:
        try:
            _, text = process.communicate(timeout=min(2.0, max(0.1, budget.left())))
            break
        except subprocess.TimeoutExpired:
            now = path.stat().st_size if path.exists() else 0
            if now != size:
                changed, size = budget.clock(), now
            over = budget.left() <= 0
            if over or budget.clock() - changed > ROW_LIMIT:
                process.kill()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=10)
                return "stopped: the time was over" if over else "stopped: it hung"
    if process.returncode == 0:
        return ""
    lines = [line for line in (text or b"").decode("utf-8", "replace").splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return f"the process ended with status {process.returncode}: {last}"[:300]


def report_of(
    path: Path, checks: dict[str, Any], ends: list[str], jobs: Sequence[Job]
) -> dict[str, Any]:
    """All that is known, with a row for each job, as plain data; times in seconds."""
    device, rows, _ = read(path)
    found = {row["key"]: row for row in rows}
    facts = {
        "date": datetime.date.today().isoformat(),
        **device,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
    }
    if ends:
        facts["restarts"] = "; ".join(ends)
    over = not ends or "time was over" in ends[-1]
    why = NOT_MEASURED if over else f"not measured: {ends[-1]}"
    full = [found.get(j.key) or {**j.facts(), "unmeasured": why} for j in jobs]
    facts["clocks at first"], facts["clocks at last"] = _clocks(full)
    return {"facts": facts, "checks": checks, "rows": full}


def _clocks(rows: list[dict[str, Any]]) -> tuple[str, str]:
    known = [row["clocks"] for row in rows if "clocks" in row]
    if not known:
        return "not known", "not known"
    first, last = (", ".join(f"{n} {v}" for n, v in c.items()) for c in (known[0], known[-1]))
    return first, last


def write(report: dict[str, Any], folder: Path = RESULTS) -> list[Path]:
    """Write JSON and Markdown, named by device and date."""
    folder.mkdir(parents=True, exist_ok=True)
    device = re.sub(r"\W+", "-", report["facts"].get("device", "none")).strip("-").lower()
    name = f"gpu-{device}-{report['facts']['date']}"
    files = {
        ".json": json.dumps(report, indent=1) + "\n",
        ".md": gpu_report.markdown(report),
    }
    for suffix, text in files.items():
        (folder / (name + suffix)).write_text(text, encoding="utf-8")
    return [folder / (name + suffix) for suffix in files]


if __name__ == "__main__":
    sys.exit(main())
