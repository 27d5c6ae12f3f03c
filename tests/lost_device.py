"""A plugin for tests on a GPU, with several processes (``-n 8``): what fails is told at once.

A fault of a kernel stays with its process, so that every later test would fail in it: the process
ends, pytest tells a crash, and another one goes on. Each failure's traceback, and each test that is
begun or is slow, go to the file that FUSECUDA_FAULTS names, for a run that is stopped to tell them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SLOW_S = 8.0


def _tell(text: str, name: str = "FUSECUDA_FAULTS", ending: str = "") -> None:
    place = os.environ.get(name)
    if place:
        with Path(place + ending).open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    """Tell which test is begun: of one that never ends this is all that is known."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        _tell(f"{time.strftime('%X')} {worker} {nodeid}", ending=".begun")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """After a failure, look if the device still answers."""
    outcome = yield
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        return
    if call.duration > SLOW_S:
        _tell(f"== {item.nodeid}: {call.when} took {call.duration:.1f} s")
    if call.excinfo is None:
        return
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        _tell(f"\n== {item.nodeid}\n{report.longreprtext}")
    import cupy

    try:
        cupy.cuda.runtime.deviceSynchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        _tell(f"== {item.nodeid}: the device is lost: {error}")
        sys.stderr.flush()
        os._exit(9)
