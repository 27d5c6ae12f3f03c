"""Emission of loops: independent elements, and what they scatter in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..codegen import names
from ..codegen.scalar import c_type
from ..fusion import kernel_ir as ir
from ..fusion.kernel_ir import forms_of
from ..fusion.verify import operands
from .emit import PLACEHOLDER, KernelEmitter, Place


class LoopEmitter(KernelEmitter):
    """A loop kernel: independent elements, in runs along the innermost axis."""

    def emit(self) -> str:
        (stage,) = self.kernel.stages
        forms = forms_of(stage.body)
        invariant = forms_of(stage.head)
        axes = self.layout.axes
        used = [*axes, *self.strides_of(forms, axes)]
        used += self.limits_of([*stage.head, *stage.body])
        used += [names.origin(f) for f in invariant if self.kernel.forms[f].dtype is None]
        self.w.lines(self.kernel.comment.splitlines())
        head = f"void {PLACEHOLDER}(const fc_args *a, int64_t begin, int64_t end, char *scratch)"
        with self.w.block(head):
            self.w.line("(void)scratch;")
            self.w.lines(self.layout.declare(used))
            self.bases(invariant, "row_", "", {}, typed=False)
            row = Place(self, "", "", "row_")
            for statement in stage.head:
                self.w.lines(row.lines(statement))
            if self.kernel.checks_first:
                self.w.line("// Nothing is written if any element fails.")
                self._runs(_failing(stage.body), self._checks)
            self._runs(stage.body, self._elements)
        return self.w.text()

    def _runs(
        self,
        body: Sequence[ir.Statement],
        elements: Callable[[Sequence[ir.Statement], Place], None],
    ) -> None:
        """The loop over runs of ``body``, each written by ``elements``."""
        axes, forms = self.layout.axes, forms_of(body)
        last = axes[-1]
        with self.w.block("for (int64_t at = begin; at < end;)"):
            index = self.unravel("at", axes)
            tests = self.tests(body)
            length = f"fc_min({last} - {index[last]}, end - at)"
            self.run(tests, f"fc_min(FC_CHUNK, {length})" if self.kernel.is_ordered else length)
            self.bases(forms, "", "", index, self.typed)
            self.make(tests, last)
            elements(body, Place(self, "k", last, "", tests))
            self.w.line("at += run;")

    def _checks(self, body: Sequence[ir.Statement], element: Place) -> None:
        """A run of which only what may fail is computed, and then looked at."""
        with self.w.block("for (int64_t k = 0; k < run; ++k)"):
            for statement in body:
                if isinstance(statement, ir.Scatter):
                    lines, _, inside = element.displaced(f"to{statement.form}", statement)
                    lines.append(f"if (!({inside})) a->status[0] = {statement.site + 1};")
                    self.w.lines(lines)
                else:
                    self.w.lines(element.lines(statement))
        self.w.line("if (a->status[0]) return;")

    def _elements(self, body: Sequence[ir.Statement], element: Place) -> None:
        """A run of elements; what is scattered waits until the rest of them is computed."""
        scatters = [s for s in body if isinstance(s, ir.Scatter)]
        calm: list[ir.Statement] = [s for s in body if not isinstance(s, ir.Scatter)]
        used = {v for s in scatters for v in (*s.indices, s.value)}
        late = [s for s in calm if isinstance(s, ir.Load) and s.guard is None and s.out in used]
        waiting = {
            s.out: c_type(s.dtype)
            for s in calm
            if not isinstance(s, ir.Effect) and s.out in used and s not in late
        }
        inner = {v for s in calm for v in operands(s)}
        calm = [s for s in calm if s not in late or s.out in inner]
        for value, kind in waiting.items():
            self.w.line(f"{kind} b{value}[FC_CHUNK];")
        if calm:
            self.w.line("#pragma GCC ivdep")
            with self.w.block("for (int64_t k = 0; k < run; ++k)"):
                for statement in calm:
                    self.w.lines(element.lines(statement))
                self.w.lines([f"b{v}[k] = {names.value(v)};" for v in waiting])
        if not scatters:
            return
        behind: list[ir.Statement] = [*late, *scatters]
        with self.w.block("for (int64_t k = 0; k < run; ++k)"):
            for value, kind in waiting.items():
                self.w.line(f"const {kind} {names.value(value)} = b{value}[k];")
            for statement in behind:
                self.w.lines(element.lines(statement))


def _failing(body: Sequence[ir.Statement]) -> list[ir.Statement]:
    """The statements of ``body`` that may fail, with those that they are computed from."""
    needed: set[int] = set()
    found: list[ir.Statement] = []
    for s in reversed(body):
        if isinstance(s, ir.Scatter):
            needed.update(s.indices)
        elif isinstance(s, ir.Effect):
            continue
        elif s.out in needed or getattr(s, "site", -1) >= 0:
            needed.update(operands(s))
        else:
            continue
        found.append(s)
    return found[::-1]
