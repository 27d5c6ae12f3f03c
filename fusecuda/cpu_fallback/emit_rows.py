"""Emission of rows, one after the other, for rows whose elements lie side by side.

Elements are computed in chunks of FC_CHUNK into a small buffer that is folded by the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property

from ..codegen import names, reductions, scans
from ..codegen.fission import parts_of
from ..codegen.scalar import c_type, memory_type
from ..codegen.scans import scans_of
from ..fusion import kernel_ir as ir
from ..fusion.kernel_ir import forms_of
from ..graph.dtypes import BOOL
from ..graph.tree import CHUNK
from .emit_reduction import ReductionEmitter
from .index_tests import Tests
from .place import Place

NARROW = "int32_t"  # of a chunk of narrow integers the sum, of bools whether any, or all, are true
_BY_KIND = {"sum": "+", "any": "|", "max": "|", "all": "&", "min": "&"}


class RowEmitter(ReductionEmitter):
    """Rows one after the other; each stage is one pass over the row in chunks."""

    buffers = "b"  # of elements that wait to be folded
    totals: Mapping[int, str] = {}  # of reductions that take elements as they come, their types

    @cached_property
    def phases(self) -> int:
        """In how many passes a row is computed."""
        return self.kernel.phases

    @property
    def is_phased(self) -> bool:
        return self.phases > 1

    def emit(self) -> str:
        kernel = self.kernel
        self.prologue()
        if kernel.splittable:
            self.tail_function()
        elif self.is_phased:
            self.join_functions()
        statements = self.all_statements()
        forms = forms_of(statements)
        with self.w.block(self.entry()):
            self.head(forms, statements)
            if not self.is_phased:
                self.keeps("")
            item = "for (int64_t item = begin; item < end; ++item)"
            with self.w.block(item), self.rows_of_item():
                index = self.unravel("row", self.layout.row_axes)
                self.bases(forms, "row_", "", index, typed=False)
                self._stages()
                if not kernel.splittable:
                    self.tail(Place(self, "", "", "row_"), "row")
                else:
                    self._end_of_part()
        if kernel.splittable or self._ends_rows or kernel.outer or kernel.cross:
            self.finish()
        return self.w.text()

    @contextmanager
    def rows_of_item(self) -> Iterator[None]:
        """What surrounds a row, or the part of one, that is a work item."""
        if self.is_phased or self.kernel.splittable:
            self._part()
        else:
            self.w.line("const int64_t row = item;")
        yield

    def _stages(self) -> None:
        """The passes over a row."""
        phase = 0
        for stage in self.kernel.stages:
            for statement in stage.head:
                self.w.lines(Place(self, "", "", "row_").lines(statement))
            if not stage.body and not stage.reduces and not stage.cross:
                continue
            if self.is_phased:
                self._phase(stage, phase)
            else:
                self._stage(stage)
            phase += 1

    def _part(self) -> None:
        """What one part of a row computes, and where it is kept."""
        self.w.line("const int64_t row = item / parts, part = item % parts;")
        self.w.line("const int64_t first = part * part_length;")
        self.w.line("const int64_t last = fc_min(first + part_length, length);")
        if not self.kernel.resident:
            return
        sizes = {
            d: f"(length * sizeof({memory_type(d)}) + 63) / 64 * 64" for d in self.kernel.resident
        }
        each = " + ".join(sizes[d] for d in self.kernel.resident)
        self.w.line(f"const int64_t kept = {each};")
        before = f"16 * rows * ({len(self.inner)} * parts + {len(self.kernel.outer)})"
        self.keeps("", f"parts > 1 ? a->workspace + {before} + row * kept : scratch")

    def _phase(self, stage: ir.Stage, phase: int) -> None:
        """One pass over a row, or over the part of it that is due."""
        if phase == self.phases - 1:
            self._stage(stage)
            with self.w.block("if (parts > 1)"):
                self._leave(stage.reduces)
                self.w.line("continue;")
            self._define(stage.reduces)
            return
        for r in stage.reduces:
            self.w.line(f"{c_type(r.dtype)} {names.value(r.out)};")
        with self.w.block(f"if (a->phase > {phase})"):
            for r in stage.reduces:
                self.w.line(f"{names.value(r.out)} = {self.joined(r)};")
        with self.w.block("else"):
            self._stage(stage)
            with self.w.block("if (parts > 1)"):
                self._leave(stage.reduces)
                self.w.line("continue;")
            for r in stage.reduces:
                self.w.line(f"{names.value(r.out)} = {self.finished(r)};")

    def _stage(self, stage: ir.Stage) -> None:
        for r in stage.reduces:
            self.w.line(f"fc_tree_{reductions.tree_name(r)} tree{r.out};")
            self.w.line(f"fc_start_{reductions.tree_name(r)}(&tree{r.out});")
        for scan in scans_of(stage):
            start = reductions.scan_start(scan)
            self.w.line(f"{c_type(scan.dtype)} total{scan.out} = {start};")
        first, last = "0", self.segment()
        if self.kernel.splittable or self.is_phased:
            first, last = "first", "last"
        searched = self._searched(stage)
        chunk = "FC_SEARCHED" if searched else "FC_CHUNK"
        with self.w.block(f"for (int64_t at = {first}; at < {last}; at += {chunk})"):
            self.w.line(f"const int64_t count = fc_min({chunk}, {last} - at);")
            parts = [stage] if searched else parts_of(stage)
            for part in parts:
                with self.w.block() if len(parts) > 1 else nullcontext():
                    direct = None if searched else self._direct(part)
                    if searched:
                        self._in_memory(searched, stage.reduces)
                    elif direct:
                        self._read(direct, part)
                    else:
                        self._fill(part)
                    self._push(part)
        if not self.kernel.splittable and not self.is_phased:
            self._define(stage.reduces)

    def _fill(self, stage: ir.Stage) -> None:
        """Compute a chunk, with what its reductions take, in buffers or in totals."""
        self.totals = self._totals(stage)
        for r in (*stage.reduces, *stage.cross):
            start = f"sum{r.out} = fc_identity_{reductions.tree_name(r)}()"
            start = start if r.out in self.totals else f"b{r.out}[FC_CHUNK + FC_BLOCK]"
            self.w.line(f"{self.totals.get(r.out, c_type(r.value_dtype))} {start};")
        for number, kind in scans.buffers(stage, searches=True).items():
            self.w.line(f"{kind} b{number}[FC_CHUNK + FC_BLOCK];")
        self._chunk(stage)

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
        if any(self.divisors_of(p.body, p.taken) for p in scans.pieces(stage, searches=True)):
            return {}
        found = {}
        for r in stage.reduces:
            if reductions.has_no_order(r) and r.out not in across:
                found[r.out] = NARROW if _is_narrow(stage.body, r) else c_type(r.value_dtype)
        return found

    def _searched(self, stage: ir.Stage) -> ir.Load | None:
        """The elements side by side that are all a stage looks for a place among, if they are."""
        steps, kernel = self.variant.steps, self.kernel
        if steps is None or self.traffic or len(self.layout.axes) > 1 or len(stage.body) != 1:
            return None
        (load,) = stage.body
        if not isinstance(load, ir.Load) or load.guard is not None or steps[load.form] != 1:
            return None
        is_value = memory_type(load.dtype) == c_type(load.dtype)
        places = all(map(reductions.finds_place, stage.reduces))
        whole = kernel.segment is None and not stage.cross
        return load if is_value and places and whole else None

    def _in_memory(self, load: ir.Load, reduces: list[ir.Reduce]) -> None:
        """A chunk is where it is: to find a place no more is read than is there."""
        self.bases([load.form], "", "row_", {self.layout.axes[-1]: "at"}, self.typed)
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
        """A whole chunk that lies in one piece is folded where it is, any other in a buffer."""
        kind, last = c_type(load.dtype), self.layout.axes[-1]
        for r in stage.reduces:
            self.w.line(f"{kind} room{r.out}[FC_CHUNK + FC_BLOCK];")
            self.w.line(f"const {kind} *b{r.out} = room{r.out};")
        with self.w.block():
            index = self.unravel("at", self.layout.axes)
            self.bases([load.form], "", "row_", index, self.typed)
            with self.w.block(f"if (count == FC_CHUNK && {last} - {index[last]} >= count)"):
                for r in stage.reduces:
                    self.w.line(f"b{r.out} = {names.pointer(self.kernel, load.form)};")
            self.buffers = "room"
            with self.w.block("else"):
                self._chunk(stage)
            self.buffers = "b"

    def _define(self, reduces: list[ir.Reduce]) -> None:
        for r in reduces:
            self.w.line(f"const {c_type(r.dtype)} {names.value(r.out)} = {self.finished(r)};")

    def _chunk(self, stage: ir.Stage) -> None:
        """Compute ``count`` elements from ``at`` on, in runs along the innermost axis."""
        tests = self.tests(stage.body)
        last = self.layout.axes[-1]
        if len(self.layout.axes) == 1 and not tests:
            with self.w.block():
                self.run(tests, "count")
                index = {last: "at"}
                if self.kernel.segment is not None:
                    index = self.unravel(self.place_in_row("at"), self.layout.axes)
                self._run(stage, index, "0", tests)
            return
        with self.w.block("for (int64_t done = 0; done < count;)"):
            self.w.line(f"const int64_t position = {self.place_in_row('at + done')};")
            index = self.unravel("position", self.layout.axes)
            self.run(tests, f"fc_min({last} - {index[last]}, count - done)")
            self._run(stage, index, "done", tests)
            self.w.line("done += run;")

    def _run(self, stage: ir.Stage, index: dict[str, str], done: str, tests: Tests) -> None:
        self.bases(forms_of(stage.body), "", "row_", index, self.typed)
        for slot in _slots(stage):
            kind = memory_type(self.kernel.resident[slot])
            self.w.line(f"{kind} *keep{slot} = row_keep{slot} + at + {done};")
        last = self.layout.axes[-1]
        self.make(tests, last)
        place = Place(self, "k", last, "", tests)
        at = "k" if done == "0" else f"{done} + k"
        pieces = scans.pieces(stage, searches=True)
        keeps = f" + at + {done}" if len(pieces) == 1 and not self.totals else ""
        for piece in pieces:
            later = [*piece.left, *(r.value for r in piece.reduces)]
            later += [] if piece.scan is None else [piece.scan.value]
            with self.streaming(piece.body):
                for body in self.mostly(piece.body, tests, later):
                    for _ in self.attempts(body, piece.taken):
                        with self.watched(body):
                            self._piece(replace(piece, body=list(body)), place, at, keeps)
            if piece.scan is not None:
                self._scan(piece.scan, at)
            if piece.search is not None:
                done_so_far = "" if done == "0" else f" + {done}"
                self.search_run(place, piece.search, done_so_far)

    def _piece(self, piece: scans.Piece, place: Place, at: str, keeps: str) -> None:
        """One loop over a run, in blocks where ``keeps`` tells where it is in what is kept."""
        in_turn = self.loop("for (int64_t k = 0; k < run; ++k)")
        with self.over_run(piece.body, keeps) if keeps else in_turn:
            for number, kind in piece.taken.items():
                self.w.line(f"const {kind} {names.value(number)} = b{number}[{at}];")
            for statement in piece.body:
                self.w.lines(place.lines(statement))
            for number in piece.left:
                self.w.line(f"b{number}[{at}] = {names.value(number)};")
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
        if _is_narrow(body, r):
            return f"{total} {_BY_KIND[r.kind]}= ({NARROW}){value};"
        return f"{total} = {reductions.combined(r, total, value)};"

    def _scan(self, scan: ir.Scan, at: str) -> None:
        """The totals of a run, one after the other."""
        total, element = f"total{scan.out}", f"b{scan.out}[{at}]"
        with self.w.block("for (int64_t k = 0; k < run; ++k)"):
            self.w.line(f"{total} = {reductions.scan_step(scan, total, element)};")
            self.w.line(f"{element} = {total};")

    def _end_of_part(self) -> None:
        with self.w.block("if (parts == 1)"):
            self.w.line(self.tail_call([self.finished(r) for r in self.inner]))
        with self.w.block("else"):
            self._leave(self.inner)

    def _leave(self, reduces: list[ir.Reduce]) -> None:
        """A part leaves what it has combined."""
        for r in reduces:
            tree = f"fc_finish_{reductions.tree_name(r)}(&tree{r.out})"
            self.w.line(f"{self.partial_slot(self.inner.index(r), r)} = {tree};")


def _is_narrow(body: Sequence[ir.Statement], reduce: ir.Reduce) -> bool:
    """True for bools that are looked for, and sums of bools and of integers of at most 16 bits."""
    if reduce.value_dtype == BOOL:
        return reduce.kind in _BY_KIND and reduce.kind != "sum"
    made = (s for s in body if isinstance(s, ir.Compute) and s.out == reduce.value)
    dtypes = [s.operand_dtypes[0] for s in made if s.op == "convert" and reduce.kind == "sum"]
    return any(d.kind in "iub" and d.itemsize <= 2 for d in dtypes)


def _slots(stage: ir.Stage) -> list[int]:
    return sorted({s.slot for s in stage.body if isinstance(s, ir.Keep | ir.Recall)})


assert CHUNK == 512  # FC_CHUNK of codegen/reduce.h
