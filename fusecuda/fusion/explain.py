"""Explain: what shares a kernel, what does not and why, and the bytes that each kernel moves."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..graph.node import Node
from ..graph.structure import operations
from ..words import counted
from .assembly import Assembly
from .kernel_ir import Compute, Gather, Scan, Scatter, Search, Statement
from .lowering import Access, Lowered
from .walk import Launch


@dataclass(frozen=True, slots=True)
class KernelSummary:
    """One step in figures; ``header`` is the comment that heads its source."""

    name: str
    kind: str
    header: str
    bytes_read: int
    bytes_written: int
    flops: int


def summarize(step: Launch | Node, assembly: Assembly) -> KernelSummary:
    """The figures of one step: bytes at least read and written, operations of the op table."""
    if isinstance(step, Node):
        name = step_name(step)
        read = sum(o.nbytes for o in step.operands)
        return KernelSummary(name, "library", "", read, step.nbytes, _library_flops(name, step))
    lowered = step.lowered
    read = _bytes(lowered, store=False)
    written = _bytes(lowered, store=True)
    rows = math.prod(lowered.row_shape)
    body = sum(len(s.reduces) + len(s.cross) + _count(s.body) for s in lowered.ir.stages)
    heads = _count(lowered.ir.tail) + sum(_count(s.head) for s in lowered.ir.stages)
    flops = lowered.work * body + rows * heads + _count(lowered.ir.final)
    flops += math.prod(lowered.shape) * _count(lowered.ir.foot)
    kind = "resident" if lowered.ir.resident else _kind(lowered)
    return KernelSummary(step_name(step), kind, _header(step, assembly), read, written, flops)


def step_name(step: Launch | Node) -> str:
    """What a kernel or a library call is called."""
    if isinstance(step, Node):
        return str(getattr(step.attr, "name", step.op))
    return step.lowered.ir.name


def launch_names(assembly: Assembly) -> list[str]:
    """What each launch is called: by its kernels, each name once with its count."""
    found = []
    for company in assembly.launches:
        names = Counter(step_name(assembly.steps[n]) for n in company)
        parts = [name if count == 1 else f"{count} × {name}" for name, count in names.items()]
        more = [f"{len(parts) - _NAMED} more"] if len(parts) > _NAMED + 1 else parts[_NAMED:]
        found.append(" + ".join([*parts[:_NAMED], *more]))
    return found


def _library_flops(name: str, node: Node) -> int:
    """Multiplications and additions of a matrix product; of other functions nobody knows."""
    if name not in ("matmul", "dot") or not node.operands or not node.operands[0].shape:
        return 0
    return 2 * node.size * node.operands[0].shape[-1]


def recorded_lines(assembly: Assembly) -> list[dict[str, int]]:
    """For each step the lines that recorded its operations, and the bytes that those would move.

    The line of a step's last operation comes last. Empty where lines were not recorded.
    """
    found = []
    for step in assembly.plan.steps:
        if isinstance(step, Node):
            nodes = [step]
        else:
            cones = step.cones.items()
            nodes = [n for root, r in cones for n in (*(n for n, _ in r.inlined), root)]
        lines: dict[str, int] = {}
        for node in nodes:
            if node.line is not None:
                lines[node.line] = lines.pop(node.line, 0) + bytes_alone([node])
        found.append(lines)
    return found


def bytes_alone(nodes: Sequence[Node]) -> int:
    """The bytes that ``nodes``, the last of them the result, move if one kernel does just them.

    A view is no more than what it shows, an update no more than the slice.
    """
    inside = set(nodes)
    read: dict[Node, int] = {}
    for node in nodes:
        operands = node.operands[1:] if node.writes else node.operands
        for o in operands:
            if o not in inside and o.op != "constant":
                seen = min(o.nbytes, node.nbytes) if node.op in ("index", "gather") else o.nbytes
                if o.op == "index":
                    seen = min(seen, o.operands[0].nbytes)
                read[o] = max(read.get(o, 0), seen)
    result = nodes[-1].operands[1] if nodes[-1].writes else nodes[-1]
    return result.nbytes + sum(read.values())


def _count(statements: Iterable[Statement]) -> int:
    """How many compute: operations but for conversions, scans, and what is combined in memory."""
    return sum(
        isinstance(s, Scan) or (isinstance(s, Compute | Scatter) and s.op not in ("convert", None))
        for s in statements
    )


def _bytes(lowered: Lowered, store: bool) -> int:
    """Bytes of distinct elements touched, each array counted once and at most whole.

    What is gathered may be any elements: as many as there are indices. What is searched may be all.
    """
    total: dict[int, int] = {}
    size: dict[int, int] = {}
    domain = lowered.row_shape + lowered.shape
    gathered = {s.form for s in lowered.ir.statements() if isinstance(s, Gather)}
    searched = {s.form for s in lowered.ir.statements() if isinstance(s, Search)}
    for f, access in enumerate(lowered.accesses):
        if access.node is not None and access.store == store:
            key, touched = id(access.node), _touched(access, domain)
            if f in gathered and not store:
                touched = math.prod(domain) * access.node.dtype.itemsize
            if f in searched:
                touched = access.node.nbytes
            size[key] = access.node.nbytes if not store else touched
            total[key] = total.get(key, 0) + touched
    return sum(min(t, size[k]) if not store else t for k, t in total.items())


def _kind(lowered: Lowered) -> str:
    """What the user reads: rows that a mask picks are reduced to nothing."""
    return "loop" if lowered.ir.compacts else lowered.ir.kind


def _touched(access: Access, domain: tuple[int, ...]) -> int:
    assert access.node is not None
    if access.store and access.node.op == "compact":  # at most
        return access.node.nbytes
    used = (n for j, n in enumerate(domain) if access.at.uses_axis(j))
    return math.prod(used) * access.node.dtype.itemsize


def _header(step: Launch, assembly: Assembly) -> str:
    """The comment at the head of a kernel's source: of which graph, shapes, and why together."""
    lowered = step.lowered
    rows, row = list(lowered.row_shape), list(lowered.shape)
    what = f"{row}" if lowered.ir.kind == "loop" else f"{rows} rows of {row}"
    lines = [f"// {assembly.plan.graph.name}: {lowered.ir.name}, {_kind(lowered)} over {what}"]
    for f, access in enumerate(lowered.accesses):
        if access.node is not None:
            word = "writes" if access.store else "reads"
            name = f"{'out' if access.store else 'in'}{f}"
            shape = f"{access.node.dtype}{list(access.node.shape)}"
            lines.append(f"//   {name} {word} {_op(access.node)} {shape}")
    lines += _together(step)
    stages = len(lowered.ir.stages)
    if stages > 1:
        stays = ", which stays resident between them" if lowered.ir.resident else ""
        lines.append(f"// {stages} passes over each row{stays}")
    if lowered.ir.cross:
        lines.append(f"// and across all rows: {', '.join(r.kind for r in lowered.ir.cross)}")
    return "\n".join(lines) + "\n"


