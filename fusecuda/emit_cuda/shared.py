"""Shared launches: kernels that need nothing of each other, by the blocks of one kernel."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Any

from ..codegen.packing import NUMBER_BYTES
from ..fusion.assembly import Assembly
from ..fusion.together import Company
from ..graph.node import Node
from .emit import BLOCK, PLACEHOLDER, declared, kernel_text
from .source import CudaSource

LIMIT = "first"  # how the parameters begin that tell at which block a member begins


def shared_source(members: Sequence[CudaSource]) -> CudaSource:
    """The kernel whose blocks are those of ``members``, one member after the other.

    Its parameters are the pointers of all, then their numbers, then the first block of each but
    the first; a member's parameter ``name`` is ``name_i`` here.
    """
    own = [(i, name, ctype) for i, m in enumerate(members) for name, ctype in m.parameters]
    pointers = [p for p in own if "*" in p[2]]
    numbers = [p for p in own if "*" not in p[2]]
    parameters = [(f"{name}_{i}", ctype) for i, name, ctype in pointers + numbers]
    parameters += [(f"{LIMIT}{i}", "unsigned") for i in range(1, len(members))]
    functions = {m.symbol: f"{PLACEHOLDER}_{k}" for k, m in enumerate(_apart(members))}
    body = "".join(
        _dispatch(i, functions[m.symbol], m, i + 1 == len(members)) for i, m in enumerate(members)
    )
    listed = [declared(name, ctype) for name, ctype in parameters]
    texts = [m.function.replace(f"{m.symbol}_block", functions[m.symbol]) for m in _apart(members)]
    bounds = _bounds([m.bounds for m in members])
    kernel = kernel_text(PLACEHOLDER, bounds, listed, body, members[0].cluster)
    text = "\n".join([*texts, kernel])
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    symbol = f"shared_{members[0].symbol.rpartition('_')[0]}_{digest}"
    return CudaSource(
        symbol, text.replace(PLACEHOLDER, symbol), tuple(parameters), members=tuple(members)
    )


def _bounds(members: Sequence[str]) -> str:
    """The bounds of a launch that leave each member the registers that it asks for."""
    found = [[int(n) for n in bounds.split(", ")] for bounds in members]
    threads = max(BLOCK, *[own for own, *_ in found])
    least = [max(1, own * blocks[0] // threads) for own, *blocks in found if blocks]
    return ", ".join(map(str, [threads, *sorted(least)[:1]]))


def _apart(members: Sequence[CudaSource]) -> list[CudaSource]:
    """The members that are kernels of their own, each once."""
    return list({m.symbol: m for m in members}.values())


def _dispatch(number: int, function: str, member: CudaSource, is_last: bool) -> str:
    """The lines that let the blocks of one member do its work."""
    block = f"blockIdx.x - {LIMIT}{number}" if number else "blockIdx.x"
    if member.own_blocks > 1:
        block = f"({block}) * {member.own_blocks}"
    arguments = ", ".join([block, *[f"{name}_{number}" for name, _ in member.parameters]])
    call = f"{function}({arguments});"
    if is_last:
        return f"    {call}\n"
    return (
        f"    if (blockIdx.x < {LIMIT}{number + 1}) {{\n        {call}\n        return;\n    }}\n"
    )


def limits(grids: Sequence[int]) -> bytes:
    """The parameters that tell where members with so many blocks begin, as a launch takes them."""
    found, first = b"", 0
    for grid in grids[:-1]:
        first += grid
        found += struct.pack("=q", first).ljust(NUMBER_BYTES, b"\0")
    return found


def launched(
    assembly: Assembly, companies: Sequence[Company], sources: Sequence[CudaSource | None]
) -> list[CudaSource]:
    """The sources of the launches that have anything to do."""
    launches = [c for c in companies if is_launched(assembly.steps[c[0]])]
    return [company_source(company, sources) for company in launches]


def company_source(company: Sequence[int], sources: Sequence[CudaSource | None]) -> CudaSource:
    """The source of a launch, which may be of several kernels."""
    found = [s for n in company if (s := sources[n]) is not None]
    return found[0] if len(found) == 1 else shared_source(found)


def is_launched(step: Any) -> bool:
    """True for a kernel that has anything to do."""
    return not isinstance(step, Node) and bool(step.launched)
