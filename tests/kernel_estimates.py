"""What share of an H100's bandwidth kernels can reach, estimated from their machine code.

By Little's law a processor moves in one latency what its threads have under way. So a stretch of
code takes each thread as many latencies as it waits, all resident threads at a time; it is no
faster than the processors issue its instructions, nor than memory. What the last block does alone
comes on top. Nothing here is measured, and caches, banks and queues are left out: a kernel that
gets a low share is slow, one that gets a high one may be.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fusecuda as fc
from fusecuda.emit_cuda.choice import LOOP, SCAN
from fusecuda.emit_cuda.launch import CudaBound
from fusecuda.emit_cuda.source import CudaSource
from fusecuda.fusion import kernel_ir as ir
from tests import emulated
from tests.machine_code import Code, Stretch, read

LATENCY = 700e-9  # of a load from memory, seconds
START = 300e-9  # until a block's first load is under way, and for the next block to follow
BANDWIDTH = 2.9e12  # bytes a second that copies reach of the 3.35e12
PROCESSORS = 132
ISSUE = PROCESSORS * 128 * 1.7e9  # instructions of threads a second
REGISTERS, SHARED, THREADS, BLOCKS = 65536, 227 << 10, 2048, 32  # of a processor


@dataclass(frozen=True)
class Estimate:
    """One kernel: what its hot stretch is like, and the share that follows."""

    registers: int
    blocks: int  # of the launch
    resident: float  # threads of a processor
    widest: int  # bytes of an access
    in_flight: float  # bytes of a processor
    instructions: float  # for each element
    share: float


@dataclass(frozen=True)
class Launched:
    """A kernel of a case with what it is given."""

    bound: CudaBound
    source: CudaSource
    least: int  # bytes that must be moved


def launches(function: Callable[..., Any], *arguments: Any) -> list[Launched]:
    """The launches of ``function``; what each must move are the elements it touches, once."""
    executable = fc.lower(function, *arguments)
    assembly, sources = emulated.assembled(executable.graph, executable.strides)
    found = []
    for step, source in zip(assembly.steps, sources, strict=True):
        if source is not None and isinstance(step, CudaBound) and step.launched:
            found.append(Launched(step, source, _least(step)))
    return found


def _least(bound: CudaBound) -> int:
    """The bytes of what the forms walk; overlapping reads of one buffer count once."""
    sizes: dict[tuple[int, bool], int] = {}
    for (f, form), buffer in zip(_addresses(bound), bound.buffers, strict=True):
        key = buffer, form.store
        sizes[key] = max(sizes.get(key, 0), _walked_bytes(bound, f))
    return sum(sizes.values())


def _read_again(bound: CudaBound) -> int:
    """The bytes of what stages read that others have read before, as if no cache had it."""
    forms = {f: buffer for (f, _), buffer in zip(_addresses(bound), bound.buffers, strict=True)}
    seen: set[int] = set()
    again = 0
    for stage in bound.lowered.ir.stages:
        loads = {s.form for s in stage.body if isinstance(s, ir.Load)}
        again += sum(_walked_bytes(bound, f) for f in loads if forms[f] in seen)
        seen |= {forms[f] for f in loads}
    return again


def _addresses(bound: CudaBound) -> list[tuple[int, ir.Form]]:
    return [(f, form) for f, form in enumerate(bound.lowered.ir.forms) if form.dtype is not None]


def _walked_bytes(bound: CudaBound, form: int) -> int:
    """The bytes of the elements that a form walks, each once."""
    axes = [a for a in bound.integers if a[0] in "nm" and a[1:].isdigit()]
    dtype = bound.lowered.ir.forms[form].dtype
    assert dtype is not None
    walked = [bound.integers[a] for a in axes if bound.integers[f"s{form}_{a}"]]
    return math.prod(walked) * dtype.itemsize


def estimate(launched: Launched, code: Code) -> Estimate:
    """What ``code`` can reach in this launch."""
    bound = launched.bound
    threads = bound.block[0] * bound.block[1]
    shared = code.shared + bound.shared
    allocated = -(-code.registers * 32 // 256) * 256 * -(-threads // 32)
    fit = min(BLOCKS, THREADS // threads, REGISTERS // allocated,
              SHARED // (shared + 1024))  # fmt: skip
    at_once = min(fit, bound.grid / PROCESSORS)
    resident = at_once * threads
    elements = bound.integers["rows"] * bound.integers["length"]
    most = _widest_load(bound)
    in_turn = bound.variant.skeleton == SCAN  # its first atomic is a ticket; its loops wait
    main = code.stretch(0, code.end if in_turn else code.meeting, most)
    is_loop = in_turn or bound.variant.skeleton == LOOP  # loops are only of tails
    loops = [] if is_loop else code.loops(0, code.meeting)
    everybody = resident * PROCESSORS
    waiting = instructions = 0.0
    own = elements / (bound.grid * threads)
    hot = [code.stretch(*loop, most) for loop in loops] or [main]
    passes = _read_bytes(bound)
    if len(hot) != len(passes):  # a loop unrolled, and another for what is left
        hot, passes = [max(hot, key=lambda s: s.loaded)], passes[:1]
    for stretch, read_bytes in zip(hot, passes, strict=True):
        each = max(1.0, stretch.loaded / read_bytes) if loops else own
        waiting += elements / each / everybody * max(stretch.waits, 1) * LATENCY
        instructions += stretch.instructions / each
    issuing = instructions * elements / ISSUE
    turns = bound.grid / (at_once * PROCESSORS)
    told = 3 * _levels(bound.integers["tiles"]) if in_turn else 0  # written, seen, and read
    waiting += turns * (START + (main.fences + told) * LATENCY)
    best = max(hot, key=lambda s: s.loaded)
    in_flight = best.in_flight * resident
    moved = launched.least + _read_again(bound)
    moved += 2 * bound.workspace * bool(bound.lowered.ir.late)
    total = max(waiting, issuing, moved / BANDWIDTH) + alone(bound, code)
    return Estimate(
        code.registers, bound.grid, resident, best.widest, in_flight, instructions,
        launched.least / BANDWIDTH / total,
    )  # fmt: skip


def _levels(tiles: int) -> int:
    """How many times groups of tiles are grouped, by 32."""
    return 1 + _levels(-(-tiles // 32)) if tiles > 32 else 1


def _widest_load(bound: CudaBound) -> int:
    """The bytes of the widest load, where packs of rows that are not whole are read one by one."""
    if not bound.variant.packed or bound.variant.unit is not None:
        return 16
    return max(form.dtype.itemsize for form in bound.lowered.ir.forms if form.dtype is not None)


def _read_bytes(bound: CudaBound) -> list[int]:
    """The bytes that an element's turn loads, for each stage that loads."""
    found = []
    for stage in bound.lowered.ir.stages:
        loads = {s.form: s.dtype.itemsize for s in stage.body if isinstance(s, ir.Load)}
        moved = [n for f, n in loads.items() if _moves(bound, f)]
        if moved:
            found.append(sum(moved))
    return found or [1]


