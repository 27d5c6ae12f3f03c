"""Machine code read without a GPU: what a kernel's threads have under way, and what follows.

`read` gives each kernel's code as blocks with their branches. A *stretch* of it is the way through
a loop, or through all of it, that moves the most bytes (of several the shortest): packs of 16 bytes
rather than a tail. Walking it tells the *waits*: an instruction that reads a register which a load
has yet to fill waits, and with it comes all that was loaded before.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field

from fusecuda.emit_cuda import nvrtc
from fusecuda.emit_cuda.source import CudaSource
from tests.disassembly import disassembler

_FACTS = re.compile(r"entry function '(\w+)'.*?Used (\d+) registers([^\n]*)", re.DOTALL)
_SMEM = re.compile(r"(\d+) bytes smem")
_SECTION = re.compile(r"^//-+ \.text\.(\w+) -+$", re.MULTILINE)
_LINE = re.compile(
    r"^(?:(\.L_x_\d+):|\s+/\*[0-9a-f]{4,}\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)(.*?);)"
)
_WIDTH = re.compile(r"\.[SU]?(128|64|16|8)\b")
_REGISTER = re.compile(r"\bR(\d+)(\.64)?\b")
_TARGET = re.compile(r"`\((\.L_x_\d+)\)")
Span = tuple[int, int]
_MOVES = ("LDG", "STG")


@dataclass(frozen=True)
class Instruction:
    """One instruction: its predicate, name and operands."""

    predicate: str
    name: str
    operands: str

    @property
    def nbytes(self) -> int:
        """The bytes of global memory that a thread moves by it."""
        if not self.name.startswith(_MOVES):
            return 0
        width = _WIDTH.search(self.name)
        return int(width[1]) // 8 if width else 4

    def written(self) -> set[int]:
        """The registers that a load fills."""
        first = re.match(r"\s*R(\d+)", self.operands)
        if not self.name.startswith("LDG") or first is None:
            return set()
        return {int(first[1]) + k for k in range(max(1, self.nbytes // 4))}

    def mentioned(self) -> set[int]:
        """The registers among its operands, pairs as two."""
        found = set()
        for number, pair in _REGISTER.findall(self.operands):
            found |= {int(number), int(number) + 1} if pair else {int(number)}
        if self.name.startswith("STG"):
            value = re.search(r"R(\d+)\s*$", self.operands)
            if value:
                found |= {int(value[1]) + k for k in range(max(1, self.nbytes // 4))}
        if self.name[0] == "D" or ".F64" in self.name:
            found |= {r + 1 for r in found}
        return found


@dataclass
class Block:
    """Instructions without a branch between them; where they may lead."""

    instructions: list[Instruction] = field(default_factory=list)
    follows: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Stretch:
    """What a thread does on its way through a loop, or through all of a kernel."""

    instructions: int
    loaded: int  # bytes
    stored: int
    loads: int
    widest: int  # bytes of an access
    waits: int  # for loads
    fences: int  # memory barriers and atomics, each of which waits for memory

    @property
    def in_flight(self) -> float:
        """Bytes that a thread has under way while it waits."""
        return self.loaded / max(1, self.waits)


@dataclass
class Code:
    """A kernel's machine code."""

    registers: int
    shared: int
    blocks: list[Block]

    def stretch(self, first: int = 0, last: int | None = None, most: int = 16) -> Stretch:
        """From block ``first`` to ``last``, once through each loop on the way.

        No load on the way is of more than ``most`` bytes, if there is another way.
        """
        return _walked(self._heaviest(first, len(self.blocks) - 1 if last is None else last, most))

    def loops(self, first: int = 0, last: int | None = None) -> list[Span]:
        """The loops between two blocks that load, as their first and last block.

        Of a loop in another it is the inner one, unless the outer one has a way that loads more.
        """
        end = min(self.end, len(self.blocks) if last is None else last)
        found = {}
        for number in range(first, end + 1):
            for target in self.blocks[number].follows:
                if first <= target <= number and self.stretch(target, number).loaded:
                    found[target] = max(number, found.get(target, number))
        spans = sorted(found.items())
        loaded = {span: self.stretch(*span).loaded for span in spans}
        return [s for s in spans if not any(_hides(t, s, loaded) for t in spans if t != s)]

    @property
    def end(self) -> int:
        """The block at which the kernel ends; what stands behind it is there for rare cases."""
        ends = [n for n, b in enumerate(self.blocks) for i in b.instructions[-1:]
                if i.name == "EXIT" and not i.predicate]  # fmt: skip
        return ends[-1]

    @property
    def meeting(self) -> int:
        """The block of the first atomic, behind which few blocks go on; or the last."""
        for number, block in enumerate(self.blocks):
            if any(i.name.startswith("ATOM") for i in block.instructions):
                return number
        return self.end

    def _heaviest(self, first: int, last: int, most: int) -> list[Instruction]:
        best: dict[int, tuple[int, int]] = {}
        after: dict[int, int | None] = {}
        for number in range(last, first - 1, -1):
            block = self.blocks[number]
            ways = [t for t in block.follows if number < t <= last]
            way = max(ways, key=lambda t: best[t], default=None)
            moved, steps = best[way] if way is not None else (0, 0)
            own = sum(i.nbytes for i in block.instructions)
            if any(i.nbytes > most and i.name.startswith("LDG") for i in block.instructions):
                own = -1 << 20
            best[number] = (moved + own, steps - len(block.instructions))
            after[number] = way
        path: list[Instruction] = []
        at: int | None = first
        while at is not None:
            path += self.blocks[at].instructions
            at = after[at]
        return path


