"""CuPy's own device and binding on a driver that writes down what it is told, in a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy")

ROOT = Path(__file__).parents[2]
HEAD = """
import sys
from pathlib import Path
from tests.stub_device import install
device, driver = install(Path(sys.argv[1]))
import numpy as np
import fusecuda as fc
from fusecuda.emit_cuda import cupy_device
from tests.cupy_host import host

def told():
    lines = driver.stub_told().decode().splitlines()
    driver.stub_clear()
    return lines

def step(a, b, c, d):
    for _ in range(3):
        a += b * c - d
        b[::-1] += a

arrays = [host(np.ones(600, np.float32)) for _ in range(4)]
made = fc.lower(step, *[np.ones(600, np.float32)] * 4, device="cuda")
"""


def runs(text: str, folder: Path) -> None:
    """``text`` runs behind HEAD in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + text, folder], cwd=ROOT, capture_output=True, text=True,
        timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_graph_is_what_launches_are(tmp_path: Path) -> None:
    """The first call launches by CuPy's binding; the second one makes a graph of the very same."""
    runs(
        """
made.run(arrays)
first = told()
assert len(first) == made.launches >= 3
assert all(line.startswith("kernel on 0: grid ") for line in first)
address = f"{arrays[0].data.ptr:x}"
assert any(address in line.split() for line in first)
made.run(arrays)
second = told()
assert second[:2] == ["instantiate", "launch on 0"]
assert [line.split(" after ")[0] for line in second[2:]] == [
    line.removeprefix("kernel on 0: ") for line in first]
assert all(line.endswith(f" after {n}") for n, line in enumerate(second[3:]))
made.run(arrays)
assert told() == second[1:]
others = [host(np.ones(600, np.float32)) for _ in range(4)]
made.run(others)
third = told()
assert third[: made.launches] == ["set"] * made.launches
assert any(f"{others[0].data.ptr:x}" in line.split() for line in third)
assert not any(address in line.split() for line in third)
""",
        tmp_path,
    )


def test_the_stream_is_asked_for_once(tmp_path: Path) -> None:
    """A call launches all on the stream that was the current one when it began."""
    runs(
        """
asked = []
from types import SimpleNamespace
def current():
    asked.append(1)
    return SimpleNamespace(ptr=1)
cupy_device._current_stream = current
made.run(arrays)
assert all(line.startswith("kernel on 1:") for line in told())
asked.clear()
made.run(arrays)
assert len(asked) == 1 and told()[1] == "launch on 1"
""",
        tmp_path,
    )


def test_a_further_launch_is_few_instructions(tmp_path: Path) -> None:
    """Of Python: what a warm call does beside is counted too, and a graph has none of it."""
    runs(
        """
from bench.device_calls import counted, rows
driver.stub_quiet(1)
found = {name: counted(call) for name, call in rows(device).items()}
def of(kind):
    return sorted((int(n.split()[0]), c) for n, c in found.items() if n.endswith(kind))
(few, (_, least)), *_, (many, (_, most)) = of("one by one")
assert (most - least) / (many - few) < 25
assert len({instructions for _, (_, instructions) in of("a graph")}) == 1
assert found["a program of one launch"][1] < 200
assert found["a fused function of one launch"][1] < 1200
""",
        tmp_path,
    )