def _moves(bound: CudaBound, form: int) -> bool:
    return any(bound.integers[k] for k in bound.integers if k.startswith(f"s{form}_n"))


def alone(bound: CudaBound, code: Code) -> float:
    """The seconds that the last blocks take, when no others run."""
    kernel = bound.lowered.ir
    threads = bound.block[0] * bound.block[1]
    loops = [code.stretch(*loop) for loop in code.loops(code.meeting)]
    seconds = 0.0
    if kernel.splittable and "parts" in bound.integers:
        parts = bound.integers["parts"]
        reduces = sum(len(stage.reduces) for stage in kernel.stages)
        own, loops = loops[:reduces], loops[reduces:]
        if parts > 1:
            seconds += sum(_joining(bound, parts, s) for s in own) + LATENCY
    rows = bound.integers["rows"]
    for reduce, stretch in zip(kernel.outer, loops, strict=False):
        own_rows = min(rows, bound.integers.get("group_rows", rows))
        turns = own_rows / (threads * max(1, stretch.loaded / reduce.value_dtype.itemsize))
        seconds += max(1.0, turns) * max(1, stretch.waits) * LATENCY
    return seconds + LATENCY * bool(kernel.outer)


def _joining(bound: CudaBound, parts: int, stretch: Stretch) -> float:
    """The seconds to join the parts of a row: by each column's threads, or by a block."""
    lanes = bound.block[1] if "tiles" in bound.integers else bound.block[0]
    return math.ceil(parts / lanes / max(1, stretch.loads)) * max(1, stretch.waits) * LATENCY


