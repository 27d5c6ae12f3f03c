"""Emission of scans: rows in which sums or products run on, a warp for each.

A warp takes a row chunk by chunk, so that what runs on comes to each chunk from the one before.
What is in front of a scan and what follows it are loops of their own over what a lane has of a
chunk, or of a step of it where that would be too much for registers; values that are needed behind
a scan wait there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..codegen import names
from ..codegen.scalar import c_type, rounded
from ..codegen.scans import Piece, buffers, pieces, scans_of
from ..fusion import kernel_ir as ir
from ..graph.dtypes import computed_in
from ..graph.tree import SCANNED_TILE
from .choice import CHUNK, GROUP, LOOP_THREADS
from .emit import CudaScope, Text
from .rows import RowEmitter

_BLOCKS = 4  # of a processor that are enough
_WAITING = 8  # bytes of an element that wait, up to which a whole chunk is taken at a time


class ScanEmitter(RowEmitter):
    """Rows with scans in some of their stages, and maybe reductions in these or others."""

    stage = 0

    def body(self, number: int, stage: ir.Stage, place: dict[str, str]) -> None:
        """One pass over the row."""
        self.stage = number
        if not scans_of(stage):
            self.taker(str(number), stage.body, place, stage.reduces)
            self.chunks_of_a_warp(number, stage, lambda: self.each_step(number, "0"))
            return
        one = self._declared(number, stage, pieces(stage), place)
        self.chunks_of_a_warp(number, stage, one)

    def _declared(
        self, number: int, stage: ir.Stage, every: list[Piece], place: dict[str, str]
    ) -> Callable[[], None]:
        """Declare what a pass over ``every`` piece needs; what writes its text for one chunk."""
        w, scans = self.w, scans_of(stage)
        taken = {v for piece in every for v in piece.taken}
        taken |= {piece.scan.out for piece in every if piece.scan is not None}
        waiting = {v: ctype for v, ctype in buffers(pieces(stage)).items() if v in taken}
        is_whole = self._waits(stage, waiting) <= _WAITING and not self._costly(stage)
        for piece in every:
            if piece.scan is not None:
                w.line(f"fc_scan<{self._kind(piece.scan)}> {self._running(piece.scan)};")
                w.line(f"{self._running(piece.scan)}.start();")
        for value, ctype in waiting.items():
            w.line(f"{ctype} {self._waiting(value)}[{16 if is_whole else GROUP}];")
        for i, piece in enumerate(every):
            left = [v for v in piece.left if v in taken]
            then = [f"{self._waiting(v)}[slot + e] = {names.value(v)};" for v in left]
            if piece.scan is not None:
                running = names.value(piece.scan.value)
                then.append(f"{self._waiting(piece.scan.out)}[slot + e] = {running};")
            before = [self._taken(v, ctype, scans) for v, ctype in piece.taken.items()]
            self.taker(f"{number}_{i}", piece.body, place, piece.reduces, then, before)
        return partial(self._chunk if is_whole else self._steps, number, every)

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
            w.line(f"const int live = {self.remaining('here', 'at', self.most_live)};")
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


class LongScanEmitter(ScanEmitter):
    """Rows that are longer: a block for each tile of one, and a warp for each of its chunks.

    A block goes over its tile once for each scan, to find what this comes to, and then once more
    with what comes before: what it has read lies in a cache by then. All stores are behind the last
    scan, so nothing is written before.
    """

    def emit(self) -> Text:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        t, w = self.index_type, self.w
        blocks, rows = self.integer("blocks"), self.integer("rows")
        w.line("// Tiles are taken in the order in which blocks start, those of all rows in turn.")
        tickets = self.area("tickets", "unsigned")
        w.line(f"const {t} ticket = fc_ticket({tickets}, (unsigned){blocks});")
        w.line(f"const {t} tile = {self.over('ticket', rows)};")
        w.line(f"const {t} row = ticket - tile * {rows}, here = {self.integer('length')};")
        w.line("const int lanes = 32, lane = threadIdx.x & 31;")
        w.line(f"const {t} start = tile * {SCANNED_TILE} + threadIdx.x / 32 * {CHUNK};")
        place = self.unravel("row", self.row_axes) if self.kernel.row_rank else {}
        (stage,) = self.kernel.stages
        for statement in stage.head:
            w.lines(CudaScope(self, place).lines(statement))
        scans, every = scans_of(stage), pieces(stage)
        for number in range(len(scans)):
            self._total(number, stage, every[: number + 1], place)
        self._pass(len(scans), stage, every, place)
        states, each = self.area("states", "uint64_t"), self.integer("states_each")
        finished = self.area("finished", "unsigned")
        w.line(f"fc_forget({states}, {each} * {len(scans)}, {finished}, (unsigned){blocks});")
        return self.text("", f"{LOOP_THREADS}, 2")

    def _total(
        self, number: int, stage: ir.Stage, every: list[Piece], place: dict[str, str]
    ) -> None:
        """The pass that finds what scan ``number``, the last of ``every`` piece, comes to."""
        w, t = self.w, self.index_type
        scan = scans_of(stage)[number]
        kind, out, value = self._kind(scan), scan.out, c_type(scan.dtype)
        w.line(f"{value} front{out} = {kind}::identity();")
        w.line(f"__shared__ {value} room{out}[9];")
        self._pass(number, stage, every, place, f"front{out} = {{}}.chunks;".format)
        told, each = self.integer("told"), self.integer("states_each")
        states = f"{self.area('states', 'uint64_t')} + ({number} * {each} + row * {told})"
        totals = f"{self.area(f'totals{out}', value)} + row * {told}"
        w.line(f"front{out} = fc_chunks_before<{kind}>(")
        w.line(
            f"    front{out}, tile, ({t}){self.integer('tiles')}, {states}, {totals}, room{out});"
        )

    def _pass(
        self, number: int, stage: ir.Stage, every: list[Piece], place: dict[str, str],
        then: Callable[[str], str] | None = None,
    ) -> None:  # fmt: skip
        """One pass over the chunk of a warp; ``then`` takes what the last scan comes to."""
        self.stage = number
        with self.w.block("if (start < here)"):
            one = self._declared(number, stage, every, place)
            running = [piece.scan for piece in every if piece.scan is not None]
            for scan in running[:number]:
                self.w.line(f"{self._running(scan)}.chunks = front{scan.out};")
            one()
            if then is not None:
                self.w.line(then(self._running(running[-1])))
