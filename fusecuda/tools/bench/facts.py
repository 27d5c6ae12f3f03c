"""Facts: what the figures depend on."""

from __future__ import annotations

import datetime
import os
import platform
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy

from ...api import info, lower
from ..measure import copy_bandwidth
from ..profile import steps_of


def facts_of(device: str) -> dict[str, Any]:
    """The machine, the device, how busy it is, and versions."""
    entries = info()
    facts = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "device": device,
        "processors": os.cpu_count(),
        "threads": entries["threads"],
        "load average before": f"{os.getloadavg()[0]:.1f}",
        "compiler": entries["nvrtc" if device == "cuda" else "compiler"],
        "Python": platform.python_version(),
        "NumPy": numpy.__version__,
        "fusecuda": entries["fusecuda"],
    }
    if device == "cuda":
        cupy: Any = sys.modules["cupy"]
        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        facts["machine"] = properties["name"].decode()
        facts["CuPy"] = cupy.__version__
    return facts


def ceilings(device: str) -> dict[str, int]:
    """What the device itself reaches, measured: bytes a second of a copy, operations a second."""
    found = {"copy, bytes/s": copy_bandwidth(device), "operations/s": _operation_rate(device)}
    return {name: int(float(f"{value:.3g}")) for name, value in found.items()}


def _polynomials(x: Any) -> Any:
    """Eight of them that do not wait for each other: 143 operations an element."""
    parts = [x + k for k in range(8)]
    for _ in range(8):
        parts = [p * 0.5 + 0.25 for p in parts]
    return sum(parts[1:], parts[0])


def _operation_rate(device: str) -> float:
    """The most of some runs: on the CPU in its caches."""
    values = numpy.ones(1 << (18 if device == "cpu" else 24))
    cupy: Any = sys.modules.get("cupy")
    array = values if device == "cpu" else cupy.asarray(values)
    executable = lower(_polynomials, array, device=device)
    best = float("inf")
    for _ in range(10):
        begin = time.perf_counter()
        executable(array)
        if device != "cpu":
            cupy.cuda.get_current_stream().synchronize()
        best = min(best, time.perf_counter() - begin)
    return sum(step.flops for step in steps_of(executable)) / best


def machine() -> str:
    """The processor's name."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def file_name(facts: dict[str, Any]) -> str:
    """A name for the files of a run, by device, machine and date."""
    words = f"bench-{facts['device']}-{facts['machine']}-{facts['date']}"
    return re.sub(r"[^\w.]+", "-", words).strip("-").lower()