def spec(*shape: int, dtype: str = "f4") -> Any:
    """An argument."""
    return fc.spec(shape, np.dtype(dtype))


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * gain + bias


def _cross_entropy(logits: Any, labels: Any) -> Any:
    below = logits - logits.max(axis=1, keepdims=True)
    total = np.log(np.exp(below).sum(axis=1))
    return (total - below[np.arange(len(labels)), labels]).mean()


def _norms(x: Any) -> Any:
    return np.sqrt((x * x).sum(axis=1)).sum()


def _batch_norm(x: Any) -> Any:
    return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)


def _stencil(u: Any) -> Any:
    return u[1:-1, 1:-1] + 0.1 * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    )


def _heat(u: Any) -> None:
    within = (slice(1, -1),) * u.ndim
    around = -2 * u.ndim * u[within]
    for axis in range(u.ndim):
        for side in (slice(None, -2), slice(2, None)):
            around = around + u[(*within[:axis], side, *within[axis + 1 :])]
    u[within] += 0.1 * around


def _relaxed(u: Any) -> Any:
    return (u[2:] + u[:-2]) * 0.5 - u[1:-1]


def _horner(x: Any) -> Any:
    y = x
    for k in range(12):
        y = y * x + k
    return y


BIG = 1 << 26
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "x + y": (lambda x, y: x + y, (spec(BIG),) * 2),
    "x + y, float64": (lambda x, y: x + y, (spec(BIG, dtype="f8"),) * 2),
    "x + y, float16": (lambda x, y: x + y, (spec(BIG, dtype="f2"),) * 2),
    "polynomial of degree 13": (_horner, (spec(BIG),)),
    "exp(-x * x)": (lambda x: np.exp(-x * x), (spec(BIG),)),
    "where(x > 0, x, y)": (lambda x, y: np.where(x > 0, x, y), (spec(BIG),) * 2),
    "x > y": (lambda x, y: x > y, (spec(BIG),) * 2),
    "rows + row": (lambda x, r: x + r, (spec(8192, 8192), spec(8192))),
    "rows + column": (lambda x, c: x + c, (spec(8192, 8192), spec(8192, 1))),
    "odd rows + row": (lambda x, r: x + r, (spec(8192, 8191), spec(8191))),
    "x[:, 1:] * 2": (lambda x: x[:, 1:] * 2, (spec(8192, 8192),)),
    "x[1:] - x[:-1]": (lambda x: x[1:] - x[:-1], (spec(BIG),)),
    "three points": (_relaxed, (spec(BIG),)),
    "five points": (_stencil, (spec(8192, 8192),)),
    "heat in place": (_heat, (spec(BIG),)),
    "heat in place, 2-D": (_heat, (spec(8192, 8192),)),
    "heat in place, 3-D": (_heat, (spec(512, 512, 256),)),
    "x[:, ::2] + 1": (lambda x: x[:, ::2] + 1, (spec(8192, 8192),)),
    "x + y.T": (lambda x, y: x + y.T, (spec(8192, 8192),) * 2),
    "x.T * 2": (lambda x: x.T * 2, (spec(8192, 8192),)),
    "sum": (lambda x: x.sum(), (spec(BIG),)),
    "sum, float64": (lambda x: x.sum(), (spec(BIG, dtype="f8"),)),
    "sum(x * y)": (lambda x, y: (x * y).sum(), (spec(BIG),) * 2),
    "max": (lambda x: x.max(), (spec(BIG),)),
    "argmax": (lambda x: x.argmax(), (spec(BIG),)),
    "running sum": (np.cumsum, (spec(BIG),)),
    "running sum, float64": (np.cumsum, (spec(BIG, dtype="f8"),)),
    "running sums of rows of 1000": (lambda x: np.cumsum(x, axis=1), (spec(1 << 16, 1000),)),
    "running sums of columns": (lambda x: np.cumsum(x, axis=0), (spec(1000, 1 << 16),)),
    "sum of rows of 8": (lambda x: x.sum(axis=1), (spec(1 << 23, 8),)),
    "sum of rows of 100": (lambda x: x.sum(axis=1), (spec(1 << 19, 100),)),
    "sum of rows of 1000": (lambda x: x.sum(axis=1), (spec(1 << 16, 1000),)),
    "sum of rows of 1001": (lambda x: x.sum(axis=1), (spec(1 << 16, 1001),)),
    "argmax of rows of 1000": (lambda x: x.argmax(axis=1), (spec(1 << 16, 1000),)),
    "softmax of 128": (_softmax, (spec(1 << 19, 128),)),
    "softmax of 1001": (_softmax, (spec(1 << 16, 1001),)),
    "softmax of 1024": (_softmax, (spec(1 << 16, 1024),)),
    "softmax of 8192": (_softmax, (spec(1 << 13, 8192),)),
    "softmax of 32768": (_softmax, (spec(1 << 11, 32768),)),
    "softmax of 65536": (_softmax, (spec(1 << 10, 65536),)),
    "layer norm of 1024": (_layer_norm, (spec(1 << 16, 1024), spec(1024), spec(1024))),
    "norms of rows of 8, summed": (_norms, (spec(1_000_000, 8),)),
    "norms of rows of 64, summed": (_norms, (spec(1_000_000, 64),)),
    "cross-entropy of 1000": (_cross_entropy, (spec(65536, 1000), spec(65536, dtype="i8"))),
    "column sums": (lambda x: x.sum(axis=0), (spec(8192, 8192),)),
    "column sums, float64": (lambda x: x.sum(axis=0), (spec(8192, 8192, dtype="f8"),)),
    "column sums of 64": (lambda x: x.sum(axis=0), (spec(1 << 20, 64),)),
    "column sums of 1000": (lambda x: x.sum(axis=0), (spec(1 << 16, 1000),)),
    "column products summed": (lambda x, y: (x * y).sum(axis=0), (spec(8192, 8192),) * 2),
    "column maxima": (lambda x: x.max(axis=0), (spec(8192, 8192),)),
    "column argmax": (lambda x: x.argmax(axis=0), (spec(8192, 8192),)),
    "sums of columns squared": (lambda x: (x.sum(axis=0) ** 2).sum(), (spec(8192, 8192),)),
    "column mean and deviation": (lambda x: (x.mean(axis=0), x.std(axis=0)), (spec(8192, 8192),)),
    "batch norm": (_batch_norm, (spec(8192, 8192),)),
    "batch norm of 1000": (_batch_norm, (spec(1000, 65536),)),
}  # fmt: skip