def _hides(one: Span, other: Span, loaded: dict[Span, int]) -> bool:
    """True if ``one`` of two loops, one of them in the other, stands for both."""
    if other[0] <= one[0] and one[1] <= other[1]:
        return loaded[one] >= loaded[other]
    return one[0] <= other[0] and other[1] <= one[1] and loaded[one] > loaded[other]


def _walked(path: Sequence[Instruction]) -> Stretch:
    pending: set[int] = set()
    waits = 0
    for i in path:
        if pending & i.mentioned() - (i.written() if i.predicate else set()):
            waits += 1
            pending.clear()
        pending |= i.written()
    loads = [i for i in path if i.name.startswith("LDG")]
    return Stretch(
        len(path),
        sum(i.nbytes for i in loads),
        sum(i.nbytes for i in path if i.name.startswith("STG")),
        len(loads),
        max((i.nbytes for i in path), default=0),
        waits + bool(pending),
        sum(i.name.startswith(("MEMBAR", "ATOM")) for i in path),
    )


def read(sources: Sequence[CudaSource], arch: str) -> dict[str, Code]:
    """The machine code of kernels by symbol."""
    tool = disassembler()
    assert tool is not None
    flags = (*nvrtc.options(arch), "--ptxas-options=-v")
    cubin, log = nvrtc.compile_text(nvrtc.unit(sources), flags)
    facts = {name: (int(n), _SMEM.search(rest)) for name, n, rest in _FACTS.findall(log)}
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([tool, "-c", file.name], capture_output=True, text=True, check=True)
    parts = _SECTION.split(done.stdout)[1:]
    found = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        registers, shared = facts[name]
        found[name] = Code(registers, int(shared[1]) if shared else 0, _blocks(text))
    return found


def _blocks(text: str) -> list[Block]:
    blocks, labels = [Block()], {}
    targets: list[tuple[int, str]] = []
    for line in text.splitlines():
        m = _LINE.match(line)
        if m is None:
            continue
        if m[1]:
            if blocks[-1].instructions:
                blocks[-1].follows.append(len(blocks))
                blocks.append(Block())
            labels[m[1]] = len(blocks) - 1
            continue
        i = Instruction(m[2] or "", m[3], m[4])
        blocks[-1].instructions.append(i)
        if i.name not in ("BRA", "EXIT", "BRA.DIV") and not i.name.startswith("RET"):
            continue
        jump = _TARGET.search(i.operands)
        if jump and i.name == "BRA":
            targets.append((len(blocks) - 1, jump[1]))
        if i.predicate or re.match(r"\s*[!~]?U?[PU]\w*,|\s*~?UR", i.operands):  # or goes on
            blocks[-1].follows.append(len(blocks))
        blocks.append(Block())
    for number, label in targets:
        blocks[number].follows.append(labels[label])
    for block in blocks:
        block.follows = [t for t in block.follows if t < len(blocks)]
    return blocks
