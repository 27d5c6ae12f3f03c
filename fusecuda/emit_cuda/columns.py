"""Emission of column reductions: rows of elements that lie side by side in memory.

A block has ``across`` columns and up to eight threads for each; thread y of a column has the lanes
y, y + 8, y + 16 and y + 24 of the tree, so that neighbouring threads always read neighbouring
columns.
"""

from __future__ import annotations

from ..codegen import names
from ..codegen.scalar import memory_type
from ..fusion import kernel_ir as ir
from ..graph.ops import OPS
from .choice import LOOP_THREADS
from .emit import CudaScope, Text
from .reductions import ReductionEmitter


class ColumnEmitter(ReductionEmitter):
    """Columns side by side; every row value is known to all threads of its column."""

    def emit(self) -> Text:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        place = self._places()
        for number, stage in enumerate(self.kernel.stages):
            self._stage(number, stage, place)
        if self.kernel.tail or self.kernel.outer:
            with self.w.block("if (y == 0 && here" + " && part == 0" * self.is_cluster + ")"):
                self.finish_row(place, "row")
        if self.is_cluster:
            self.w.line("fc_cluster_wait();  // what this block has told has been read by all")
        if self.kernel.outer and self.is_cluster:
            self.w.line("if (part) return;")
        if self.kernel.outer:
            self.w.line("// Each thread of the block is a lane of a warp from here on.")
        self.outer("threadIdx.x == 0 && threadIdx.y == 0", "tile")
        return self.text("", f"{LOOP_THREADS}{self._at_once()}")

    @property
    def is_cluster(self) -> bool:
        """True if the blocks of a cluster, its parts, each keep some rows of the same columns."""
        return self.variant.blocks > 1

    def _at_once(self) -> str:
        """The bound that leaves a thread registers for the loads of a step.

        Without one the compiler makes do with few registers, and loads wait for each other. The
        bound is far from what a thread needs, estimated as if a step's values were half its loads.
        """
        need = 40
        for stage in self.kernel.stages:
            words = [-(-r.value_dtype.itemsize // 4) + 2 * r.kind.startswith("arg")
                     for r in stage.reduces]  # fmt: skip
            loads = [-(-s.dtype.itemsize // 4) for s in stage.body if isinstance(s, ir.Load)]
            calls = any(isinstance(s, ir.Compute) and _is_long(s) for s in stage.body)
            own = (4 + self.variant.levels) * sum(words) + 8 * sum(loads) + 32 * calls
            own += 8 * sum(loads) * bool(_first_loads(stage))
            need = max(need, 40 + own)
        blocks = next((n for n in (4, 3, 2) if need <= 65536 / (n * LOOP_THREADS)), 0)
        return f", {blocks}" if blocks else ""

    def _places(self) -> dict[str, str]:
        t, w = self.index_type, self.w
        tiles, parts = self.integer("tiles"), self.integer("parts")
        across = self.integer("across")
        *outer, inner = self.row_axes
        w.line("const int x = threadIdx.x, y = threadIdx.y;")
        w.line(f"const {t} tile = {self.over(f'({t})blockIdx.x', parts)};")
        w.line(f"const {t} part = ({t})blockIdx.x - tile * {parts};")
        w.line(f"const {t} line = {self.over('tile', tiles)};")
        w.line(f"const {t} column = (tile - line * {tiles}) * {across} + x;")
        w.line(f"const bool here = column < {self.integer(inner)};")
        w.line(f"const {t} row = line * {self.integer(inner)} + column;")
        w.line("(void)row;")
        place = self.unravel("line", outer) if outer else {}
        return {**place, inner: "column"}

    def _stage(self, number: int, stage: ir.Stage, place: dict[str, str]) -> None:
        w, t = self.w, self.index_type
        scope = CudaScope(self, place)
        guard = self._needs_here(stage.head)
        if guard:
            self._guarded_head(stage.head, place)
        else:
            for statement in stage.head:
                w.lines(scope.lines(statement))
        if not stage.body and not stage.reduces:
            return
        w.line()
        w.lines(self.segment())
        for slot in sorted({s.slot for s in stage.body if isinstance(s, ir.Keep)}):
            self.share_kept(slot, f"keep{slot}")
        for r in stage.reduces:
            if self.is_cluster:
                self.share(f"told{r.out}_at", self.partial(r), f"told{r.out}")
            w.line(f"__shared__ {self.partial(r)} room{r.out}[{LOOP_THREADS}];")
            w.line(f"{self.partial(r)} total{r.out} = {self.kind(r)}::identity();")
            w.line(f"fc_stack<{self.kind(r)}, {self.variant.levels}> chunks{r.out};")
            w.line(f"chunks{r.out}.start();")
        each = self.integer("each")
        w.line(f"const {t} from{number} = part * {each} * 512;")
        w.line(f"const {t} to{number} = from{number} + {each} * 512;")
        self._taker(number, stage, place)
        loop = f"for ({t} start = from{number}; start < to{number}; start += 512)"
        with w.block(loop):
            w.line(f"if (start >= {self._length()}) break;")
            self._steps(number, stage)
            self._fold(stage.reduces, f"(start - from{number}) / 512")
        self._totals(stage)
        if self.kernel.splittable and stage.reduces:
            self._join_parts(stage.reduces)
        for r in stage.reduces:
            w.line(self.result(r, f"total{r.out}"))

    def _length(self) -> str:
        """The elements of each column of the block."""
        return "extent" if self.kernel.segment is not None else self.integer("length")

    def _needs_here(self, statements: list[ir.Statement]) -> bool:
        return any(isinstance(s, ir.Load | ir.LookUp) for s in statements)

    def _guarded_head(self, statements: list[ir.Statement], place: dict[str, str]) -> None:
        """Row values that are read from memory: columns outside read the first one's instead."""
        inner = self.row_axes[-1]
        t = self.index_type
        name = f"safe{len(self._safe)}"
        self._safe.append(name)
        self.w.line(f"const {t} {name} = here ? column : 0;")
        scope = CudaScope(self, {**place, inner: name})
        for statement in statements:
            self.w.lines(scope.lines(statement))

    @property
    def _safe(self) -> list[str]:
        if not hasattr(self, "_safe_names"):
            self._safe_names: list[str] = []
        return self._safe_names

    def _taker(self, number: int, stage: ir.Stage, place: dict[str, str]) -> None:
        """A lambda for the element at a position, in the fourth ``q`` of the lanes."""
        w, t = self.w, self.index_type
        for r in stage.reduces:
            w.line(f"{self.partial(r)} acc{r.out}[4];")
        first = _first_loads(stage)
        if first:
            self._loaders(number, first, place)
        given = "".join(f", const {_held_type(s)} value{s.form}" for s in first)
        # Columns side by side are kept side by side, so that no two meet in a bank.
        begin = f"(position - from{number})" if self.is_cluster else "position"
        self.kept_at = f"{begin} * {self.integer('across')} + x"
        w.line(f"auto take{number} = [&]({t} position, bool live, int q{given}) {{")
        with w.indented():
            w.line("(void)live, (void)q;")
            inner = self.unravel(self.place_in_row("position"), self.axes)
            scope: CudaScope = _LiveScope(self, {**place, **inner})
            if not _is_plain(stage):
                scope = _HeldScope(self, {**place, **inner}, first)
            for statement in stage.body:
                w.lines(scope.lines(statement))
            for r in stage.reduces:
                taken = self.combine(r, f"acc{r.out}[q]", names.value(r.value), "position")
                w.line(f"if (live) {taken}")
        w.line("};")

    def _loaders(self, number: int, first: list[ir.Load], place: dict[str, str]) -> None:
        """Lambdas that load what an element needs."""
        w = self.w
        for s in first:
            w.line(f"auto load{number}_{s.form} = [&]({self.index_type} position) {{")
            with w.indented():
                inner = self.unravel(self.place_in_row("position"), self.axes)
                scope = CudaScope(self, {**place, **inner})
                w.line(f"return {scope.address(s.form)};")
            w.line("};")

    def _loads_first(self, number: int, stage: ir.Stage, at: str) -> None:
        """A whole step of what writes: all its loads are under way before the first is used."""
        first, w = _first_loads(stage), self.w
        if not first:
            self._unrolled([at, f"take{number}(at, true, i / 4);"])
            return
        for s in first:
            w.line(f"{_held_type(s)} held{s.form}[16];")
        loads = [f"held{s.form}[i] = load{number}_{s.form}(at);" for s in first]
        self._unrolled([at, *loads])
        given = "".join(f", held{s.form}[i]" for s in first)
        self._unrolled([at, f"take{number}(at, true, i / 4{given});"])

    def _steps(self, number: int, stage: ir.Stage) -> None:
        """The elements of this thread's lanes in the chunk at ``start``, by steps of 128 rows.

        Nothing that loads stands behind a test within a step, so that its 16 rows are under way
        together: of the last step's, those that do not exist are not read and count as the
        identity. Where more happens than loads, such a step takes its rows one by one.
        """
        w, t, length = self.w, self.index_type, self._length()
        for r in stage.reduces:
            identity = f"acc{r.out}[q] = {self.kind(r)}::identity();"
            w.line("#pragma unroll")
            w.line(f"for (int q = 0; q < 4; ++q) {identity}")
        at = f"const {t} at = first + i / 4 * 32 + i % 4;"
        w.line("#pragma unroll 1")
        with w.block("for (int s = 0; s < 4 && here; ++s)"):
            w.line(f"const {t} first = start + s * 128 + y * 4;")
            w.line(f"if (start + s * 128 >= {length}) break;")
            w.line(f"if (start + s * 128 + 128 <= {length}) {{")
            with w.indented():
                self._loads_first(number, stage, at)
            w.line("} else {")
            with w.indented():
                if _is_plain(stage):
                    self._unrolled([at, f"take{number}(at, at < {length}, i / 4);"])
                else:
                    given = "".join(f", load{number}_{s.form}(at)" for s in _first_loads(stage))
                    take = f"take{number}(at, true, i / 4{given});"
                    self._unrolled([at, f"if (at < {length}) {take}"])
            w.line("}")

    def _unrolled(self, lines: list[str]) -> None:
        """``lines`` for each of the 16 rows ``i`` of a thread in a step."""
        self.w.line("#pragma unroll")
        with self.w.block("for (int i = 0; i < 16; ++i)"):
            self.w.lines(lines)

    def _fold(self, reduces: list[ir.Reduce], chunk: str) -> None:
        """The chunk's lanes in halves: 16 and 8 apart in this thread, 4, 2 and 1 across threads."""
        w = self.w
        if not reduces:
            return
        for r in reduces:
            kind, out = self.kind(r), r.out
            w.line(f"acc{out}[0] = {kind}::combine(acc{out}[0], acc{out}[2]);")
            w.line(f"acc{out}[1] = {kind}::combine(acc{out}[1], acc{out}[3]);")
            w.line(f"room{out}[y * blockDim.x + x] = {kind}::combine(acc{out}[0], acc{out}[1]);")
        w.line("__syncthreads();")
        with w.block("if (y == 0)"):
            for r in reduces:
                folded = f"fc_fold_column<{self.kind(r)}>(room{r.out})"
                told = f"told{r.out}[{chunk} * {self.integer('across')} + x] = {folded};"
                w.line(told if self.is_cluster else f"chunks{r.out}.push({folded});")
        w.line("__syncthreads();")

    def _totals(self, stage: ir.Stage) -> None:
        """The combined chunks, for every thread of the column."""
        w = self.w
        if not self.is_cluster:
            for r in stage.reduces:
                w.line(f"if (y == 0) room{r.out}[x] = chunks{r.out}.finish();")
                w.line("__syncthreads();")
                w.line(f"total{r.out} = room{r.out}[x];")
            return
        if not stage.reduces:
            return
        w.line(f"fc_meet<{self.variant.blocks}>();")
        for r in stage.reduces:
            out, own, count = r.out, self.integer("each"), self.integer("chunks")
            given = f"told{out}, (int){own}, (int){count}, chunks{out}, room{out}"
            w.line(f"total{out} = fc_total_of_cluster<{self.kind(r)}>({given});")
        if stage is self.last_meeting():
            w.line("fc_cluster_arrive();")

    def _join_parts(self, reduces: list[ir.Reduce]) -> None:
        """The last block of a tile combines what the tile's blocks have found."""
        parts, rows = self.integer("parts"), self.integer("rows")

        def total(r: ir.Reduce) -> str:
            found = f"partial{r.out} + row, {rows}, here ? {parts} : 0"
            return f"fc_total_of_parts<{self.kind(r)}>({found}, chunks{r.out}, room{r.out})"

        self.join_parts(reduces, "y == 0 && here", f"part * {rows} + row", "tile", total)


class _LiveScope(CudaScope):
    """Elements that are read only where ``live`` holds, and zero elsewhere."""

    def address(self, form: int) -> str:
        dtype = self.emitter.kernel.forms[form].dtype
        assert dtype is not None
        return f"(live ? {super().address(form)} : {memory_type(dtype)}())"


class _HeldScope(CudaScope):
    """Elements whose loads have been made before."""

    def __init__(self, emitter: ColumnEmitter, place: dict[str, str], first: list[ir.Load]) -> None:
        super().__init__(emitter, place)
        self.first = {s.form for s in first}

    def address(self, form: int) -> str:
        return f"value{form}" if form in self.first else super().address(form)


def _first_loads(stage: ir.Stage) -> list[ir.Load]:
    """What a step loads before it computes: all that it can where it writes, too."""
    if _is_plain(stage):
        return []
    loads = {s.form: s for s in stage.body if isinstance(s, ir.Load) and s.guard is None}
    others = {s.form for s in stage.body if isinstance(s, ir.LookUp)}
    return [s for form, s in loads.items() if form not in others]


def _held_type(load: ir.Load) -> str:
    return memory_type(load.dtype)


def _is_plain(stage: ir.Stage) -> bool:
    """True if the body touches memory by loads alone, each at a place of its own."""
    other = (ir.Effect, ir.LookUp, ir.Recall)  # of a kept column there is only what there is
    return not any(
        isinstance(s, other) or getattr(s, "guard", None) is not None for s in stage.body
    )


def _is_long(s: ir.Compute) -> bool:
    """True for functions, and for what takes many instructions on eight bytes."""
    return OPS[s.op].is_expensive or (s.dtype.itemsize == 8 and OPS[s.op].cost > 2)
