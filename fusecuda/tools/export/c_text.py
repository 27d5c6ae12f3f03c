"""C: the text of an executable's kernels, the driver that runs them, and a function around both."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ...capture.record.leaf import Leaf
from ...cpu_fallback.texts import launcher, prelude, unit
from ...engine import Executable
from ...fusion.binding import Bound
from ...graph.dtypes import ELEMENT_TYPES, hlo_name
from ...graph.faults import element_error
from ...graph.node import Node
from ...streams.memory_plan import MemoryPlan
from .numbers import POWER, Statements, float_text
from .signature import Codes, Signature, header, message_function, wrapped

_STATUS_WORDS = 2  # of a step: the site of an element that failed, how many are picked
_LINE = 64  # bytes, at a multiple of which a workspace begins
NEGATIVE = {-1: "out of memory", -2: f"the workspace does not start at a multiple of {_LINE} bytes"}


class CText:
    """The C texts of ``executable``, whose parameters stand for ``leaves``."""

    def __init__(
        self, executable: Executable, memory: MemoryPlan, leaves: Sequence[Leaf], own: Signature
    ) -> None:
        self.executable, self.memory, self.leaves, self.own = executable, memory, leaves, own
        self.codes = Codes()
        self.numbers = Statements(own.numbers, self.codes)
        self._scalars: list[tuple[str, str]] = []  # the expression, where it is needed at run time
        self._tables: list[str] = []
        self._records: list[str] = []
        self._forms = 1
        self._late = 0  # records of the last steps, which overwrite arguments
        self._failing: list[tuple[int, int, bool]] = []  # status word, first code, comes late
        self._lay_out()

    @property
    def block_bytes(self) -> int:
        """The size of the workspace."""
        return -(-self.memory.block_bytes // _LINE) * _LINE

    def _lay_out(self) -> None:
        """The tables of all launches."""
        assembly = self.executable.assembly
        commits = len(assembly.steps) - assembly.plan.commits
        for company in self.memory.companies:
            bound = [(n, s) for n in company if isinstance(s := assembly.steps[n], Bound)]
            run = [(n, s) for n, s in bound if s.launched]
            self._forms = max(self._forms, sum(len(s.buffers) for _, s in run))
            for place, (number, step) in enumerate(run):
                is_late = company[0] >= commits
                self._late += is_late
                self._record(number, step, len(run) if place == 0 else 1)
                if step.lowered.sites:
                    found = [_message(node) for node in step.lowered.sites]
                    for message in found:
                        self.codes.messages.append(message)
                    first = 1 + len(self.codes.messages) - len(found)
                    self._failing.append((_STATUS_WORDS * number, first, is_late))

    def _record(self, number: int, step: Bound, company: int) -> None:
        """The entry of one kernel in the table of launches, see fc_launch."""
        source = self.executable.sources[number]
        finish = f"{source.symbol}_finish"
        has_finish = f"void {finish}(" in source.text
        first = len(self._scalars)
        for node in step.lowered.scalars:
            self._scalar(node)
        places: list[int] = []
        for buffer, offset in zip(step.buffers, step.offsets, strict=True):
            base, inside = self._base(buffer)
            places += [base, offset + inside]
        k = len(self._records)
        self._tables.append(f"static const int64_t fc_dims_{k}[] = {_braced(step.dims)};")
        self._tables.append(f"static const int64_t fc_places_{k}[] = {_braced(places)};")
        memory = self.memory
        grain = step.grain
        if step.lowered.ir.compacts:
            grain = max(grain, step.work // memory.threads)
        # A caller may have results written over what they are computed from.
        outside = any(base < len(self._bases()) for base in places[::2])
        numbers = [
            len(step.buffers), step.work, grain, first, _STATUS_WORDS * number,
            memory.workspace_offsets[number], memory.scratch_offsets[number], step.scratch,
            step.phases, int(step.streams), int(step.again and not outside), 0, company,
        ]  # fmt: skip
        functions = f"{source.symbol},\n     {finish if has_finish else 'NULL'}"
        listed = ", ".join(map(str, numbers))
        self._records.append(f"    {{{functions},\n     fc_dims_{k}, fc_places_{k}, {listed}}},")

    def _base(self, buffer: int) -> tuple[int, int]:
        """The place of a buffer among the bases, and the byte at which it begins there."""
        buffers = self.executable.assembly.buffers
        bases = [n for n, b in enumerate(buffers) if b.argument is not None]
        bases += [n for n, b in enumerate(buffers) if b.output is not None]
        if buffer in bases:
            return bases.index(buffer), 0
        return len(bases), self.memory.buffer_offsets[buffer]

    def _bases(self) -> list[str]:
        """The expressions of the bases but for the last, the workspace."""
        buffers = self.executable.assembly.buffers
        arguments = {p.argument: p.name for p in self.own.parameters if p.argument is not None}
        outputs = {p.output: p.name for p in self.own.parameters if p.output is not None}
        found = [arguments[b.argument] for b in buffers if b.argument is not None]
        return found + [outputs[b.output] for b in buffers if b.output is not None]

    def _scalar(self, node: Node) -> None:
        """One more number among the kernels' own."""
        if node.op == "constant":
            self._scalars.append((constant(node), ""))
            return
        leaf = self.leaves[node.parameter.number]
        text = self.numbers.cast(leaf.array, node.dtype)
        self._scalars.append(("{0}", f".{hlo_name(node.dtype)} = {text}"))

    # --- the texts

    def source(self, head: str) -> str:
        """The C file."""
        kernels: dict[str, str] = {}
        for number, source in enumerate(self.executable.sources):
            step = self.executable.assembly.steps[number]
            if source is not None and isinstance(step, Bound) and step.launched:
                kernels.setdefault(source.symbol, _static(source.text, source.symbol))
        name = self.own.name
        texts = [*kernels.values(), *([launcher(), *self._launches()] if kernels else [])]
        above = f'{head}#include "{name}.h"\n#include <stdlib.h>\n'
        return above + unit(prelude(), texts, "\n".join(self._functions()))

    def _launches(self) -> list[str]:
        return [
            "// What is run, in order: of each kernel its extents and strides, the place of each"
            " array\n// (parameter or workspace, byte), and its numbers; see fc_launch.",
            *self._tables,
            "static const fc_launch fc_launches[] = {\n" + "\n".join(self._records) + "\n};",
        ]

    def _functions(self) -> list[str]:
        name, most = self.own.name, self.memory.threads
        lines = ["static int64_t fc_threads = 1;", ""]
        lines += [f"void {name}_set_threads(int count)", "{"]
        lines += [f"    const int64_t wanted = count < 1 ? 1 : count > {most} ? {most} : count;"]
        lines += ["    __atomic_store_n(&fc_threads, wanted, __ATOMIC_RELAXED);", "}", ""]
        lines += [f"size_t {name}_workspace_bytes(void) {{ return {self.block_bytes}; }}", ""]
        if self.numbers.has_power:
            lines.append(POWER)
        lines += [f"{self.own.declared(['void *workspace'])}", "{"]
        lines += [f"    {line}" for line in self._body()]
        return [*lines, "}", "", message_function(name, self.codes, NEGATIVE)]

    def _body(self) -> list[str]:
        """The statements of the function."""
        if not self._records:
            return [*self.numbers.lines, "(void)workspace;", "return 0;"]
        steps = _STATUS_WORDS * len(self.executable.assembly.steps)
        bases = "".join(f"(char *){name}, " for name in self._bases())
        lines = [*self.numbers.lines, "char *fc_own = NULL;"]
        lines += [
            f"char *fc_base[] = {{{bases}(char *)workspace}};",
            f"char *fc_ptr[{self._forms}];",
        ]
        scalars = [f"{{{late}}}" if late else early for early, late in self._scalars] or ["{0}"]
        lines += wrapped("const fc_scalar fc_scalars[] = {", scalars, "};").splitlines()
        lines += [f"int64_t fc_status[{steps}] = {{0}};", "int fc_code = 0;"]
        lines += self._workspace(len(self._bases()))
        places = f"fc_scalars, fc_status, fc_ptr, fc_base, {len(self._bases()) + 1}"
        lines += ["fc_frame fc_own_frame = {", f"    {places},"]
        lines += ["    __atomic_load_n(&fc_threads, __ATOMIC_RELAXED), fc_launches,"]
        early = len(self._records) - self._late
        lines += [f"    {early}, 0, 0, 0, NULL", "};"]
        lines += ["fc_run_all(&fc_own_frame);"] * (early > 0) + self._looks(late=False)
        if self._late:  # arguments are overwritten when all else has been computed
            lines += ["if (!fc_code) {", f"    fc_own_frame.launches = fc_launches + {early};"]
            lines += [
                f"    fc_own_frame.count = {self._late};",
                "    fc_run_all(&fc_own_frame);",
                "}",
            ]
            lines += self._looks(late=True)
        return [*lines, "free(fc_own);", "return fc_code;"]

    def _workspace(self, last: int) -> list[str]:
        if not self.block_bytes:
            return ["(void)workspace;"]
        return [
            f"if ((uintptr_t)workspace % {_LINE}) return -2;",
            "if (!workspace) {",
            f"    fc_own = aligned_alloc({_LINE}, {self.block_bytes});",
            "    if (!fc_own) return -1;",
            f"    fc_base[{last}] = fc_own;",
            "}",
        ]

    def _looks(self, late: bool) -> list[str]:
        """What looks whether a kernel has met an element that cannot be computed."""
        return [
            f"if (!fc_code && fc_status[{word}]) fc_code = {first - 1} + (int)fc_status[{word}];"
            for word, first, is_late in self._failing
            if is_late is late
        ]

    def header(self, opening: str) -> str:
        """The header."""
        name, most = self.own.name, self.memory.threads
        contract = _CONTRACT.format(name=name, line=_LINE)
        others = _OTHERS.format(name=name, most=most)
        return header(
            self.own, opening, "", self.own.declared(["void *workspace"]), contract, others
        )


