"""Emission of loops with late stores: what they overwrite is read by other elements, too.

Elements are computed in the order of their addresses into a ring of the last ones, and
written when no element to come reads what stands in their places. A thread takes a part of the
elements; at its ends are those that other threads' elements read: they wait in the workspace until
all parts are through.
"""

from __future__ import annotations

from ..codegen import names
from ..codegen.scalar import memory_type
from ..fusion import kernel_ir as ir
from ..fusion.variants import Variant
from ..fusion.walked_forms import forms_of
from .emit import PLACEHOLDER
from .emit_loop import LoopEmitter
from .place import Place


class LateEmitter(LoopEmitter):
    """A work item is a part of ``part_length`` elements, which threads take in runs of parts."""

    def __init__(self, kernel: ir.KernelIR, variant: Variant, traffic: bool = False) -> None:
        super().__init__(kernel, variant, traffic)
        self.late = [s.form for s in kernel.late]
        self.chains = []  # no place for their tables

    def emit(self) -> str:
        (stage,) = self.kernel.stages
        self.w.lines(self.kernel.comment.splitlines())
        self._writer()
        self.w.line()
        head = f"void {PLACEHOLDER}(const fc_args *a, int64_t begin, int64_t end, char *scratch)"
        with self.w.block(head):
            self._declare(stage)
            self._rings()
            self._ends("end")
            self.w.line("int64_t done = first;  // elements before it wait no more")
            self._runs(stage.body, self._elements, "first", "last")
            self._leave()
            self.w.line("if (parts > 1) ((int64_t *)a->workspace)[begin] = end;")
        self.w.line()
        self._finish()
        return self.w.text()

    # --- what is declared

    def _declare(self, stage: ir.Stage) -> None:
        """Declare the integer arguments, and compute what is the same for all elements."""
        axes, invariant = self.dims.axes, forms_of(stage.head)
        forms = [f for f in forms_of(stage.body) if f not in self.late]
        used = ["parts", "part_length", *axes, *self.strides_of(forms, axes), *_WAIT]
        used += self.limits_of([*stage.head, *stage.body])
        used += [names.origin(f) for f in invariant if self.kernel.forms[f].dtype is None]
        self.w.lines(self.dims.declare(used))
        self.w.line(f"const int64_t elements = {' * '.join(axes)};")
        self.bases(invariant, "row_", "", {}, typed=False)
        for statement in stage.head:
            self.w.lines(Place(self, "", "", "row_").lines(statement))

    def _rings(self) -> None:
        """Declare the room of each late store, one after the other in the scratch."""
        for store in self.kernel.late:
            kind = memory_type(store.dtype)
            self.w.line(f"{kind} *const ring{store.form} = ({kind} *)scratch;")
            self.w.line(f"scratch += (room * sizeof({kind}) + 63) / 64 * 64;")

    def _ends(self, end: str) -> None:
        """Declare where a run of parts begins and ends, and what waits there for the others."""
        self.w.line("// What elements of other parts read is written when all are through.")
        self.w.line("const int64_t first = begin * part_length;")
        self.w.line(f"const int64_t last = fc_min({end} * part_length, elements);")
        self.w.line("const int64_t head = begin ? fc_min(first + ahead, last) : first;")
        self.w.line("const int64_t tail = last < elements ? fc_max(last - behind, head) : last;")

    def _kept(self) -> None:
        """Declare where the elements at the ends of the run of parts from ``begin`` on wait."""
        self.w.line("char *kept = a->workspace + (8 * parts + 63) / 64 * 64;")
        for number, store in enumerate(self.kernel.late):
            kind, kept = memory_type(store.dtype), f"kept{store.form}"
            self.w.line(f"{kind} *const {kept} = ({kind} *)kept + begin * (behind + ahead);")
            if number + 1 < len(self.kernel.late):
                size = f"parts * (behind + ahead) * sizeof({kind})"
                self.w.line(f"kept += ({size} + 63) / 64 * 64;")

    # --- runs

    def _run_length(self, length: str) -> str:
        room = "fc_min(room - (at - done), room - (at & (room - 1)))"
        length = super()._run_length(length)
        return f"fc_min({length}, {room})"

    def _begin_run(self) -> None:
        for store in self.kernel.late:
            kind, form = memory_type(store.dtype), store.form
            self.w.line(f"{kind} *late{form} = ring{form} + (at & (room - 1));")

    def _end_run(self) -> None:
        self.w.line("const int64_t due = at < last ? fc_min(at - behind, tail) : tail;")
        due = self.w.block("if (due - done >= FC_CHUNK || at == last)")
        with due, self.w.block("while (done < due)"):
            self._piece("due")
            with self.w.block("if (done < head)"):
                self.w.line("count = fc_min(count, head - done);")
                self._keep("done - first")
            with self.w.block("else"):
                self.w.line(self._written("done", "count", "ring", " + from"))
            self.w.line("done += count;")

    def _piece(self, end: str) -> None:
        """Declare the elements of the room from the one ``done`` on that lie side by side."""
        self.w.line("const int64_t from = done & (room - 1);")
        self.w.line(f"int64_t count = fc_min({end} - done, room - from);")

    def _keep(self, place: str) -> None:
        """A piece of the room waits in the workspace, from ``place`` on."""
        self._kept()
        for store in self.kernel.late:
            kept = f"kept{store.form}"
            size = f"(size_t)count * sizeof *{kept}"
            self.w.line(f"memcpy({kept} + {place}, ring{store.form} + from, {size});")

    def _leave(self) -> None:
        """The last elements of a run of parts wait in the workspace."""
        with self.w.block("while (done < last)"):
            self._piece("last")
            self._keep("ahead + done - tail")
            self.w.line("done += count;")

    # --- writing

    def _written(self, at: str, count: str, source: str, start: str) -> str:
        """The call that writes ``count`` elements from position ``at`` on."""
        given = "".join(f", {source}{s.form}{start}" for s in self.kernel.late)
        return f"{PLACEHOLDER}_write(a, {at}, {count}{given});"

    def _writer(self) -> None:
        """The function that writes elements side by side in a room to their places."""
        axes, late = self.dims.axes, self.kernel.late
        given = "".join(f", const {memory_type(s.dtype)} *from{s.form}" for s in late)
        head = (
            f"static void {PLACEHOLDER}_write(const fc_args *a, int64_t at, int64_t count{given})"
        )
        with self.w.block(head):
            self.w.lines(self.dims.declare([*axes, *self.strides_of(self.late, axes)]))
            with self.w.block("for (int64_t run; count > 0; at += run, count -= run)"):
                index = self.unravel("at", axes)
                self.w.line(f"run = fc_min(count, {axes[-1]} - {index[axes[-1]]});")
                self.bases(self.late, "", "", index, self.typed)
                for store in late:
                    place = Place(self, "k", axes[-1], "")
                    element = self.counted(store.form, place.lvalue(store.form))
                    self.w.line("for (int64_t k = 0; k < run; ++k)")
                    self.w.line(f"    {element} = from{store.form}[k];")
                    self.w.line(f"from{store.form} += run;")

    def _finish(self) -> None:
        """The elements that have waited for other parts."""
        axes = self.dims.axes
        with self.w.block(f"void {PLACEHOLDER}_finish(const fc_args *a)"):
            self.w.lines(self.dims.declare(["parts", "part_length", *axes, *_WAIT]))
            self.w.line("if (parts == 1) return;")
            self.w.line(f"const int64_t elements = {' * '.join(axes)};")
            self.w.line("const int64_t *const ends = (const int64_t *)a->workspace;")
            with self.w.block("for (int64_t begin = 0; begin < parts; begin = ends[begin])"):
                self._ends("ends[begin]")
                self._kept()
                self.w.line(self._written("first", "head - first", "kept", ""))
                self.w.line(self._written("tail", "last - tail", "kept", " + ahead"))


_WAIT = ("behind", "ahead", "room")
