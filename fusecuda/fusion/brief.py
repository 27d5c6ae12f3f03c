"""Brief: a plan on one screen, hottest first, in the user's lines and names."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..graph.structure import operations
from ..words import counted, position
from .assembly import Assembly
from .explain import KernelSummary, bytes_alone, label, recorded_lines, summarize
from .walk import Launch

_LAUNCHES, _REASONS, _LINES, _WIDTH = 12, 8, 3, 100


@dataclass(slots=True)
class _Group:
    """Steps that do the same: one launch of a body that repeats."""

    summary: KernelSummary
    lines: tuple[str, ...]
    steps: list[int] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """All that they move."""
        return len(self.steps) * (self.summary.bytes_read + self.summary.bytes_written)


def brief(assembly: Assembly, peak_bytes: int) -> list[str]:
    """The lines of text: totals, launches that repeat once, and what kept them apart."""
    groups = _groups(assembly)
    launches = assembly.launches
    calls = sum(len(g.steps) for g in groups if g.summary.kind == "library")
    moved = sum(g.bytes for g in groups)
    work = operations(assembly.plan.graph.nodes())
    alone = max(sum(bytes_alone([n]) for n in work), moved)
    others = f" ({calls:,} of libraries)" if calls else ""
    kernels = len([n for company in launches for n in company]) - calls
    shared = f"{counted(kernels, 'kernel')} by " if kernels > len(launches) - calls else ""
    lines = [
        f"{assembly.plan.graph.name}: {counted(len(work), 'operation')} in {shared}"
        f"{counted(len(launches), 'launch')}{others}",
        f"  moves {size(moved)}, one operation at a time {size(alone)}; peak {size(peak_bytes)}",
    ]
    order = sorted(groups, key=lambda g: -g.bytes)
    for group in order[:_LAUNCHES]:
        lines += _told(group, moved)
    lines += _more(order[_LAUNCHES:])
    return lines + _reasons(assembly)


def _groups(assembly: Assembly) -> list[_Group]:
    found: dict[object, _Group] = {}
    for number, (step, places) in enumerate(
        zip(assembly.steps, recorded_lines(assembly), strict=True)
    ):
        if isinstance(step, Launch) and not step.launched:
            continue
        s = summarize(step, assembly)
        lines = tuple(places)
        key = (s.name, s.kind, s.bytes_read, s.bytes_written, lines)
        found.setdefault(key, _Group(s, lines)).steps.append(number)
    return list(found.values())


def _told(group: _Group, moved: int) -> Iterable[str]:
    s, count = group.summary, len(group.steps)
    times = f"{count:,} × " if count > 1 else ""
    yield f"  {_share(group.bytes, moved):>4}  {times}{s.name} ({s.kind}), {size(group.bytes)}"
    for line in sorted(group.lines, key=position)[:_LINES]:
        yield f"        {source(line)}"
    if len(group.lines) > _LINES:
        yield f"        and {counted(len(group.lines) - _LINES, 'line')} more"


def _more(rest: Sequence[_Group]) -> list[str]:
    count = sum(len(g.steps) for g in rest)
    return [f"  … and {counted(count, 'launch')} more"] if count else []


# --- reasons


def _reasons(assembly: Assembly) -> list[str]:
    """Why not all of it is one kernel, by the line whose call is the cause."""
    causes: dict[str, dict[str, list[int]]] = {}
    plan = assembly.plan
    for root, why in plan.between().items():
        _blame(causes, root.line or "", f"{label(root)} is stored: {why}", 2 * root.nbytes)
    for r in plan.refusals:
        _blame(causes, r.line or "", f"{r.producer} into {r.consumer}: {r.reason}", r.nbytes)
    if not causes:
        return []
    whole = {line: sum(n for many in told.values() for n in many) for line, told in causes.items()}
    lines = ["  what keeps them apart, by the bytes it costs:"]
    ranked = sorted(causes, key=lambda line: -whole[line])
    for line in ranked[:_REASONS]:
        head = source(line) if line else "(lines were not recorded)"
        lines.append(f"  {size(whole[line]):>9}  {head}")
        told = sorted(causes[line].items(), key=lambda item: -sum(item[1]))
        for why, many in told[:_LINES]:
            times = f" ({len(many):,} times)" if len(many) > 1 else ""
            lines.append(f"             {why}{times}")
        if len(told) > _LINES:
            lines.append(f"             and {counted(len(told) - _LINES, 'reason')} more")
    if len(ranked) > _REASONS:
        lines.append(f"  … and {counted(len(ranked) - _REASONS, 'line')} more")
    return lines


def _blame(causes: dict[str, dict[str, list[int]]], line: str, why: str, nbytes: int) -> None:
    causes.setdefault(line, {}).setdefault(why, []).append(nbytes)


# --- words


def source(place: str) -> str:
    """A place FILE:NUMBER as file, number and what stands there, with the names that it assigns."""
    file, _, number = place.rpartition(":")
    if not number.isdigit():
        return place
    text = linecache.getline(file, int(number)).strip()
    told = f"{os.path.basename(file)}:{number}  {text}".rstrip()
    return told if len(told) <= _WIDTH else f"{told[: _WIDTH - 1]}…"


def size(count: float) -> str:
    """A number of bytes in the unit that suits it."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{float(f'{count / scale:.3g}'):,.6g} {unit}"
    return f"{count:.0f} B"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""
