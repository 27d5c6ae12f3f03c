"""Emission of scans: rows in which sums or products run on, a warp for each.

A warp takes a row chunk by chunk, so that what runs on comes to each chunk from the one before.
What is in front of a scan and what follows it are loops of their own over what a lane has of a
chunk, or of a step of it where that would be too much for registers; values that are needed behind
a scan wait there.
"""

from __future__ import annotations

from ..codegen import names
from ..codegen.scalar import c_type, rounded
from ..codegen.scans import Piece, buffers, pieces, scans_of
from ..fusion import kernel_ir as ir
from ..graph.dtypes import computed_in
from .choice import GROUP
from .rows import RowEmitter

_BLOCKS = 4  # of a processor that are enough
_WAITING = 8  # bytes of an element that wait, up to which a whole chunk is taken at a time


class ScanEmitter(RowEmitter):
    """Rows with scans in some of their stages, and maybe reductions in these or others."""

    stage = 0

    def body(self, number: int, stage: ir.Stage, place: dict[str, str]) -> None:
        """One pass over the row."""
        scans, w, self.stage = scans_of(stage), self.w, number
        if not scans:
            self.taker(str(number), stage.body, place, self.combined(stage.reduces))
            self.chunks_of_a_warp(number, stage, lambda: self.each_step(number, "0"))
            return
        waiting = buffers(stage)
        is_whole = self._waits(stage, waiting) <= _WAITING and not self._costly(stage)
        for scan in scans:
            w.line(f"fc_scan<{self._kind(scan)}> {self._running(scan)};")
            w.line(f"{self._running(scan)}.start();")
        for value, ctype in waiting.items():
            w.line(f"{ctype} {self._waiting(value)}[{16 if is_whole else GROUP}];")
        for i, piece in enumerate(pieces(stage)):
            then = [f"{self._waiting(v)}[slot + e] = {names.value(v)};" for v in piece.left]
            if piece.scan is not None:
                running = names.value(piece.scan.value)
                then.append(f"{self._waiting(piece.scan.out)}[slot + e] = {running};")
            before = [self._taken(v, ctype, scans) for v, ctype in piece.taken.items()]
            then += self.combined(piece.reduces)
            self.taker(f"{number}_{i}", piece.body, place, then, before)
        each = self._chunk if is_whole else self._steps
        self.chunks_of_a_warp(number, stage, lambda: each(number, pieces(stage)))

    def bounds(self) -> str:
        """A thread has as many registers as it needs; unasked the compiler spills a few."""
        return f"{super().bounds()}, {_BLOCKS}"

    def _running(self, scan: ir.Scan) -> str:
        """The name of what runs on."""
        return f"running{self.stage}_{scan.out}"

    def _waiting(self, value: int) -> str:
        """The name of where what a lane has of a value waits."""
        return f"wait{self.stage}_{value}"

    def _kind(self, scan: ir.Scan) -> str:
        """The C++ type of what runs on, such as ``fc_sum<float>``."""
        return f"fc_{scan.kind}<{c_type(scan.dtype)}>"

    def _waits(self, stage: ir.Stage, waiting: dict[int, str]) -> int:
        """The bytes of an element that wait, each value's a register at least."""
        values = [s for s in stage.body if not isinstance(s, ir.Effect) and s.out in waiting]
        return sum(max(4, computed_in(s.dtype).itemsize) for s in values)

    def _taken(self, value: int, ctype: str, scans: list[ir.Scan]) -> str:
        """The line that takes what waits; what has run on is rounded now."""
        text = f"{self._waiting(value)}[slot + e]"
        for scan in scans:
            if scan.out == value:
                text = rounded(scan.dtype, text)
        return f"const {ctype} {names.value(value)} = {text};"

    def _chunk(self, number: int, every: list[Piece]) -> None:
        """All of a chunk, one piece after the other; its loads are under way together."""
        for i, piece in enumerate(every):
            self._begin(piece, 16)
            self.chunk(f"{number}_{i}", "0")
            if piece.scan is not None:
                running, waiting = self._running(piece.scan), self._waiting(piece.scan.out)
                self.w.line("#pragma unroll")
                self.w.line(f"for (int s = 0; s < 4; ++s) {running}.step({waiting} + 4 * s);")
                self.w.line(f"{running}.end_chunk();")

    def _steps(self, number: int, every: list[Piece]) -> None:
        """A chunk step by step, all pieces of each."""
        w, t = self.w, self.index_type
        w.line("#pragma unroll 1")
        with w.block("for (int s = 0; s < 4; ++s)"):
            w.line("if (start + s * 128 >= here) break;")
            w.line(f"const {t} at = start + s * 128 + lane * 4;")
            w.line(f"const int live = fc_clamp((int64_t)here - at, {self.most_live});")
            for i, piece in enumerate(every):
                self._begin(piece, GROUP)
                w.line(f"take{number}_{i}(at, live, 0);")
                if piece.scan is not None:
                    waiting = self._waiting(piece.scan.out)
                    w.line(f"{self._running(piece.scan)}.step({waiting});")
        for piece in every:
            if piece.scan is not None:
                w.line(f"{self._running(piece.scan)}.end_chunk();")

    def _begin(self, piece: Piece, count: int) -> None:
        """What does not exist counts as nothing."""
        if piece.scan is not None:
            identity = f"{self._kind(piece.scan)}::identity()"
            waiting = self._waiting(piece.scan.out)
            self.w.line("#pragma unroll")
            line = f"for (int i = 0; i < {count}; ++i) {waiting}[i] = {identity};"
            self.w.line(line)
