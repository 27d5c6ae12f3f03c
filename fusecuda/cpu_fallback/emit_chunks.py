"""Emission of a chunk of a row: how its elements are computed, and how the tree gets them.

Where nothing is to be computed they are folded where they are; what costs little meets the lanes of
the tree at once; all else goes through a small buffer of FC_CHUNK elements, which is folded then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..codegen import names, reductions, scans
from ..codegen.scalar import c_type, memory_type, suffix
from ..fusion import kernel_ir as ir
from ..fusion.packed import is_packable
from ..fusion.walked_forms import forms_of
from ..graph.dtypes import BOOL, FLOAT32, FLOAT64
from ..graph.tree import CHUNK
from . import iterations, lanes
from .emit_reduction import ReductionEmitter
from .index_tests import Tests
from .packed import parts_of
from .place import Place

NARROW = "int32_t"  # of a chunk of narrow integers the sum, of bools whether any, or all, are true
_BY_KIND = {"sum": "+", "any": "|", "max": "|", "all": "&", "min": "&"}


class ChunkEmitter(ReductionEmitter):
    """One chunk of a row after the other, ``count`` elements from ``at`` on."""

    buffers = "b"  # of elements that wait to be folded
    totals: Mapping[int, str] = {}  # of reductions that take elements as they come, their types

    def combine(self, stage: ir.Stage) -> None:
        """What a stage computes and combines of the chunk at hand."""
        direct = self._direct(stage)
        if direct:
            self._read(direct, stage)
            self._push(stage)
        elif self._are_taken(stage):
            self._take(stage)
        else:
            self._fill(stage)
            self._push(stage)

    def look_up(self, load: ir.Load, stage: ir.Stage) -> None:
        """Where in the chunk at hand stands what a stage looks for in memory."""
        self._in_memory(load, stage.reduces)
        self._push(stage)

    def _fill(self, stage: ir.Stage) -> None:
        """Compute a chunk, with what its reductions take, in buffers or in totals."""
        self.totals = self._totals(stage)
        for r in (*stage.reduces, *stage.cross):
            start = f"sum{r.out} = fc_identity_{reductions.tree_name(r)}()"
            start = start if r.out in self.totals else f"b{r.out}[FC_CHUNK + FC_BLOCK]"
            self.w.line(f"{self.totals.get(r.out, c_type(r.value_dtype))} {start};")
        for number, kind in scans.buffers(self._pieces(stage)).items():
            self.w.line(f"{kind} b{number}[FC_CHUNK + FC_BLOCK];")
        if self._is_packed(stage):
            self._pack(stage)
        else:
            self._chunk(stage)

    def _are_taken(self, stage: ir.Stage) -> bool:
        """True if elements meet the lanes of their chunk as they are computed."""
        plain = not self.traffic and not self.tests(stage.body)
        return plain and lanes.are_taken(self.kernel, self.variant.steps, stage)

    def _take(self, stage: ir.Stage) -> None:
        """A chunk that lies in one piece meets its lanes at once, any other waits in a buffer."""
        if len(self.dims.axes) == 1:
            return self._meet(stage, self._index_of_chunk())
        last = self.dims.axes[-1]
        with self.w.block():
            index = self.unravel(self.place_in_row("at"), self.dims.axes)
            with self.w.block(f"if ({last} - {index[last]} >= count)"):
                self._meet(stage, index)
            with self.w.block("else"):
                self._fill(stage)
                self._push(stage)

    def _meet(self, stage: ir.Stage, index: dict[str, str]) -> None:
        """Compute a chunk, each element of which meets its lane at once."""
        axis = self.dims.axes[-1]
        for r in stage.reduces:
            name = reductions.tree_name(r)
            self.w.line(f"fc_lanes_{name} lanes{r.out};")
            self.w.line(f"fc_begin_{name}(&lanes{r.out});")
        self.bases(forms_of(stage.body), "", "row_", index, self.typed)
        self._kept(stage, "0")
        lane = "for (int l = 0; l < FC_LANES; ++l)"
        self.w.line("int64_t done = 0;")
        with self.w.block("for (; done + FC_LANES <= count; done += FC_LANES)"), self.loop(lane):
            self._element(stage, axis)
            for r in stage.reduces:
                taken = f"&lanes{r.out}, l, {names.value(r.value)}"
                self.w.line(f"fc_take_{reductions.tree_name(r)}({taken});")
        with self.w.block("if (done < count)"), self.loop(lane):
            for r in stage.reduces:
                identity = f"fc_identity_{reductions.tree_name(r)}()"
                self.w.line(f"{c_type(r.value_dtype)} met{r.out} = {identity};")
            with self.w.block("if (l < count - done)"):
                self._element(stage, axis)
                for r in stage.reduces:
                    self.w.line(f"met{r.out} = {names.value(r.value)};")
            for r in stage.reduces:
                self.w.line(f"fc_take_{reductions.tree_name(r)}(&lanes{r.out}, l, met{r.out});")
        for r in stage.reduces:
            name = reductions.tree_name(r)
            self.w.line(f"fc_push_{name}(&tree{r.out}, fc_folded_{name}(&lanes{r.out}));")

    def _element(self, stage: ir.Stage, axis: str) -> None:
        """The element that meets lane ``l``, ``done`` elements behind the chunk's first ones."""
        place = Place(self, "k", axis, "")
        self.w.line("const int64_t k = done + l;")
        for statement in stage.body:
            self.w.lines(place.lines(statement))

    def _push(self, stage: ir.Stage) -> None:
        """What has been taken of a chunk is combined."""
        for r in stage.cross:
            name = reductions.tree_name(r)
            self.w.line(f"fc_meet_{name}(lane{r.out} + at, b{r.out}, count);")
        for r in stage.reduces:
            name = reductions.tree_name(r)
            folded = f"fc_fold_{name}(b{r.out}, count, at)"
            folded = f"sum{r.out}" if r.out in self.totals else folded
            self.w.line(f"fc_push_{name}(&tree{r.out}, {folded});")
        self.totals = {}

    def _totals(self, stage: ir.Stage) -> dict[int, str]:
        """The reductions of ``stage`` without an order, with the C types of a chunk's totals.

        Sums of narrow integers fit into 32 bits, which gcc makes shorter vectors for. A loop that
        may be run twice waits with what it adds up.
        """
        across = {r.out for r in stage.cross}
        if any(self.divisors_of(p.body, p.taken) for p in self._pieces(stage)):
            return {}
        found = {}
        for r in stage.reduces:
            if reductions.has_no_order(r) and r.out not in across:
                found[r.out] = NARROW if is_narrow(stage.body, r) else c_type(r.value_dtype)
        return found

    def searched(self, stage: ir.Stage) -> ir.Load | None:
        """The elements side by side that are all a stage looks for a place among, if they are."""
        steps, kernel = self.variant.steps, self.kernel
        if steps is None or self.traffic or len(self.dims.axes) > 1 or len(stage.body) != 1:
            return None
        (load,) = stage.body
        if not isinstance(load, ir.Load) or load.guard is not None or steps[load.form] != 1:
            return None
        is_value = memory_type(load.dtype) == c_type(load.dtype)
        places = all(map(reductions.finds_place, stage.reduces))
        whole = kernel.segment is None and not stage.cross
        return load if is_value and places and whole else None

    def _in_memory(self, load: ir.Load, reduces: list[ir.Reduce]) -> None:
        """A chunk is where it is: no more is read than is there."""
        self.bases([load.form], "", "row_", {self.dims.axes[-1]: "at"}, self.typed)
        pointer = names.pointer(self.kernel, load.form)
        for r in reduces:
            self.w.line(f"const {c_type(r.value_dtype)} *const b{r.out} = {pointer};")

    def _direct(self, stage: ir.Stage) -> ir.Load | None:
        """The floats side by side that are all a stage combines, if they are."""
        steps, kernel = self.variant.steps, self.kernel
        if steps is None or self.traffic or kernel.segment or stage.cross or len(stage.body) != 1:
            return None
        (load,) = stage.body
        if not isinstance(load, ir.Load) or load.guard is not None or steps[load.form] != 1:
            return None
        is_float = load.dtype.kind == "f" and memory_type(load.dtype) == c_type(load.dtype)
        own = all(r.value == load.out and not reductions.finds_place(r) for r in stage.reduces)
        return load if is_float and own else None

    def _read(self, load: ir.Load, stage: ir.Stage) -> None:
        """A chunk that lies in one piece is folded where it is, any other in a buffer."""
        if len(self.dims.axes) == 1:
            return self._in_memory(load, stage.reduces)
        kind, last = c_type(load.dtype), self.dims.axes[-1]
        for r in stage.reduces:
            self.w.line(f"{kind} room{r.out}[FC_CHUNK + FC_BLOCK];")
            self.w.line(f"const {kind} *b{r.out} = room{r.out};")
        with self.w.block():
            index = self.unravel("at", self.dims.axes)
            self.bases([load.form], "", "row_", index, self.typed)
            with self.w.block(f"if ({last} - {index[last]} >= count)"):
                for r in stage.reduces:
                    self.w.line(f"b{r.out} = {names.pointer(self.kernel, load.form)};")
            self.buffers = "room"
            with self.w.block("else"):
                self._chunk(stage)
            self.buffers = "b"

    def _chunk(self, stage: ir.Stage) -> None:
        """Compute ``count`` elements from ``at`` on, in runs along the innermost axis."""
        tests = self.tests(stage.body)
        last = self.dims.axes[-1]
        if len(self.dims.axes) == 1 and not tests:
            with self.w.block():
                self.run(tests, "count")
                self._run(stage, self._index_of_chunk(), "0", tests)
            return
        with self.w.block("for (int64_t done = 0; done < count;)"):
            self.w.line(f"const int64_t position = {self.place_in_row('at + done')};")
            index = self.unravel("position", self.dims.axes)
            self.run(tests, f"fc_min({last} - {index[last]}, count - done)")
            self._run(stage, index, "done", tests)
            self.w.line("done += run;")

    def _is_packed(self, stage: ir.Stage) -> bool:
        """True if functions are computed of chunks that may lie in pieces, or at any steps."""
        in_pieces = len(self.dims.axes) > 1 or self.variant.steps is None
        apart = any(isinstance(s, ir.Store) for s in stage.body) or bool(stage.cross)
        return in_pieces and not apart and not self.traffic and is_packable(stage.body)

    def _pack(self, stage: ir.Stage) -> None:
        """Read a chunk run by run, and compute all of it at once.

        Where nothing is counted or kept, vectors are full: behind the end are copies of the last.
        """
        parts = parts_of(stage.body, [r.value for r in stage.reduces])
        for number in parts.taken:
            self.w.line(f"{parts.waiting[number]} all{number}[FC_CHUNK + FC_BLOCK];")
        tests, last = self.tests(stage.body), self.dims.axes[-1]
        with self.w.block("for (int64_t done = 0; done < count;)"):
            self.w.line(f"const int64_t position = {self.place_in_row('at + done')};")
            index = self.unravel("position", self.dims.axes)
            self.run(tests, f"fc_min({last} - {index[last]}, count - done)")
            self.bases(forms_of(parts.read), "", "row_", index, self.typed)
            self._kept(stage, "done")
            self.make(tests, last)
            place = Place(self, "k", last, "", tests)
            with self.loop("for (int64_t k = 0; k < run; ++k)"):
                for s in parts.read:
                    self.w.lines(place.lines(s))
                self.w.lines([f"all{v}[done + k] = {names.value(v)};" for v in parts.taken])
            self.w.line("done += run;")
        whole = not self.totals and not _slots(stage)
        with self.w.block():
            self._kept(stage, "0")
            self.w.lines(parts.filled("count") if whole else [])
            with self.loop(f"for (int64_t k = 0; k < {'whole' if whole else 'count'}; ++k)"):
                self.w.lines(parts.values(parts.taken, "k"))
                for s in parts.computed:
                    self.w.lines(Place(self, "k", last, "").lines(s))
                self.w.lines([self._taken(r, stage.body, "k") for r in stage.reduces])

    def _index_of_chunk(self) -> dict[str, str]:
        """Where a chunk stands along the only axis of a row."""
        if self.kernel.segment is None:
            return {self.dims.axes[-1]: "at"}
        return self.unravel(self.place_in_row("at"), self.dims.axes)

    def _run(self, stage: ir.Stage, index: dict[str, str], done: str, tests: Tests) -> None:
        self.bases(forms_of(stage.body), "", "row_", index, self.typed)
        self._kept(stage, done)
        last = self.dims.axes[-1]
        self.make(tests, last)
        place = Place(self, "k", last, "", tests)
        start = "" if done == "0" else f" + {done}"
        at = f"{done} + k" if start else "k"
        pieces = self._pieces(stage)
        keeps = f" + at + {done}" if len(pieces) == 1 and not self.totals else ""
        for piece in pieces:
            later = [*piece.left, *(r.value for r in piece.reduces)]
            later += [] if piece.scan is None else [piece.scan.value]
            later += piece.anew.values()
            with iterations.by_turns(piece, self.w), self.streaming(piece.body):
                for body in self.mostly(piece.body, tests, later):
                    for _ in self.attempts(body, piece.taken):
                        for _ in self.asking(() if piece.taken else body):
                            with self.watched(body):
                                self._piece(replace(piece, body=list(body)), place, at, keeps)
            if piece.scan is not None:
                self._scan(piece.scan, start, at)
            if piece.search is not None:
                self.search_run(place, piece.search, start)

    def _pieces(self, stage: ir.Stage) -> list[scans.Piece]:
        """The loops over a run; steps that are alike are one."""
        reduces = [*stage.reduces, *stage.cross]
        iteration = self.iteration_of(stage.body, [r.value for r in reduces])
        if iteration is None:
            return scans.pieces(stage, searches=True)
        return iterations.pieces_of(iteration, reduces)

    def _kept(self, stage: ir.Stage, done: str) -> None:
        """Declare where the elements from ``done`` on stand in what is kept of the row."""
        for slot in _slots(stage):
            kind = memory_type(self.kernel.resident[slot])
            self.w.line(f"{kind} *keep{slot} = row_keep{slot} + at + {done};")

    def _piece(self, piece: scans.Piece, place: Place, at: str, keeps: str) -> None:
        """One loop over a run, in blocks where ``keeps`` tells where it is in what is kept."""
        if keeps:
            for _ in self.over_run(piece.body, keeps):
                self._element_of(piece, place, at)
        else:
            with self.loop("for (int64_t k = 0; k < run; ++k)"):
                self._element_of(piece, place, at)

    def _element_of(self, piece: scans.Piece, place: Place, at: str) -> None:
        """The element at hand of a loop over a run."""
        self.asked(place.axis)
        for number, kind in piece.taken.items():
            self.w.line(f"const {kind} {names.value(number)} = b{number}[{at}];")
        for statement in piece.body:
            self.w.lines(place.lines(statement))
        for number in piece.left:
            self.w.line(f"b{number}[{at}] = {names.value(number)};")
        for number, later in piece.anew.items():
            self.w.line(f"b{number}[{at}] = {names.value(later)};")
        for r in piece.reduces:
            self.w.line(self._taken(r, piece.body, at))
        if piece.scan is not None:
            value = names.value(piece.scan.value)
            self.w.line(f"b{piece.scan.out}[{at}] = {value};")

    def _taken(self, r: ir.Reduce, body: Sequence[ir.Statement], at: str) -> str:
        """The element at hand goes into the buffer that will be folded, or into the total."""
        value, total = names.value(r.value), f"sum{r.out}"
        if r.out not in self.totals:
            return f"{self.buffers}{r.out}[{at}] = {value};"
        if is_narrow(body, r):
            return f"{total} {_BY_KIND[r.kind]}= ({NARROW}){value};"
        return f"{total} = {reductions.combined(r, total, value)};"

    def _scan(self, scan: ir.Scan, start: str, at: str) -> None:
        """The totals of a run, one after the other, from ``start`` on in the buffer."""
        total, values = f"total{scan.out}", f"b{scan.out}"
        if scan.kind in ("max", "min") and scan.dtype in (FLOAT32, FLOAT64):
            name = f"fc_scan_{scan.kind}_{suffix(scan.dtype)}"
            self.w.line(f"{total} = {name}({values}{start}, run, {total});")
            return
        element = f"{values}[{at}]"
        with self.w.block("for (int64_t k = 0; k < run; ++k)"):
            self.w.line(f"{total} = {reductions.scan_step(scan, total, element)};")
            self.w.line(f"{element} = {total};")


def is_narrow(body: Sequence[ir.Statement], reduce: ir.Reduce) -> bool:
    """True for bools that are looked for, and sums of bools and of integers of at most 16 bits."""
    if reduce.value_dtype == BOOL:
        return reduce.kind in _BY_KIND and reduce.kind != "sum"
    made = (s for s in body if isinstance(s, ir.Compute) and s.out == reduce.value)
    dtypes = [s.operand_dtypes[0] for s in made if s.op == "convert" and reduce.kind == "sum"]
    return any(d.kind in "iub" and d.itemsize <= 2 for d in dtypes)


def _slots(stage: ir.Stage) -> list[int]:
    return sorted({s.slot for s in stage.body if isinstance(s, ir.Keep | ir.Recall)})


assert CHUNK == 512  # FC_CHUNK of codegen/reduce.h