# Registers, access, KB in flight, instructions and share in percent of each case's kernels as they
# were emitted before they were mended for what such a table showed (revision a032891).
BEFORE = Path(__file__).parent / "goldens" / "kernels_before.json"


def table(arch: str = "sm_90") -> str:
    """All cases, one row for each kernel, and what they were before."""
    before = json.loads(BEFORE.read_text(encoding="utf-8"))
    found = {name: launches(f, *arguments) for name, (f, arguments) in CASES.items()}
    codes = read([one.source for many in found.values() for one in many], arch)
    lines = [
        "| kernel | blocks | registers | access | KB in flight | instructions | share | before |",
        "|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for name, many in found.items():
        for number, one in enumerate(many):
            e = estimate(one, codes[one.source.symbol])
            cells = [e.blocks, e.registers, e.widest, f"{e.in_flight / 1024:.0f}",
                     f"{e.instructions:.0f}", f"{100 * e.share:.0f} %"]  # fmt: skip
            lines.append(f"| {name if number == 0 else ''} | {' | '.join(map(str, cells))} |")
            lines[-1] += f" {_told(before.get(name, [])[number : number + 1])} |"
    return "\n".join(lines) + "\n"


def _told(row: list[list[int]]) -> str:
    """A kernel as it was before, in a cell; nothing for one that was not there."""
    if not row:
        return ""
    ((registers, access, in_flight, instructions, share),) = row
    return f"{registers}, {access}, {in_flight}, {instructions}, {share} %"
