"""Emission of loops: threads that compute four elements each, neighbours or a block apart."""

from __future__ import annotations

from ..fusion import kernel_ir as ir
from .emit import BLOCK, CudaEmitter, CudaScope, Text
from .packs import SCATTERED, WARP


class LoopEmitter(CudaEmitter):
    """A loop kernel: each thread computes a pack of neighbours along the innermost axis."""

    def emit(self) -> Text:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        (stage,) = self.kernel.stages
        t, w = self.index_type, self.w
        row = CudaScope(self, {})
        width, last = self.width, self.axes[-1]
        if not self.variant.packed:
            return self._one_by_one(row, stage)
        w.line(f"// Each thread computes {width} {self._which()}.")
        w.line(f"const {t} thread = ({t})blockIdx.x * {BLOCK} + threadIdx.x;")
        n, pack = self.integer(last), "thread"
        if len(self.axes) > 1:
            packs = self.integer("packs")
            w.line(f"if (thread >= {self.integer('threads')}) return;")
            over = self.over("thread", packs)
            w.line(f"const {t} line = {over}, pack = thread - line * {packs};")
            pack = "pack"
        w.line(f"const {t} at = {self._start(pack)};")
        place = {last: "at"}
        if len(self.axes) == 1:
            w.line(f"if (at >= {n}) return;")
        else:
            place = {**self.unravel("line", self.axes[:-1]), **place}
        w.line(f"const int live = {self._live(n, pack)};")
        for statement in stage.head:
            w.lines(row.lines(statement))
        self.take(stage.body, place, [])
        return self.text("", str(BLOCK))

    def _one_by_one(self, row: CudaScope, stage: ir.Stage) -> Text:
        """Elements that lie anyhow: a thread's are a block apart, so that a warp's are neighbours.

        Whole blocks have no test, so that the loads of a thread's elements are under way together.
        """
        t, w = self.index_type, self.w
        w.line(f"// Each thread computes {SCATTERED} elements, a block apart.")
        w.line(f"const {t} first = ({t})blockIdx.x * {BLOCK * SCATTERED} + threadIdx.x;")
        threads = self.integer("threads")
        w.line(f"if (first >= {threads}) return;")
        for statement in stage.head:
            w.lines(row.lines(statement))
        w.line(f"auto take = [&]({t} position) {{")
        with w.indented():
            self.elements(stage.body, self.unravel("position", self.axes), [], element="")
        w.line("};")
        each = f"for (int k = 0; k < {SCATTERED}; ++k)"
        w.line(f"if (first - threadIdx.x + {BLOCK * SCATTERED} <= {threads}) {{")
        with w.indented():
            w.line("#pragma unroll" + " 1" * self._costly(stage))
            w.line(f"{each} take(first + k * {BLOCK});")
        w.line("} else {")
        with w.indented():
            w.line("#pragma unroll 1")
            w.line(f"{each}")
            w.line(f"    if (first + k * {BLOCK} < {threads}) take(first + k * {BLOCK});")
        w.line("}")
        return self.text("", str(BLOCK))

    def _which(self) -> str:
        """What the elements of a pack are."""
        if self.variant.spread:
            return "elements, so that a warp's are neighbours"
        return "neighbours" + "; the first of a line, `head`" * self.variant.headed

    def _start(self, pack: str) -> str:
        """The index of the first element of a pack."""
        width = self.width
        if self.variant.spread:
            return f"{pack} / {WARP} * {WARP * width} + {pack} % {WARP}"
        if self.variant.headed:
            return f"{pack} ? {pack} * {width} - {width} + {self.integer('head')} : 0"
        return pack if width == 1 else f"{pack} * {width}"

    def _live(self, n: str, pack: str) -> str:
        """How many of a pack's elements there are."""
        if self.variant.spread:
            return f"fc_clamp(((int64_t){n} - at + {WARP - 1}) / {WARP}, {self.width})"
        live = self.remaining(n, "at", self.width)
        return f"{pack} ? {live} : (int){self.integer('head')}" if self.variant.headed else live