def _together(step: Launch) -> list[str]:
    """Lines on why the operations of a kernel are together; none for a single one."""
    ir, listed = step.lowered.ir, _operations(step)
    if not (listed[0].isdigit() or "," in listed):
        return []
    if ir.kind == "loop":
        why = "go over the same elements, and nothing between them is stored"
    elif len(ir.stages) > 1:
        why = "need the same rows, again where they follow a reduction"
    elif _count([*ir.tail, *ir.final, *ir.foot]):
        why = "compute what is reduced, as it is read, and what follows from that alone"
    else:
        why = "compute what is reduced, as it is read"
    text = f"// together, for they {why}: {listed}"
    return textwrap.wrap(text, 99, subsequent_indent="//   ")


def _op(node: Node) -> str:
    """The operation of ``node``; of a parameter which one it is, as in HLO text."""
    return f"parameter({node.parameter.number})" if node.op == "parameter" else node.op


def explain_plan(assembly: Assembly, peak_bytes: int) -> str:
    """The whole plan as text: totals, each step, why values have buffers, and the refusals."""
    summaries = [summarize(step, assembly) for step in assembly.steps]
    moved = sum(s.bytes_read + s.bytes_written for s in summaries)
    work = operations(assembly.plan.graph.nodes())
    alone = sum(bytes_alone([n]) for n in work)
    kernels = sum(isinstance(s, Launch) for s in assembly.steps)
    shared = [c for c in assembly.launches if len(c) > 1]
    fewer = kernels - sum(len(c) - 1 for c in shared)
    launches = f", {counted(fewer, 'launch')}" if shared else ""
    lines = [
        f"{assembly.plan.graph.name}: {counted(len(work), 'operation')} in "
        f"{counted(kernels, 'kernel')}{launches}",
        f"  moves {moved:,} B, one operation at a time {max(alone, moved):,} B; "
        f"peak {peak_bytes:,} B",
    ]
    for number, (step, s) in enumerate(zip(assembly.steps, summaries, strict=True)):
        lines.append(f"  {number}: {s.name} ({s.kind})")
        lines.append(f"     reads {s.bytes_read:,} B, writes {s.bytes_written:,} B")
        if isinstance(step, Launch):
            lines.append(f"     {_operations(step)}")
    for company in shared:
        lines.append(f"  {company[0]} to {company[-1]} need nothing of each other: one launch")
    buffers = [f"    {label(root)}: {why}" for root, why in assembly.plan.between().items()]
    refusals = [
        f"    {r.producer} into {r.consumer}: {r.reason} ({r.nbytes:,} B)"
        for r in assembly.plan.refusals
    ]
    lines += ["  stored between kernels:", *buffers] if buffers else []
    lines += ["  not fused:", *dict.fromkeys(refusals)] if refusals else []
    return "\n".join(lines) + "\n"


_NAMED = 3  # kernels in the name of a launch that they share


def _operations(step: Launch) -> str:
    """The operations of a kernel in the order of execution, each name once with its count."""
    names = [s.op for s in step.lowered.ir.statements() if isinstance(s, Compute)]
    names += ["search" for s in step.lowered.ir.statements() if isinstance(s, Search)]
    names += [r.kind for r in step.lowered.ir.reductions]
    counted = Counter(names)
    return ", ".join(n if c == 1 else f"{c} {n}" for n, c in counted.items()) or "copy"


def label(node: Node) -> str:
    """What a value is: its operation, dtype and shape."""
    kind = node.reduction.kind if node.reduces else getattr(node.attr, "name", node.op)
    return f"{kind} {node.dtype}{list(node.shape)}"
