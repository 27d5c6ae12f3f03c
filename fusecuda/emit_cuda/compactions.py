"""Emission of compactions: what a mask picks is written side by side, in one launch.

A block takes a tile: it tests which of its elements, or rows, are picked, tells how many these are,
looks back how many the tiles before it have picked, and writes its own behind those. What it writes
is computed for what is picked alone; what the test has computed besides is kept if it is little.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..codegen import names
from ..codegen.compactions import needed
from ..codegen.scalar import c_type
from ..fusion import kernel_ir as ir
from ..fusion.verify import operands
from .choice import COMPACTED, LOOP_THREADS, PICKS
from .emit import CudaEmitter, CudaScope, Text

COUNT, COUNT_BYTES = "count", 8  # the parameter of a launch for how many it picks, an int64
_KEPT_BYTES = 16  # of an element, from the test on until it is written


class CompactionEmitter(CudaEmitter):
    """A compaction of elements, or of rows."""

    def emit(self) -> Text:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        w, t = self.w, self.index_type
        tickets = self.area("tickets", "unsigned")
        blocks = self.integer("blocks")
        w.line("// Tiles are taken in the order in which blocks start.")
        w.line(f"const {t} ticket = fc_ticket({tickets}, (unsigned){blocks});")
        w.line("__shared__ fc_tile tile;")
        w.line("unsigned picked = 0;")
        if self.kernel.kind == "loop":
            self._elements()
        else:
            self._rows()
        states, finished = self.area("states", "uint64_t"), self.area("finished", "unsigned")
        tiles, count = self.integer("tiles"), self.area(COUNT, "int64_t")
        with w.block(f"if (ticket == {blocks} - 1 && threadIdx.x == 0)"):
            w.line(f"{count}[0] = tile.first + tile.count;")
        w.line(f"fc_forget({states}, {tiles}, {finished}, (unsigned){blocks});")
        return self.text("", str(LOOP_THREADS))

    def area(self, name: str, ctype: str) -> str:
        """A pointer to words of the launch."""
        return self.parameter(name, f"{ctype} *")

    def _pick(self) -> None:
        """The lines after which the block knows where what it has picked goes."""
        self.w.line(f"fc_pick(tile, picked, {self.area('states', 'uint64_t')}, number);")

    def _compacts(self) -> list[ir.Compact]:
        return [s for s in self.kernel.stages[0].body if isinstance(s, ir.Compact)]

    # --- elements

    def _elements(self) -> None:
        w, t = self.w, self.index_type
        (stage,) = self.kernel.stages
        length, mask = self.integer("length"), self._compacts()[0].mask
        w.line(f"const {t} number = ticket, first = number * {COMPACTED};")
        scope = CudaScope(self, {})
        for statement in stage.head:
            w.lines(scope.lines(statement))
        test = needed(stage.body, [mask])
        kept, write = self._kept(stage, test)
        for s in kept:
            w.line(f"{c_type(s.dtype)} keep{s.out}[{PICKS}];")
        unroll = "#pragma unroll" + " 1" * self._costly(stage)
        w.line(f"auto test = [&]({t} position, int k) {{")
        with w.indented():
            place = self.unravel("position", self.axes)
            self.elements([*test], place, [], element="")
            w.lines([f"keep{s.out}[k] = {names.value(s.out)};" for s in kept])
            w.line(f"picked |= (unsigned){names.value(mask)} << k;")
        w.line("};")
        at = f"first + k * {LOOP_THREADS} + threadIdx.x"
        loop = f"for (int k = 0; k < {PICKS}; ++k)"
        w.line(f"if (first + {COMPACTED} <= {length}) {{")
        w.lines(["    " + unroll, f"    {loop} test({at}, k);"])
        w.line("} else {")
        w.lines(["    " + unroll, f"    {loop}", f"        if ({at} < {length}) test({at}, k);"])
        w.line("}")
        self._pick()
        w.line(unroll)
        with w.block(loop):
            w.line("const unsigned within = fc_within(tile, picked, k);")
            w.line("if (!(picked >> k & 1)) continue;")
            w.line(f"const {t} to = tile.first + within, position = {at};")
            w.line("(void)position;")
            w.lines(
                [f"const {c_type(s.dtype)} {names.value(s.out)} = keep{s.out}[k];" for s in kept]
            )
            self.to = "to"
            self.elements(write, self.unravel("position", self.axes), [], element="")

    def _kept(
        self, stage: ir.Stage, test: Sequence[ir.Valued]
    ) -> tuple[list[ir.Valued], list[ir.Statement]]:
        """What the test has computed and is kept, and the statements that write what is picked."""
        tested = {s.out: s for s in test}
        rest = needed(stage.body, [s.value for s in self._compacts()])
        own = [s for s in rest if s.out not in tested]
        used = {v for s in own for v in operands(s)} | {s.value for s in self._compacts()}
        kept = [s for v, s in tested.items() if v in used]
        few = sum(max(4, s.dtype.itemsize) for s in kept) <= _KEPT_BYTES
        if not few or self._costly(stage):
            return [], [*rest, *self._compacts()]
        return kept, [*own, *self._compacts()]

    # --- rows

    def _rows(self) -> None:
        w, t = self.w, self.index_type
        (stage,) = self.kernel.stages
        parts, rows = self.integer("parts"), self.integer("rows")
        each, mask = self.integer("tile_rows"), self._compacts()[0].mask
        w.line("// `parts` blocks share the rows of a tile: each of them tests them all.")
        w.line(f"const {t} number = {self.over('ticket', parts)};")
        w.line(f"const {t} part = ticket - number * {parts};")
        w.line(f"const {t} first = number * {each};")
        w.line(f"const int here = fc_clamp({rows} - first, (int){each});")
        w.line("#pragma unroll 1")
        at = f"k * {LOOP_THREADS} + threadIdx.x"
        with w.block(f"for (int k = 0; k < {PICKS}; ++k)"):
            w.line(f"if ((int)({at}) >= here) break;")
            w.line(f"const {t} row = first + {at};")
            place = self.unravel("row", self.row_axes)
            self._statements(needed(stage.head, [mask]), place)
            w.line(f"picked |= (unsigned){names.value(mask)} << k;")
        self._pick()
        w.line(f"__shared__ unsigned short numbers[{COMPACTED}];")
        w.line("#pragma unroll")
        with w.block(f"for (int k = 0; k < {PICKS}; ++k)"):
            w.line("const unsigned within = fc_within(tile, picked, k);")
            w.line(f"if (picked >> k & 1) numbers[within] = {at};")
        w.line("__syncthreads();")
        self._picked_rows(stage)

    def _picked_rows(self, stage: ir.Stage) -> None:
        """Lanes of a power of two share a row that is picked, or this block's part of it."""
        w, t = self.w, self.index_type
        shift, length = self.integer("shift"), self.integer("length")
        each = self.integer("each")
        values = [s.value for s in self._compacts()]
        body = needed(stage.body, values)
        used = {v for s in body for v in operands(s)} | set(values)
        w.line(f"const int lane = threadIdx.x & ((1 << {shift}) - 1);")
        w.line(f"const {t} begin = part * {each};")
        w.line(f"const {t} end = begin + fc_clamp({length} - begin, (int){each});")
        loop = (
            f"unsigned i = threadIdx.x >> {shift}; i < tile.count; i += {LOOP_THREADS} >> {shift}"
        )
        with w.block(f"for ({loop})"):
            w.line(f"const {t} row = first + numbers[i], to = tile.first + i;")
            place = self.unravel("row", self.row_axes)
            self._statements(needed(stage.head, used), place)
            with w.block(f"for ({t} at = begin + lane; at < end; at += 1 << {shift})"):
                self.to = f"to * {length} + at"
                inner = {**place, **self.unravel("at", self.axes)}
                self.elements([*body, *self._compacts()], inner, [], element="")

    def _statements(self, statements: Iterable[ir.Statement], place: dict[str, str]) -> None:
        scope = CudaScope(self, place)
        for statement in statements:
            self.w.lines(scope.lines(statement))
