"""Emission of long rows that stay in shared memory: of one block, or of a cluster of blocks.

A block has a run of a row's chunks, which its warps take in turn, and tells what each comes to.
When all have met, each combines what all chunks of the row have come to (see cluster.cuh).
"""

from __future__ import annotations

from ..fusion import kernel_ir as ir
from .choice import BOTH, CHUNK, SHARED_WARPS
from .rows import RowEmitter


class KeptRowEmitter(RowEmitter):
    """Rows that registers cannot keep, or not all of them."""

    @property
    def blocks(self) -> int:
        """The blocks that share a row."""
        return self.variant.blocks

    def bounds(self) -> str:
        """A block that fills registers, too, has a processor to itself."""
        return f"{32 * SHARED_WARPS}{', 1' * (self.variant.kept == BOTH)}"

    def unit(self) -> str:
        if self.blocks == 1:
            return super().unit()
        self.w.line(f"if (blockIdx.x % {self.blocks}) return;")
        return f"(blockIdx.x / {self.blocks})"

    def first(self) -> str:
        return "threadIdx.x == 0" + " && rank == 0" * (self.blocks > 1)

    def long_rows(self) -> dict[str, str]:
        t, w, own = self.index_type, self.w, self.integer("own")
        w.line(f"const {t} here = {self.integer('length')};")
        w.line("const int lanes = 32, lane = threadIdx.x & 31;")
        w.line("const int warp = threadIdx.x / 32, warps = blockDim.x / 32;")
        if self.blocks > 1:
            w.line(f"// {self.blocks} blocks share a row, each `own` chunks, its warps in turn.")
            row = self.turn(f"({t})(blockIdx.x / {self.blocks})")
            w.line(f"const {t} row = {row}, rank = blockIdx.x % {self.blocks};")
            w.line(f"const {t} begin = rank * {own} * {CHUNK};")
        else:
            w.line("// A block for each row, whose `own` chunks its warps take in turn.")
            w.line(f"const {t} row = {self.turn('blockIdx.x')};")
        return self.place_of_row()

    def row(self) -> None:
        super().row()
        if self.blocks > 1:
            self.w.line("fc_cluster_wait();  // what this block has told has been read by all")

    def declare_kept(self, slot: int) -> None:
        if self.variant.kept == BOTH:
            self.share_kept(slot, f"shared{slot}")
            super().declare_kept(slot)
        else:
            self.share_kept(slot, f"keep{slot}")

    def place_kept(self) -> str:
        """Lanes side by side keep side by side, so that no two meet in a bank."""
        place = "at - 3 * lane + 32 * e"
        if self.blocks > 1:
            place = f"at - begin{place[2:]}"
        beside = SHARED_WARPS * self.variant.chunks * CHUNK  # what registers keep
        return f"{place} - {beside}" if self.variant.kept == BOTH else place

    def chunks(self, number: int, stage: ir.Stage) -> None:
        w = self.w
        for r in stage.reduces:
            self.share(f"told{r.out}_at", self.partial(r), f"told{r.out}")
        own = self.integer("own")
        first = "warp"
        if self.variant.kept == BOTH:
            few = self.variant.chunks
            w.line("#pragma unroll")
            with w.block(f"for (int k = 0; k < {few}; ++k)"):
                w.line("const int c = warp + k * warps;")
                self._chunk(number, stage, f"c >= {own} || ", "k * 16")
            first = f"warp + {few} * warps"
        with w.block(f"for (int c = {first}; c < {own}; c += warps)"):
            self._chunk(number, stage, "", "-64" if self.variant.kept == BOTH else "0")
        if stage.reduces:
            self._totals(stage)

    def _chunk(self, number: int, stage: ir.Stage, unless: str, slot: str) -> None:
        """Chunk ``c`` of the block; ``slot`` tells where it is kept."""
        w, t = self.w, self.index_type
        begin = "begin + " * (self.blocks > 1)
        w.line(f"const {t} start = {begin}({t})c * {CHUNK};")
        w.line(f"if ({unless}start >= here) {'continue' if unless else 'break'};")
        self.each_step(number, slot)
        for r in stage.reduces:
            folded = f"fc_fold<{self.kind(r)}>(acc{r.out}, lanes)"
            w.line(f"acc{r.out} = {folded};")
            w.line(f"if (lane == 0) told{r.out}[c] = acc{r.out};")
            w.line(f"acc{r.out} = {self.kind(r)}::identity();")

    def _totals(self, stage: ir.Stage) -> None:
        """What all chunks of the row come to, for every thread."""
        w, own, count = self.w, self.integer("own"), self.integer("chunks")
        self.declare_rooms(stage.reduces)
        w.line(f"fc_meet<{self.blocks}>();")
        for r in stage.reduces:
            given = f"told{r.out}, (int){own}, (int){count}, {self.room(r)}"
            total = f"fc_total_told<{self.kind(r)}, {self.blocks}>({given})"
            w.line(f"const {self.partial(r)} total{r.out} = {total};")
        if self.blocks > 1 and stage is self.last_meeting():
            w.line("fc_cluster_arrive();")
        for r in stage.reduces:
            w.line(self.result(r, f"total{r.out}"))
