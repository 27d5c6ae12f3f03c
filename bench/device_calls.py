"""What a warm call on a device costs the host: ``python -m bench.device_calls [--save]``.

On a driver that does nothing (`tests/stub_device.py`), without allocation, so no GPU is needed, and
none is measured: the driver's own time comes on top. Times are this machine's; the counts beside
them, of calls and of bytecode instructions in Python, are any machine's with this Python.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results" / "device-calls.json"
CALLS, ROUNDS = 2000, 41


def microseconds(call: Callable[[], Any]) -> float:
    """The median over rounds of the mean of some calls."""
    for _ in range(50):
        call()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS)
    return 1e6 * statistics.median(times)


def counted(call: Callable[[], Any]) -> tuple[int, int]:
    """Calls (Python's and C's) and bytecode instructions of one call."""
    found = {"calls": 0, "instructions": 0}

    def profile(_: Any, event: str, __: Any) -> None:
        found["calls"] += event in ("call", "c_call")

    def trace(frame: Any, event: str, _: Any) -> Any:
        frame.f_trace_opcodes = True
        found["instructions"] += event == "opcode"
        return trace

    call()
    sys.setprofile(profile)
    call()
    sys.setprofile(None)
    sys.settrace(trace)
    call()
    sys.settrace(None)
    return found["calls"] - 1, found["instructions"]  # less setprofile's own


def chain(count: int) -> Callable[..., None]:
    """A function of four arrays that is ``count`` launches and makes no array."""

    def step(a: Any, b: Any, c: Any, d: Any) -> None:
        for _ in range(count - 1):
            a += b * c - d
            b[::-1] += a  # reads what another block has written
        a += b * c - d

    return step


def rows(device: Any) -> dict[str, Callable[[], Any]]:
    """What is measured, by name."""
    import cupy

    import fusecuda as fc
    from fusecuda.emit_cuda.straight import EAGER, REPLAYED
    from tests.cupy_host import host

    arrays = [host(np.ones(512, np.float32)) for _ in range(4)]
    found: dict[str, Callable[[], Any]] = {}

    def program(count: int) -> Any:
        made = fc.lower(chain(count), *[np.ones(512, np.float32)] * 4, device="cuda")
        made.run(arrays)
        return made

    one = program(1)
    native = one._program._programs[0]
    runner = native._free[0]
    found["a program of one launch"] = lambda: one.run(arrays)
    found["  its straight lines"] = partial(runner.function(EAGER), arrays)
    found["  four addresses"] = lambda: [device.address(a) for a in arrays]
    found["  the stream"] = device.stream
    start, frame = device.starter(native.kernels.popitem()[1], native.prepared[0]), runner
    found["  one launch"] = lambda: start(0, frame._frames[0].parameters, 0)
    for count in (2, 4, 8):
        made = program(count)
        inner = made._program._programs[0]._free[0]
        launches = made.launches
        found[f"{launches} launches, one by one"] = partial(inner.function(EAGER), arrays)
        if inner.replays:
            found[f"{launches} launches, a graph"] = partial(inner.function(REPLAYED), arrays)
            found[f"{launches} launches, a graph with other addresses"] = _turning(
                inner.function(REPLAYED), [host(np.ones(512, np.float32)) for _ in range(80)]
            )
    fused = fc.fused(chain(1), device="cuda")
    for _ in range(3):
        fused(*arrays)
    found["a fused function of one launch"] = lambda: fused(*arrays)
    assert isinstance(arrays[0], cupy.ndarray)
    return found


def _turning(call: Callable[..., Any], arrays: list[Any]) -> Callable[[], Any]:
    """Calls with arrays that come again after twenty calls."""
    turn = [0]
    sets = [arrays[i : i + 4] for i in range(0, len(arrays), 4)]

    def next_call() -> Any:
        turn[0] = (turn[0] + 1) % len(sets)
        return call(sets[turn[0]])

    return next_call


def main() -> None:
    """Print the table; with ``--save`` keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    from tests.stub_device import install

    with tempfile.TemporaryDirectory() as folder:
        device, driver = install(Path(folder))
        driver.stub_quiet(1)
        table = []
        print(f"{'':46}{'µs':>8}{'calls':>8}{'instructions':>14}")
        for name, call in rows(device).items():
            calls, instructions = counted(call)
            row = {"µs": round(microseconds(call), 2), "calls": calls, "bytecode": instructions}
            print(f"{name:46}{row['µs']:8.2f}{calls:8}{instructions:14}")
            table.append({"what": name, **row})
    if options.save:
        about = {"python": platform.python_version(), "machine": platform.machine(),
                 "driver": "a stub: no GPU, no allocation"}  # fmt: skip
        text = json.dumps({"about": about, "rows": table}, indent=1, ensure_ascii=False)
        RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
