"""Kept plans: a second process neither plans nor compiles, and has the same bits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import engine, kept
from fusecuda.back_ends import BACK_ENDS
from fusecuda.capture.record import plans
from fusecuda.codegen.cache import default_cache, pack_entry
from fusecuda.codegen.records import to_text
from fusecuda.cpu_fallback import threads
from fusecuda.cpu_fallback.drafting import blueprint
from fusecuda.executable import Executable
from fusecuda.graph import build
from fusecuda.graph.node import Graph
from fusecuda.graph.text import parse_hlo, print_hlo
from fusecuda.options import Options
from fusecuda.tools.programs.rows import PROGRAMS
from tests.marks import at_length

ROOT = Path(__file__).parents[3]
OWN_FILES = kept.own_files

PROGRAM = """
import hashlib, sys
import numpy as np
import fusecuda as fc

@fc.fused
def program(x, u, table, at, mask, dt):
    u[1:-1] += dt * (u[2:] - 2 * u[1:-1] + u[:-2])
    y = np.tanh(x @ x.T + 0.1) * x.mean(axis=1, keepdims=True)
    return y - y.max(), table[at] * 2, np.sort(y, axis=1) + 1, x[mask] + dt, y.astype("f2")

r = np.random.default_rng(0)
x, u = r.standard_normal((37, 37)), r.random(1000)
given = x, u, np.arange(10.0), np.array([3, -1, 0]), x > 1, 0.1
found = program(*given), program(*given)
digest = hashlib.sha256(b"".join(a.tobytes() for results in found for a in results))
digest.update(u.tobytes())
try:
    program(*given[:3], np.array([3, 10, 0]), *given[4:])
except IndexError as error:
    digest.update(str(error).encode())
late = {"fusecuda.fusion.planner", "fusecuda.codegen.reached"}  # what plans, and cuts texts
print(digest.hexdigest(), fc.compile_count(), not late.isdisjoint(sys.modules))
print(fc.__file__, file=sys.stderr)
"""


@pytest.fixture(autouse=True)
def kept_here(monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    monkeypatch.setattr(kept, "IS_ON", True)
    monkeypatch.setattr(kept, "own_files", lambda: "as loaded")  # they may be edited meanwhile
    plans.forget()


def started(tmp_path: Path) -> subprocess.Popen[str]:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if found := next(filter(shutil.which, ("cc", "gcc", "clang")), None):
        environment["FUSECUDA_CC"] = f"{found} -O0"  # these tests are about plans
    return subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment
    )


def told(process: subprocess.Popen[str]) -> tuple[str, int, bool]:
    """The digest of what the program has computed, runs of the compiler, and whether it planned."""
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    digest, compiled, planned = out.split()
    return digest, int(compiled), planned == "True"


def test_a_second_process_plans_and_compiles_nothing(tmp_path: Path) -> None:
    digest, compiled, planned = told(started(tmp_path))
    assert compiled and planned
    assert told(started(tmp_path)) == (digest, 0, False)


@at_length
def test_processes_that_race_have_the_same_bits(tmp_path: Path) -> None:
    racing = [started(tmp_path) for _ in range(3)]
    digests = {told(process)[0] for process in racing}
    assert len(digests) == 1
    assert told(started(tmp_path)) == (*digests, 0, False)


# --- keys

HLO = """HloModule region
  %0 = f64[8] parameter(0)
  %1 = f64[] constant(0x0000000000000000)
  %2 = s64[8] parameter(1)
  %3 = f64[8] gather(%0, %2) // @ here.py:1
  %4 = f64[8] add(%3, %1)