_CONTRACT = """\
Arrays are C-contiguous and aligned to their elements; one that is written shares no memory
with another. `workspace` has {name}_workspace_bytes() bytes and starts at a multiple
of {line}; NULL lets the function allocate them. Gives 0; or a negative code, with nothing done;
or a positive one for an element that cannot be computed: arguments are then as they were.
Several threads may call it at once."""

_OTHERS = """\
// What a code means, with the line of the Python source.
const char *{name}_message(int code);

size_t {name}_workspace_bytes(void);

// Lets calls use so many threads, up to {most}; 1 until it is called. Results do not depend on it.
// The threads stay: a library that has started some cannot be unloaded.
void {name}_set_threads(int count);
"""


def _message(node: Node) -> str:
    error = element_error(node)
    return f"{type(error).__name__}: {error}"


def _static(text: str, symbol: str) -> str:
    """A kernel that only its file knows, so that files with the same one can be linked."""
    return re.sub(rf"^void (?={symbol}(_finish)?\()", "static void ", text, flags=re.MULTILINE)


def _braced(words: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, words or [0])) + "}"


def constant(node: Node) -> str:
    """The initializer of an fc_scalar that holds a constant."""
    value: Any = node.value
    element = ELEMENT_TYPES[node.dtype]
    if node.dtype.kind == "c":
        text = f"{{{float_text(float(value.real))}, {float_text(float(value.imag))}}}"
    elif element.kind == "f" and math.isfinite(value) and not element.computes:
        text = float_text(float(value))
    elif element.kind == "f":
        assert isinstance(node.attr, bytes)
        bits = int.from_bytes(node.attr, "little")
        return f"{{.u{8 * node.dtype.itemsize} = {bits:#x}}}  /* {value} */"
    elif node.dtype.kind == "i":
        text = "INT64_MIN" if int(value) == -(2**63) else f"INT64_C({int(value)})"
    else:
        text = f"UINT64_C({int(value)})"
    return f"{{.{element.hlo} = {text}}}"
