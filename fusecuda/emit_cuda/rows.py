"""Emission of row reductions: lanes of a warp, a block, or several blocks for each row.

Each stage is one pass over the row in the order of the tree (see tree.cuh). A short row has one
chunk, whose lanes belong to one warp; a long row's chunks are dealt to the warps of its blocks.
What a thread keeps of a row, in registers or in shared memory, it alone reads again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from ..codegen import names
from ..codegen.scalar import c_type, memory_type
from ..fusion import kernel_ir as ir
from ..graph.dtypes import FLOAT32, computed_in
from .choice import LOOP_THREADS, REGISTERS, SHORT
from .emit import CudaScope, Text
from .launch import SHORT_THREADS
from .reductions import ReductionEmitter


class RowEmitter(ReductionEmitter):
    """Rows whose elements are walked by the lanes of warps."""

    @property
    def short(self) -> bool:
        """True if a row belongs to one warp."""
        return self.variant.skeleton == SHORT

    def emit(self) -> Text:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        if self.kernel.outer:
            # Blocks that meet at the end take several rows each, so that they meet less often.
            with self.w.block(f"for (int turn = 0; turn < {self.integer('turns')}; ++turn)"):
                self.row()
                if not self.short:
                    self.w.line("__syncthreads();  // before the next row takes the shared memory")
        else:
            self.row()
        if self.kernel.outer:
            self.outer("threadIdx.x == 0", self.unit())
        return self.text("", self.bounds())

    def unit(self) -> str:
        """The number of a block among those that end rows."""
        if self.kernel.splittable and not self.short:
            return self.over(f"({self.index_type})blockIdx.x", self.integer("parts"))
        return "blockIdx.x"

    def bounds(self) -> str:
        """The threads of a block; how few blocks may be resident, where registers keep doubles.

        Unasked the compiler makes do with 64 registers for functions on many of them, and spills.
        """
        threads = 32 * self.variant.warps
        wide = any(d.itemsize == 8 for d in self.kernel.resident)
        if self.variant.kept != REGISTERS or not wide or threads > LOOP_THREADS:
            return str(threads)
        return f"{threads}, {LOOP_THREADS // threads}"

    def row(self) -> None:
        """All that is done with a row."""
        place = self._short_rows() if self.short else self.long_rows()
        for number, stage in enumerate(self.kernel.stages):
            self._stage(number, stage, place)
        if self.kernel.tail or self.kernel.outer:
            with self.w.block(f"if ({self.first()})"):
                self.finish_row(place, "row")

    def first(self) -> str:
        """The test for the one thread that ends a row."""
        return "lane == 0 && row < rows" if self.short else "threadIdx.x == 0"

    def turn(self, block: str) -> str:
        """The block's number, or that of its turn among all turns of rows."""
        if not self.kernel.outer:
            return block
        return f"({block} * {self.integer('turns')} + turn)"

    def _short_rows(self) -> dict[str, str]:
        t, w = self.index_type, self.w
        shift, rows = self.integer("shift"), self.integer("rows")
        length = self.integer("length")
        w.line(f"// 1 << shift lanes share a row, each taking {4} neighbours at a time.")
        w.line(f"const int lanes = 1 << {shift}, lane = threadIdx.x & (lanes - 1);")
        block = self.turn(f"({t})blockIdx.x")
        w.line(f"const {t} row = ({block} * {SHORT_THREADS} + threadIdx.x) >> {shift};")
        if self.kernel.segment is None:
            w.line(f"const {t} here = row < {rows} ? {length} : 0;  // elements of the row")
            w.line(f"const {t} start = 0;")
        return self._row_place("row")

    def long_rows(self) -> dict[str, str]:
        t, w = self.index_type, self.w
        w.line(f"const {t} here = {self.integer('length')};")
        w.line("const int lanes = 32, lane = threadIdx.x & 31;")
        if self.kernel.splittable:
            w.line("// `parts` blocks share a row; each warp takes `each` chunks of 512 elements.")
            parts = self.integer("parts")
            block = f"({t})blockIdx.x"
            w.line(f"const {t} which = {self.over(block, parts)};")
            w.line(f"const {t} row = {self.turn('which')}, part = {block} - which * {parts};")
            w.line(f"const {t} warp = part * ({t})(blockDim.x / 32) + threadIdx.x / 32;")
        else:
            w.line("// A block for each row; each warp takes `each` chunks of 512 elements.")
            w.line(f"const {t} row = {self.turn('blockIdx.x')};")
            w.line(f"const {t} warp = threadIdx.x / 32;")
        return self.place_of_row()

    def place_of_row(self) -> dict[str, str]:
        """Where the row of a block is; behind the last one there is nothing to do."""
        if self.kernel.outer:
            self.w.line(f"if (row >= {self.integer('rows')}) break;")
        return self._row_place("row")

    def _row_place(self, row: str) -> dict[str, str]:
        if self.kernel.row_rank == 0:
            return {}
        self.w.line()
        if self.short:
            self.w.line(f"const {self.index_type} line = row < rows ? row : 0;  // is safe to read")
            row = "line"
        return self.unravel(row, self.row_axes)

    # --- stages

    def _stage(self, number: int, stage: ir.Stage, place: dict[str, str]) -> None:
        w = self.w
        scope = CudaScope(self, place)
        if stage.head:
            w.line()
        for statement in stage.head:
            w.lines(scope.lines(statement))
        if not stage.body and not stage.reduces:
            return
        w.line()
        if self.kernel.segment is not None:
            w.lines(self.segment())
            w.line(f"const {self.index_type} here = row < {self.integer('rows')} ? extent : 0;")
        for slot in sorted({s.slot for s in stage.body if isinstance(s, ir.Keep)}):
            self.declare_kept(slot)
        for r in stage.reduces:
            w.line(f"{self.partial(r)} acc{r.out} = {self.kind(r)}::identity();")
        self.body(number, stage, place)

    def body(self, number: int, stage: ir.Stage, place: dict[str, str]) -> None:
        """One pass over the row."""
        w = self.w
        self.divisors = self.row_divisors(stage)
        for name in self.divisors:
            w.line(f"const fc_divisor over_{name} = fc_divide_by({name});")
        self.taker(str(number), stage.body, place, stage.reduces)
        self.divisors = []
        if self.kernel.segment is not None:
            self.chunks_of_a_warp(number, stage, lambda: self.each_step(number, "0"))
        elif self.short:
            self.each_step(number, "0")
            for r in stage.reduces:
                w.line(f"acc{r.out} = fc_fold<{self.kind(r)}>(acc{r.out}, lanes);")
                w.line(self.result(r, f"acc{r.out}"))
        else:
            self.chunks(number, stage)

    def row_divisors(self, stage: ir.Stage) -> list[str]:
        """The values of a row by which a stage divides elements, if it can do so twice.

        It can where it reduces nothing and moves packs alone, which it has before and after.
        """
        packed = set(chain.from_iterable(self.packable(stage.body)))
        of_elements, dividing = set(), []
        for s in stage.body:
            if isinstance(s, ir.Load | ir.Store) and s.form not in packed:
                return []
            if isinstance(s, ir.Compute | ir.Recall | ir.Load):
                of_elements.add(s.out)
            elif not isinstance(s, ir.Keep | ir.Store):
                return []
            if isinstance(s, ir.Compute) and s.op == "divide":
                dividing.append((s.operands[1], computed_in(s.operand_dtypes[1])))
        few = self.variant.steps == 1  # elements of a thread: none is worth a reciprocal
        many = self.variant.unit is None and self.variant.chunks > 1  # registers as it is
        if stage.reduces or few or many:
            return []
        by_rows = [v for v, d in dividing if d == FLOAT32 and v not in of_elements]
        return [names.value(value) for value in dict.fromkeys(by_rows)]

    def combined(self, reduces: Sequence[ir.Reduce]) -> list[str]:
        """The statements that take one more element."""
        return [
            f"found{r.out}[e] = {names.value(r.value)};"
            if r.kind.startswith("arg")
            else self.combine(r, f"acc{r.out}", names.value(r.value), self._position())
            for r in reduces
        ]

    def declare_kept(self, slot: int) -> None:
        """Declare what keeps ``slot`` of a resident row: registers."""
        size = 4 * self.variant.steps * self.variant.chunks
        self.w.line(f"{memory_type(self.kernel.resident[slot])} keep{slot}[{size}];")

    def taker(
        self, name: str, body: list[ir.Statement], place: dict[str, str],
        reduces: Sequence[ir.Reduce], then: Sequence[str] = (), before: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """A lambda that takes four neighbours; ``slot`` counts what a thread keeps.

        Each element is taken by ``reduces``, but those that find places take all four at once.
        """
        packs = [r for r in reduces if r.kind.startswith("arg")]
        then = [*then, *self.combined(reduces)]
        t, w = self.index_type, self.w
        head = f"auto take{name} = [&]({t} at, int live, int slot)"
        w.line(f"{head} {{")
        with w.indented():
            w.line("(void)slot;")
            if self.divisors:
                w.line(f"bool odd = {' | '.join(f'over_{d}.is_odd' for d in self.divisors)};")
            self.kept_at = self.place_kept()
            for r in packs:
                w.line(f"{c_type(r.value_dtype)} found{r.out}[4];")
            if len(self.axes) == 1:
                inner = {**place, self.axes[0]: self.place_in_row("at")}
                self.take(body, inner, then, before)
            elif self.variant.packed:
                self.take(body, {**place, **self.unravel("at", self.axes)}, then, before)
            else:
                self._take_scattered(body, place, then, before)
            for r in packs:
                acc = f"acc{r.out}"
                w.line(f"{acc} = {self.kind(r)}::take({acc}, found{r.out}, at, live);")
        w.line("};")

    def place_kept(self) -> str:
        """The place of an element among those that are kept."""
        return "slot + e"

    def loaded(self, form: int, source: str) -> str:
        if self.variant.unit is not None:
            return super().loaded(form, source)
        whole = self.parameter(names.whole(form), "int")
        return f"fc_load_row<4>({source}, {self._step(form)}, {whole}, live)"

    def stored(self, form: int, place: dict[str, str]) -> list[str]:
        if self.variant.unit is not None:
            return super().stored(form, place)
        rows = {axis: place[axis] for axis in place if axis not in self.axes}
        row = f"{self.pointer(form)} + {self.offset(form, rows)}"
        pack, step = self.pack(form), self._step(form)
        return [f"fc_store_row<4>({row}, at, {step}, {pack}, live, lane, lanes);"]

    def _step(self, form: int) -> str:
        return self.integer(names.stride(form, self.axes[-1]))

    def _position(self) -> str:
        return "at + e"

    def _take_scattered(
        self, body: list[ir.Statement], place: dict[str, str], then: list[str],
        before: Sequence[str],
    ) -> None:  # fmt: skip
        """As `take`, for rows of several axes: each element finds its own place."""
        w = self.w
        w.line("#pragma unroll")
        with w.block("for (int e = 0; e < 4; ++e)"):
            w.line("if (e >= live) continue;")
            w.line(f"const {self.index_type} position = at + e;")
            inner = self.unravel("position", self.axes)
            w.lines([*before])
            self.elements(body, {**place, **inner}, then, element="")

    def each_step(self, number: int, kept: str) -> None:
        """All steps of a chunk of a stage."""
        costly = self._costly(self.kernel.stages[number])
        self.chunk(str(number), kept, bool(self.kernel.resident) or not costly)

    @property
    def most_live(self) -> int:
        """How many elements from its first on a pack is told of; see fc_store_row."""
        return 8 if self.variant.packed and self.variant.unit is None else 4

    def chunk(self, name: str, kept: str, unroll: bool = True) -> None:
        """All four steps of the chunk at ``start``, with no test where the chunk is whole."""
        w, steps, most = self.w, self.variant.steps, self.most_live
        if steps == 1:
            at = "lane * 4"
            w.line(f"take{name}({at}, {self.remaining('here', at, most)}, {kept});")
            return
        offset = "s * 128 + lane * 4"
        pragma = "#pragma unroll" if unroll else "#pragma unroll 1"
        w.line("if (start + 512 <= here) {")
        with w.indented():
            w.line(pragma)
            w.line(
                f"for (int s = 0; s < 4; ++s) take{name}(start + {offset}, {most}, {kept} + 4 * s);"
            )
        w.line("} else {")
        with w.indented():
            w.line(pragma)
            w.line("for (int s = 0; s < 4; ++s) {")
            with w.indented():
                w.line(f"const {self.index_type} at = start + {offset};")
                w.line(f"take{name}(at, {self.remaining('here', 'at', most)}, {kept} + 4 * s);")
            w.line("}")
        w.line("}")

    def chunks_of_a_warp(self, number: int, stage: ir.Stage, one: Callable[[], None]) -> None:
        """All chunks of a row that one warp has to itself."""
        w, levels = self.w, self.variant.levels
        for r in stage.reduces:
            kind = self.kind(r)
            keeper = f"fc_stack<{kind}, {levels}>" if levels else f"fc_chunks<{kind}>"
            w.line(f"{keeper} chunks{r.out};")
            w.line(f"chunks{r.out}.start();")
        with w.block(f"for ({self.index_type} start = 0; start < here; start += 512)"):
            one()
            for r in stage.reduces:
                w.line(f"chunks{r.out}.push(fc_fold<{self.kind(r)}>(acc{r.out}, lanes));")
                w.line(f"acc{r.out} = {self.kind(r)}::identity();")
        for r in stage.reduces:
            w.line(self.result(r, f"chunks{r.out}.finish()"))

    def chunks(self, number: int, stage: ir.Stage) -> None:
        """The chunks of each warp, and what all warps come to."""
        w, own = self.w, str(self.variant.chunks)
        for r in stage.reduces:
            w.line(f"fc_chunks<{self.kind(r)}> chunks{r.out};")
            w.line(f"chunks{r.out}.start();")
        is_kept = self.variant.kept == REGISTERS
        each = own if is_kept else self.integer("each")
        if is_kept:
            w.line("#pragma unroll")
        with w.block(f"for (int c = 0; c < {each}; ++c)"):
            first = "warp" if each == "1" else f"(warp * {each} + c)"
            w.line(f"const {self.index_type} start = {first} * 512;")
            w.line(f"if (start >= here) {'continue' if is_kept else 'break'};")
            self.each_step(number, "c * 16" if is_kept else "0")
            for r in stage.reduces:
                w.line(f"chunks{r.out}.push(fc_fold<{self.kind(r)}>(acc{r.out}, lanes));")
                w.line(f"acc{r.out} = {self.kind(r)}::identity();")
        if not stage.reduces:
            return
        self.declare_rooms(stage.reduces)
        for r in stage.reduces:
            total = f"fc_block_total<{self.kind(r)}>(chunks{r.out}.finish(), {self.room(r)})"
            w.line(f"{self.partial(r)} total{r.out} = {total};")
        if self.kernel.splittable:
            self._join_parts(stage.reduces)
        for r in stage.reduces:
            w.line(self.result(r, f"total{r.out}"))

    def _join_parts(self, reduces: list[ir.Reduce]) -> None:
        """The last block of a row combines what the row's blocks have found."""
        parts = self.integer("parts")

        def total(r: ir.Reduce) -> str:
            found = f"partial{r.out} + row * {parts}, (int){parts}"
            return f"fc_total_of<{self.kind(r)}>({found}, {self.room(r)})"

        self.join_parts(reduces, "threadIdx.x == 0", f"row * {parts} + part", "row", total)