ROOT (%4)
"""


def key(text: str = HLO, strides: Any = {}, **chosen: Any) -> str | None:  # noqa: B006
    return kept.key_of(parse_hlo(text), strides, Options(**chosen))


def test_equal_graphs_have_one_key() -> None:
    assert key() == key(HLO.replace("%4", "%9")) is not None
    assert key() == key(HLO.replace("here.py:1", "there.py:2"))
    assert key(strict=True) == key()  # it is no matter of plans


@pytest.mark.parametrize(
    "change",
    [
        {"text": HLO.replace("0x00", "0x80")},  # -0.0
        {"text": HLO.replace("add(%3, %1)", "add(%3, %1) // @ here.py:1")},
        {"text": HLO.replace("add(%3, %1)", "add(%3, %1) // @ here.py:2")},
        {"text": HLO.replace("[8]", "[9]")},
        {"text": HLO.replace("ROOT (%4)", "ROOT (%4, %3)")},
        {"text": HLO.replace("ROOT (%4)", "ROOT (%4 -> 0)")},
        {"strides": {0: (2,)}},
        {"strides": {1: (2,)}},
    ],
)
def test_what_a_plan_depends_on_is_in_its_key(change: Any) -> None:
    other = key(**change)
    assert other is not None and other != key()


def test_types_that_are_no_kernels_are_told_apart() -> None:
    def sorted_as(kind: Any) -> str | None:
        x = build.parameter(0, (4,), np.dtype(kind))
        graph = Graph((x,), (build.library("sort", [x], (4,), x.dtype),))
        if np.dtype(kind).kind in "fi":
            assert parse_hlo(print_hlo(graph)).outputs[0].dtype == x.dtype
        return kept.key_of(graph, {}, Options())

    keys = [sorted_as(kind) for kind in ("f2", ">f2", "longdouble", "f8", ">f8", ">i8")]
    assert None not in keys and len(set(keys)) == len(keys) - (np.dtype("longdouble") == "f8")
    assert sorted_as("V8") is sorted_as([("a", "f8")]) is None


def test_threads_machines_and_versions_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [key()]
    cpu = BACK_ENDS["cpu"]
    changes: list[Callable[[], Any]] = [
        lambda: monkeypatch.setattr(threads._process, "count", 7 + threads.thread_count()),
        lambda: monkeypatch.setattr(np, "__version__", "2.99"),
        lambda: monkeypatch.setattr(kept, "own_files", lambda: "others"),
        lambda: monkeypatch.setitem(
            BACK_ENDS, "cpu", replace(cpu, machine=lambda: replace(cpu.machine(), rows=9))
        ),
        lambda: monkeypatch.setitem(
            BACK_ENDS, "cpu", replace(cpu, keeps=cpu.keeps and cpu.keeps._replace(facts=dict))
        ),
    ]
    for change in changes:
        change()
        known.append(key())
    assert None not in known and len(set(known)) == len(known)


@pytest.mark.parametrize("name", ["FUSECUDA_VERIFY=1", "FUSECUDA_FUSE=0", "FUSECUDA_DUMP=dumps"])
def test_nothing_is_kept_where_planning_is_to_be_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*name.split("="))
    assert key() is None


def test_checked_code_and_other_devices_keep_nothing() -> None:
    assert key(check=0.5) is None
    assert key(device="cuda") is None


def test_files_that_have_changed_since_they_were_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "IMPORTED", Path(engine.__file__).stat().st_mtime_ns)
    assert OWN_FILES.__wrapped__() is None
    monkeypatch.setattr(kept, "IMPORTED", time.time_ns())
    assert OWN_FILES.__wrapped__() is not None


# --- entries


def kept_plan() -> tuple[str, Graph, Executable]:
    graph, own = parse_hlo(HLO), key()
    assert own is not None
    executable = engine.build(graph, {}, Options())
    kept.keep(own, graph, executable)
    return own, graph, executable


def found(own: str, graph: Graph) -> Executable | None:
    return kept.found(own, graph, {}, Options(), engine.build)


def test_what_is_kept_tells_and_runs_as_what_was_planned() -> None:
    own, graph, executable = kept_plan()
    again = found(own, graph)
    assert again is not None and again.planned is None
    x, at = np.arange(8.0), np.array([7, -8, 0, 1, 2, 3, 4, 5])
    assert again.run([x, at])[0].tobytes() == executable.run([x, at])[0].tobytes()  # type: ignore[union-attr]
    assert (again.names, again.sources) == (executable.names, executable.sources)
    name = executable.names[0]
    assert plans._planned(executable) == f"5 nodes planned as 1 launch ({name})"
    assert plans._planned(again) == f"5 nodes found on the disk as 1 launch ({name})"
    assert (again.seen, again.written, again.largest) == (executable.seen, frozenset(), 64)
    with pytest.raises(IndexError, match=r"out of bounds.*here.py:1"):
        again.run([x, at + 8])
    moved = found(own, parse_hlo(HLO.replace("here.py:1", "there.py:2")))
    assert moved is not None
    with pytest.raises(IndexError, match=r"out of bounds.*there.py:2"):
        moved.run([x, at + 8])
    assert again.planned is None  # so far nobody has asked
    assert again.explain(full=True) == executable.explain(full=True)
    assert again.kernels == executable.kernels
    assert again.emit("cuda") == executable.emit("cuda")


def test_what_is_kept_is_interpreted_without_a_plan() -> None:
    """As while its kernels are compiled, which may have been lost."""
    own, graph, executable = kept_plan()
    again = found(own, graph)
    assert again is not None
    x, at = np.arange(8.0), np.array([7, -8, 0, 1, 2, 3, 4, 5])
    assert again._interpret([x, at])[0].tobytes() == executable.run([x, at])[0].tobytes()  # type: ignore[union-attr]
    assert again.planned is None
    assert again.hlo == executable.hlo


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda payload: payload[:-1],
    "of another kind": lambda _: to_text([1, 2]).encode(),
    "of another length": lambda _: to_text((["f"], [None], 8)).encode(),
    "no text": lambda _: b"\xff\0",
    "not of ours": lambda _: b'[["os.system"], [[0, "exit 1"]], [0]]',
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_other_entries_are_none(damage: str, cache_folder: Path) -> None:
    own, graph, _ = kept_plan()
    payload = default_cache().load(own)
    assert payload is not None
    (path,) = cache_folder.glob(f"{own}*")
    path.write_bytes(pack_entry(own, DAMAGE[damage](payload)))
    assert found(own, graph) is None
    assert not path.exists()
    path.write_bytes(pack_entry(own, payload)[:-1])
    assert found(own, graph) is None


def test_the_plans_of_all_named_programs_can_be_kept() -> None:
    known = 0
    for program in PROGRAMS:
        try:
            planned = fc.lower(program.make(np), *program.arguments(1000))
        except fc.NotFusedError:  # it is more than one plan
            continue
        graph, strides = planned.recorded, planned.strides
        own = kept.key_of(graph, strides, Options())
        assert own is not None
        kept.keep(own, graph, planned)
        again = kept.found(own, graph, strides, Options(), engine.build)
        assert again is not None, program.name
        assert to_text(again.native.args) == to_text(  # type: ignore[attr-defined]
            (blueprint(planned.assembly, planned.sources, planned.memory), planned.sources)
        )
        known += 1
    assert known > len(PROGRAMS) // 2
