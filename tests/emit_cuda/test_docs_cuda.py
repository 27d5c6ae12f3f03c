"""docs/cuda.md shows what is emitted: its sources and tables are produced anew and compared.

`--update-goldens` writes them into the file.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda import nvrtc
from fusecuda.emit_cuda.launch import bind
from fusecuda.fusion.assembly import assemble
from fusecuda.fusion.planner import make_plan
from fusecuda.graph.structure import operations
from fusecuda.streams.memory_plan import plan_memory
from tests import emulated, emulator, kernel_estimates, programs
from tests.disassembly import disassembler
from tests.emit_cuda.test_cuda_compile import facts, sources_of
from tests.programs_of_branches import BRANCHES, FORTY

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "cuda.md"
_PART = re.compile(r"(?<=<!-- shown: )(\w+)( -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)
_MANY = 10  # lines of one kind in a row, from which on only some are shown
_CHUNK = "if (start + 512 <= here) {"
SIZES = (
    (64, 96),
    (48, 6000),
)  # short rows and long ones, as in test_cuda_compile.py
COUNTED = (48, 600)  # rows and columns of the arrays whose traffic is counted


@pytest.fixture
def seawater(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example of that name."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    return importlib.import_module("seawater_density")


def spec(*shape: int) -> Any:
    """A float32 argument."""
    return fc.spec(shape, np.float32)


def source(function: Any, *arguments: Any) -> str:
    """The CUDA C of the one kernel of ``function``, as the page shows it."""
    (text,) = fc.lower(function, *arguments).emit("cuda")
    lines = list(_without_repeated_steps(text.rstrip().split("\n")))
    return "```cuda\n" + "\n".join(_without_long_runs(lines)) + "\n```\n"


def _without_repeated_steps(lines: list[str]) -> Iterator[str]:
    """The steps of a chunk are spelled out the first time only."""
    seen, end = False, ""
    for line in lines:
        if end:
            end = "" if line == end else end
        elif line.strip() != _CHUNK or not seen:
            seen = seen or line.strip() == _CHUNK
            yield line
        else:
            indent = line.removesuffix(_CHUNK)
            end = indent + "}"
            yield f"{indent}// … the same four steps"


def _kind(line: str) -> str:
    """What lines have in common of which many in a row are much the same."""
    if re.fullmatch(r" +(const float k\d+,? ?)+", line):
        return "parameters"
    return "values" if re.fullmatch(r" +const float v\d+ = .*;", line) else line


def _without_long_runs(lines: list[str]) -> Iterator[str]:
    for _, group in groupby(lines, _kind):
        run = list(group)
        if len(run) < _MANY:
            yield from run
            continue
        indent = " " * (len(run[0]) - len(run[0].lstrip()))
        yield from (*run[:5], f"{indent}// … {len(run) - 7} lines like these", *run[-2:])


def shown_sources(seawater: ModuleType) -> dict[str, str]:
    """The sources of the page by name; float32 arguments of the shapes that it tells."""
    row = spec(1024)
    return {
        "sum_of_product": source(programs.sum_of_product, *[spec(4096, 4096)] * 3),
        "softmax": source(programs.softmax, spec(4096, 100)),
        "layer_norm": source(programs.layer_norm, spec(4096, 1024), row, row),
        "seawater": source(seawater.density, *[spec(1_000_000)] * 3),
        "transposed_add": source(programs.transposed_add, spec(1000, 2000), spec(2000, 1000)),
    }


def registers() -> str:
    """The registers of a thread in each named program's kernels."""
    rng = np.random.default_rng(0)
    made = {
        (p.name, size): sources_of(p.function, *p.arguments(rng, *size))
        for p in programs.PROGRAMS for size in SIZES
    }  # fmt: skip
    measured = facts([s for found in made.values() for s in found], "sm_90")
    lines = [f"NVRTC {nvrtc.version()}:", "", f"| program | {_heads()} |", "|---|---:|---:|"]
    for program in programs.PROGRAMS:
        cells = [
            ", ".join(str(measured[s.symbol][2]) for s in made[program.name, size])
            for size in SIZES
        ]
        lines.append(f"| {program.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _heads() -> str:
    return " | ".join(f"{n} × {m}" for n, m in SIZES)


def traffic() -> str:
    """The bytes that each named program moves, as the emulator counts them."""
    head = "| program | argument | its bytes | moved | times |"
    lines = [head, "|---|---|---:|---:|---:|"]
    for program in programs.PROGRAMS:
        rng = np.random.default_rng(3)
        arguments = [_single(a) for a in program.arguments(rng, *COUNTED)]
        executable = fc.lower(program.function, *arguments)
        results, device = emulated.run(executable.graph, arguments)
        sizes = [a.nbytes for a in arguments] + [r.nbytes for r in results]
        names = [f"`{name}`" for name in inspect.signature(program.function).parameters]
        names += ["result"] if len(results) == 1 else [f"result {i}" for i in range(len(results))]
        moved = _moved(device, len(sizes))
        for i, (name, size) in enumerate(zip(names, sizes, strict=True)):
            first = program.name if i == 0 else ""
            times = f"{moved[i] / size:.2f}".removesuffix(".00")
            lines.append(f"| {first} | {name} | {size} | {moved[i]} | {times} |")
        lines.append(f"| | workspace | | {moved[len(sizes)]} | |")
    return "\n".join(lines) + "\n"


def _single(array: Any) -> Any:
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def _moved(device: Any, arrays: int) -> Counter[int]:
    """Bytes by base: arguments, results, and behind them all that the program keeps for itself."""
    moved: Counter[int] = Counter()
    for prepared, report in device.reports:
        for i, (base, _) in enumerate(prepared.pointers):
            moved[min(base, arrays)] += report.read[i] + report.written[i]
    return moved


def streams() -> str:
    """Simulated times and peaks of programs with branches, by the number of streams allowed."""
    lines = [
        "| program | streams | lanes | events | simulated µs | peak bytes |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for function, arguments in BRANCHES:
        for count in (1, 2, 3, 4):
            executable = fc.lower(function, *arguments, device="cuda", streams=count)
            chart = executable.timeline()
            end = max(bar.end or 0.0 for bar in chart.bars)
            cells = (count, chart.lanes, chart.events, f"{end:.1f}", executable.memory.peak_bytes)
            name = function.__name__ if count == 1 else ""
            lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    chart = fc.lower(BRANCHES[1][0], *BRANCHES[1][1], device="cuda", streams=4).timeline()
    return "\n".join(lines) + f"\n\n```\n{chart}```\n"


def memory() -> str:
    """What a call holds at most, fused and operation by operation."""
    head = "| program | operations | launches | peak | results of it | unfused peak |"
    lines = [head, "|---|--:|--:|--:|--:|--:|"]
    for function, arguments in FORTY:
        executable = fc.lower(function, *arguments, device="cuda")
        plan = make_plan(executable.graph, {}, fuse=False)
        alone = plan_memory(assemble(plan, {}, bind), 1, alignment=256).peak_bytes
        own = executable.memory
        count = len(operations(executable.graph.nodes()))
        cells = (count, executable.launches, own.peak_bytes, own.result_bytes, alone)
        lines.append(f"| {function.__name__} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def check_page(produced: dict[str, str], update: bool) -> None:
    """The parts of the page are as ``produced``, or are from now on."""
    page = PAGE.read_text(encoding="utf-8")
    if update:
        new = _PART.sub(lambda m: m[1] + m[2] + produced.get(m[1], m[3]), page)
        PAGE.write_text(new, encoding="utf-8")
        return
    parts = {m[1]: m[3] for m in _PART.finditer(page)}
    for name, text in produced.items():
        assert parts[name] == text, f"`make golden` writes {name} anew"


def test_the_page_shows_what_is_emitted(seawater: ModuleType, update_goldens: bool) -> None:
    """Each part of the page that is marked as shown is what is produced now."""
    produced = shown_sources(seawater) | {"streams": streams(), "memory": memory()}
    shown = {m[1] for m in _PART.finditer(PAGE.read_text(encoding="utf-8"))}
    assert shown == {*produced, "traffic", "registers", "shares"}
    check_page(produced, update_goldens)


@pytest.mark.slow
@pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
def test_the_page_shows_what_is_moved(update_goldens: bool) -> None:
    """So is what the emulator counts."""
    check_page({"traffic": traffic()}, update_goldens)


@pytest.mark.slow
@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
def test_the_page_shows_what_is_compiled(update_goldens: bool) -> None:
    """So are the parts that NVRTC makes; another one may allot other registers."""
    if not update_goldens and f"NVRTC {nvrtc.version()}:" not in PAGE.read_text(encoding="utf-8"):
        pytest.skip("the page is of another NVRTC")
    produced = {"registers": registers()}
    if disassembler() is not None:
        produced["shares"] = kernel_estimates.table()
    check_page(produced, update_goldens)
