"""A plugin for tests on a GPU: a process that has lost the device ends, and another one goes on.

A fault of a kernel stays with its process, so that every later test would fail in it. With several
processes (``-n 8``) the one test at fault is told as a crash; its traceback goes to the file that
FUSECUDA_FAULTS names, or to the standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """After a failure, look if the device still answers."""
    outcome = yield
    if call.excinfo is None or not os.environ.get("PYTEST_XDIST_WORKER"):
        return
    import cupy

    try:
        cupy.cuda.runtime.deviceSynchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        report = outcome.get_result()  # type: ignore[attr-defined]
        text = f"\n== {item.nodeid}: {error}\n{report.longreprtext}\n"
        told = os.environ.get("FUSECUDA_FAULTS")
        if told:
            with Path(told).open("a", encoding="utf-8") as file:
                file.write(text)
        else:
            sys.stderr.write(text)
        sys.stderr.flush()
        os._exit(9)
