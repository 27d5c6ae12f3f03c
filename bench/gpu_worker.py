"""The process that uses the device: runs jobs in order and writes each one's row as a line of JSON.

``python -m bench.gpu_worker FILE SECONDS ONLY SECTIONS``. Jobs that already have a line in FILE are
left out, so that a new process goes on where one ended that a fault of the device, a crash or a
hang had taken.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import gpu_measure as measure
from .gpu_cases import CASES, COMPILED, HOSTED, MIB, SIZES, SMALL, SWITCHED, Case
from .gpu_measure import NOT_MEASURED, Budget, Device, reason

Sink = Callable[[dict[str, Any]], None]
DEVICE_LOST = 3  # exit status: the device cannot be used by this process any more


@dataclass(frozen=True)
class Job:
    """One row to be measured."""

    section: str
    case: Case | None
    size: int

    @property
    def key(self) -> str:
        """Its name, different from all others."""
        name = f"{self.case.name}, {self.case.dtype}" if self.case else "ceilings"
        return f"{self.section}: {name}, {self.size} bytes"

    def facts(self) -> dict[str, Any]:
        """What identifies the row in a table."""
        case = self.case
        names = {"case": case.name, "dtype": case.dtype} if case else {}
        return {"key": self.key, "section": self.section, "size": self.size, **names}


def all_jobs(sizes: Sequence[int] = SIZES, only: str = "") -> list[Job]:
    """Every job, the most important first; ``only`` those whose case has the text.

    What the host takes, switches and rivals come before the other sizes, the largest of them last.
    """
    first, *others = sizes
    jobs = [Job("ceilings", None, size) for size in sizes]
    jobs += [Job("compile", case, SMALL) for case in COMPILED]
    jobs += [Job("table", case, first) for case in CASES]
    jobs += [Job("host", case, SMALL) for case in HOSTED]
    jobs += [Job("switches", case, size) for size in (SMALL, MIB) for case in SWITCHED]
    jobs += [Job("rivals", case, first) for case in CASES]
    for size in sorted(others):
        jobs += [Job(section, case, size) for section in ("table", "rivals") for case in CASES]
    return [j for j in jobs if j.case is None or only.lower() in j.case.name.lower()]


def run_job(device: Device, job: Job) -> dict[str, Any]:
    """The row of ``job``."""
    if job.case is None:
        return measure.measure_ceilings(device, job.size)
    if job.section == "compile":
        return measure.measure_compile(device, job.case, job.size)
    if job.section == "switches":
        return measure.measure_case(device, job.case, job.size, _switched())
    makers, missing = device.makers(job.section != "table")
    if job.section == "host":
        makers = {**makers, **_fused_function()}
        row = measure.measure_host(device, job.case, job.size, makers)
    else:
        row = measure.measure_case(device, job.case, job.size, makers)
    row["missing"] = {**missing, **row["missing"]}
    return row


def _switched() -> dict[str, measure.Maker]:
    from .gpu_rivals import switched

    return switched()


def _fused_function() -> dict[str, measure.Maker]:
    from .gpu_rivals import by_fused_function

    return {"@fused": by_fused_function}


def work(
    device: Device,
    jobs: Sequence[Job],
    budget: Budget,
    sink: Sink,
    done: Collection[str] = (),
) -> int:
    """Run ``jobs`` and give each row to ``sink``; 0, or DEVICE_LOST where the rest cannot run."""
    for job in jobs:
        if job.key in done:
            continue
        kind = (job.section, job.size)
        if not budget.fits(kind):
            sink({**job.facts(), "unmeasured": NOT_MEASURED})
            continue
        sink({"begun": job.key})
        since = budget.clock()
        try:
            row = run_job(device, job)
        except Exception as error:  # one failure does not lose the others
            row = {"error": reason(error)}
        budget.spent(kind, since)
        sink({**job.facts(), **row})
        try:
            device.wait()
        except Exception:  # a fault that stays with this process
            return DEVICE_LOST
    return 0


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """The facts, the rows, and the keys of jobs that were begun and have no row."""
    facts: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    begun: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:  # cut off
            continue
        if "begun" in entry:
            begun.append(entry["begun"])
        elif "facts" in entry:
            facts.update(entry["facts"])
        else:
            rows.append(entry)
    written = {row["key"] for row in rows}
    return facts, rows, [key for key in begun if key not in written]


def main(arguments: Sequence[str]) -> int:
    """Measure what the file lacks."""
    path, seconds, only = Path(arguments[0]), float(arguments[1]), arguments[2]
    sections = arguments[3].split(",")
    jobs = [job for job in all_jobs(only=only) if job.section in sections]
    budget = Budget(seconds)
    _, rows, _ = read(path)
    with path.open("a", encoding="utf-8") as file:

        def sink(entry: dict[str, Any]) -> None:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            print(entry.get("begun", ""), file=sys.stderr, end="\n" if "begun" in entry else "")

        from .gpu_device import CudaDevice

        device = CudaDevice()
        sink({"facts": device.facts()})
        return work(device, jobs, budget, sink, {row["key"] for row in rows})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
