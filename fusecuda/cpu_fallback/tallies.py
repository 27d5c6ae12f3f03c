"""How tallies are written in C (see `fusion/tallies.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen import names
from ..codegen.scalar import memory_type
from ..fusion import kernel_ir as ir


def begun(scatters: Sequence[ir.Scatter], elements: str) -> list[str]:
    """The statements before all elements."""
    extents = [names.limit(extent) for s in scatters for extent, _ in s.limits]
    lines = [
        f"const bool few = {' && '.join(f'fc_tallied({n}, {elements})' for n in extents)};",
        "// Rows of tallies are not a power of two apart.",
    ]
    for s in scatters:
        tallies = f"tallies{s.form}"
        lines.append(f"{memory_type(s.dtype)} {tallies}[FC_TALLIES][FC_TALLIED + 8];")
        lines.append(f"if (few) memset({tallies}, 0, sizeof {tallies});")
    return lines


def place(scatter: ir.Scatter, index: str, element: str, elsewhere: str) -> str:
    """Where the ``element`` of a run adds at an ``index``: ``elsewhere`` without tallies."""
    tally = f"(char *)&tallies{scatter.form}[{element} & (FC_TALLIES - 1)][{index}]"
    return f"few ? {tally} : {elsewhere}"


def ended(scatter: ir.Scatter, pointer: int) -> list[str]:
    """The statements behind all elements; the memory is that of the kernel's ``pointer``."""
    form, kind = scatter.form, memory_type(scatter.dtype)
    ((extent, stride),) = scatter.limits
    return [
        f"for (int64_t i = 0; few && i < {names.limit(extent)}; ++i) {{",
        "    uint64_t sum = 0;",
        f"    for (int t = 0; t < FC_TALLIES; ++t) sum += (uint64_t)tallies{form}[t][i];",
        f"    {kind} *const to = ({kind} *)(a->ptr[{pointer}] + i * {names.limit(stride)});",
        f"    __atomic_fetch_add(to, ({kind})sum, __ATOMIC_RELAXED);",
        "}",
    ]
