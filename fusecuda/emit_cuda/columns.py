"""Emission of column reductions: rows of elements that lie side by side in memory.

A block has ``across`` columns and up to eight threads for each; thread y of a column has the lanes
y, y + 8, y + 16 and y + 24 of the tree, so that neighbouring threads always read neighbouring
columns.
"""

from __future__ import annotations

from ..codegen import names
from ..fusion import kernel_ir as ir
from .emit import CudaScope, Text
from .launch import LOOP_THREADS
from .rows import ReductionEmitter


class ColumnEmitter(ReductionEmitter):
    """Columns side by side; every row value is known to all threads of its column."""

    def emit(self) -> Text:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        place = self._places()
        for number, stage in enumerate(self.kernel.stages):
            self._stage(number, stage, place)
        if self.kernel.tail or self.kernel.outer:
            with self.w.block("if (y == 0 && here)"):
                self.finish_row(place, "row")
        if self.kernel.outer:
            self.w.line("// Each thread of the block is a lane of a warp from here on.")
        first = "threadIdx.x == 0 && threadIdx.y == 0"
        self._outer_columns(first)
        return self.text("", str(LOOP_THREADS))

    def _places(self) -> dict[str, str]:
        t, w = self.index_type, self.w
        tiles, parts = self.integer("tiles"), self.integer("parts")
        across = self.integer("across")
        *outer, inner = self.row_axes
        w.line("const int x = threadIdx.x, y = threadIdx.y;")
        w.line(f"const {t} part = blockIdx.x % {parts}, tile = blockIdx.x / {parts};")
        w.line(f"const {t} column = tile % {tiles} * {across} + x;")
        w.line(f"const {t} line = tile / {tiles};")
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
        for r in stage.reduces:
            w.line(f"__shared__ {self.partial(r)} room{r.out}[{LOOP_THREADS}];")
            w.line(f"{self.partial(r)} total{r.out} = {self.kind(r)}::identity();")
            w.line(f"fc_stack<{self.kind(r)}> chunks{r.out};")
            w.line(f"chunks{r.out}.start();")
        each, length = self.integer("each"), self.integer("length")
        w.line(f"const {t} from{number} = part * {each} * 512;")
        w.line(f"const {t} to{number} = from{number} + {each} * 512;")
        loop = f"for ({t} start = from{number}; start < to{number}; start += 512)"
        with w.block(loop):
            w.line(f"if (start >= {length}) break;")
            for r in stage.reduces:
                identity = f"{self.kind(r)}::identity()"
                w.line(f"{self.partial(r)} acc{r.out}[4] = {{{', '.join([identity] * 4)}}};")
            self._lanes(stage, place)
            for r in stage.reduces:
                self._fold(r)
        for r in stage.reduces:
            self._total(r)
        if self.kernel.splittable and stage.reduces:
            self._join_parts(stage.reduces)
        for r in stage.reduces:
            w.line(self.result(r, f"total{r.out}"))

    def _needs_here(self, statements: list[ir.Statement]) -> bool:
        return any(isinstance(s, ir.Load | ir.Gather) for s in statements)

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

    def _lanes(self, stage: ir.Stage, place: dict[str, str]) -> None:
        """The elements of this thread's lanes in the chunk at ``start``."""
        w, t = self.w, self.index_type
        length = self.integer("length")
        w.line("#pragma unroll")
        with w.block("for (int q = 0; q < 4; ++q)"), w.block("for (int s = 0; s < 4; ++s)"):
            w.line(f"const {t} at = start + s * 128 + (y + 8 * q) * 4;")
            w.line("#pragma unroll")
            with w.block("for (int e = 0; e < 4; ++e)"):
                w.line(f"const {t} position = at + e;")
                w.line(f"if (!here || position >= {length}) continue;")
                then = [self.combine(r, f"acc{r.out}[q]", names.value(r.value), "position")
                        for r in stage.reduces]  # fmt: skip
                inner = self.unravel("position", self.axes)
                self.elements(stage.body, {**place, **inner}, then, element="")

    def _fold(self, r: ir.Reduce) -> None:
        """The chunk's lanes in halves: 16 and 8 apart in this thread, 4, 2 and 1 across threads."""
        w, kind, out = self.w, self.kind(r), r.out
        w.line(f"acc{out}[0] = {kind}::combine(acc{out}[0], acc{out}[2]);")
        w.line(f"acc{out}[1] = {kind}::combine(acc{out}[1], acc{out}[3]);")
        w.line(f"room{out}[y * blockDim.x + x] = {kind}::combine(acc{out}[0], acc{out}[1]);")
        w.line("__syncthreads();")
        with w.block("for (int half = blockDim.y / 2; half; half /= 2)"):
            with w.block("if (y < half)"):
                w.line(f"{self.partial(r)} *mine = room{out} + y * blockDim.x + x;")
                w.line(f"*mine = {kind}::combine(*mine, mine[half * blockDim.x]);")
            w.line("__syncthreads();")
        w.line(f"if (y == 0) chunks{out}.push(room{out}[x]);")
        w.line("__syncthreads();")

    def _total(self, r: ir.Reduce) -> None:
        """The combined chunks, for every thread of the column."""
        out = r.out
        self.w.line(f"if (y == 0) room{out}[x] = chunks{out}.finish();")
        self.w.line("__syncthreads();")
        self.w.line(f"total{out} = room{out}[x];")

    def _join_parts(self, reduces: list[ir.Reduce]) -> None:
        """The last block of a tile combines what the tile's blocks have found."""
        w = self.w
        parts, arrivals = self.integer("parts"), self.area("arrivals", "unsigned")
        with w.block(f"if ({parts} > 1)"):
            with w.block("if (y == 0 && here)"):
                for r in reduces:
                    room = self.area(f"partial{r.out}", self.partial(r))
                    w.line(f"{room}[row * {parts} + part] = total{r.out};")
            w.line(f"if (!fc_last_block({arrivals} + tile, {parts})) return;")
            for r in reduces:
                w.line(f"chunks{r.out}.start();")
                with w.block(f"if (y == 0 && here) for (int k = 0; k < {parts}; ++k)"):
                    w.line(f"chunks{r.out}.push(partial{r.out}[row * {parts} + k]);")
                w.line(f"total{r.out} = chunks{r.out}.finish();")

    def _outer_columns(self, first: str) -> None:
        if not self.kernel.outer:
            return
        tiles = f"(unsigned)(gridDim.x / {self.integer('parts')})"
        self.outer(first, tiles)
