"""Emission of loops: independent elements, and what they scatter in order."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeGuard

from ..codegen import names, scans
from ..codegen.scalar import c_type, memory_type, stored
from ..fusion import kernel_ir as ir
from ..fusion.byte_chains import Chain, chains_of, without
from ..fusion.tallies import tallied
from ..fusion.variants import ANY_STEP, Variant
from ..fusion.verify import operands
from ..fusion.walked_forms import forms_of
from . import iterations, quotients, tallies
from .emit import PLACEHOLDER
from .emit_runs import RunEmitter
from .place import Place

_TURNED = "turned"  # what elements are put into that lie across runs


class LoopEmitter(RunEmitter):
    """A loop kernel: independent elements, in runs along the innermost axis."""

    iteration: iterations.Iteration | None = None  # of what is computed for a run

    def __init__(self, kernel: ir.KernelIR, variant: Variant, traffic: bool = False) -> None:
        super().__init__(kernel, variant, traffic)
        tables = variant.tables and not traffic and not kernel.searches
        self.chains = chains_of(kernel) if tables else []
        self.tallied = tallied(kernel)

    def emit(self) -> str:
        (stage,) = self.kernel.stages
        forms = forms_of(stage.body)
        invariant = forms_of(stage.head)
        axes = self.dims.axes
        used = [*axes, *self.strides_of(forms, axes)]
        used += self.limits_of([*stage.head, *stage.body])
        used += [names.limit(n) for fill in self.kernel.fills for n in fill.limits]
        used += [names.origin(f) for f in invariant if self.kernel.forms[f].dtype is None]
        self.w.lines(self.kernel.comment.splitlines())
        head = f"void {PLACEHOLDER}(const fc_args *a, int64_t begin, int64_t end, char *scratch)"
        with self.w.block(head):
            self.w.line("(void)scratch;")
            self.w.lines(self.dims.declare(used))
            self.bases(invariant, "row_", "", {}, typed=False)
            row = Place(self, "", "", "row_")
            for statement in stage.head:
                self.w.lines(row.lines(statement))
            for chain in self.chains:
                self._table(chain)
            if self.kernel.checks_first:
                self.w.line("// Nothing is written if any element fails.")
                self._runs(_failing(stage.body), self._checks)
            if self.tallied:
                self._with_tallies(stage.body)
            else:
                for fill in self.kernel.fills:
                    self._fill(fill)
                self._runs(without(stage.body, self.chains), self._elements)
        return self.w.text()

    def _with_tallies(self, body: Sequence[ir.Statement]) -> None:
        """The elements; where threads have tallies, what they are added to is filled before."""
        (axis,) = self.dims.axes
        self.w.lines(tallies.begun(self.tallied, axis))
        if self.kernel.fills:
            with self.w.block("if (a->phase == 0)"):
                with self.w.block("if (begin == 0)"):
                    for fill in self.kernel.fills:
                        self._fill(fill)
                self.w.line("if (few) return;")
        self._runs(without(body, self.chains), self._elements)
        for scatter in self.tallied:
            self.w.lines(tallies.ended(scatter, self.pointer_number(scatter.form)))

    def _fill(self, fill: ir.Fill) -> None:
        """Memory is filled with one number: no other thread has elements to scatter."""
        kind, name = memory_type(fill.dtype), f"all{fill.form}"
        start = f"a->ptr[{self.pointer_number(fill.form)}]"
        extents = " * ".join(map(names.limit, fill.limits))
        value = stored(fill.dtype, names.value(fill.value))
        element = self.counted(fill.form, f"{name}[k]")
        self.w.line(f"{kind} *const {name} = ({kind} *){start};")
        self.w.line(f"for (int64_t k = 0; k < {extents}; ++k) {element} = {value};")

    def _table(self, chain: Chain) -> None:
        """What a chain gives for each byte."""
        kind = c_type(chain.dtype)
        self.w.line(f"{kind} table{chain.out}[256];")
        place = Place(self, "", "", "")
        with self.loop("for (int k = 0; k < 256; ++k)"):
            byte = c_type(chain.load.dtype)
            self.w.line(f"const {byte} {names.value(chain.load.out)} = ({byte})k;")
            for statement in chain.body:
                self.w.lines(place.lines(statement))
            self.w.line(f"table{chain.out}[k] = {names.value(chain.out)};")

    def lines(self, element: Place, statement: ir.Statement) -> list[str]:
        """The lines of a statement, with what is looked up for it."""
        lines = element.lines(statement)
        for chain in self.chains:
            if chain.load == statement:
                index = f"(uint8_t){names.value(chain.load.out)}"
                value = f"table{chain.out}[{index}]"
                lines.append(f"const {c_type(chain.dtype)} {names.value(chain.out)} = {value};")
        return lines

    def _runs(
        self,
        body: Sequence[ir.Statement],
        elements: Callable[[Sequence[ir.Statement], Place], None],
        begin: str = "begin",
        end: str = "end",
    ) -> None:
        """The loop over runs of ``body``, each written by ``elements``."""
        self._begin_runs(body)
        same, found = self._same(body)
        self.iteration = (
            self.iteration_of([s for s in body if s not in same]) if not found else None
        )
        forms = [f for f in forms_of(body) if f not in self.late]
        count = len(self.dims.axes) - self.variant.inside
        axes, inside = self.dims.axes[:count], self.dims.axes[count:]
        last = axes[-1]
        with contextlib.ExitStack() as walk:
            if len(axes) > 1:
                walk.enter_context(self.w.block(f"if ({begin} < {end})"))
                index = self.unravel(begin, axes, moves=True)
            walk.enter_context(self.w.block(f"for (int64_t at = {begin}; at < {end};)"))
            if len(axes) == 1:
                index = self.unravel("at", axes)
            tests = self.tests(body)
            length = f"fc_min({last} - {index[last]}, {end} - at)"
            wide = self.widened_by(body)
            if wide or quotients.divides(body):
                length = f"fc_min(FC_ROOM, {length})"
            elif self.streamed_by(body):
                length = f"fc_min(a->streams ? FC_ROOM : INT64_MAX, {length})"
            if inside:
                length = f"fc_min(FC_NEAR, {length})"
            self.run(tests, self._run_length(length))
            with self.grouping(body, last, inside, index), contextlib.ExitStack() as within:
                turned = () if self.traffic else self.variant.turned
                for f in turned:
                    kind = memory_type(self.dtype(f))
                    self.w.line(f"{kind} {_TURNED}{f}[FC_TURN][FC_NEAR];")
                for axis in inside:
                    head = f"for (int64_t i_{axis} = 0; i_{axis} < {axis}; ++i_{axis})"
                    within.enter_context(self.w.block(head))
                walked = index | {axis: f"i_{axis}" for axis in inside}
                self.bases(forms, "", "", walked, self.typed)
                if turned:
                    self._turn(forms, last, inside[0])
                self.make(tests, last)
                self._begin_run()
                with self.widening(wide):
                    elements(body, Place(self, "k", last, "", tests))
            self.w.line("at += run;")
            if len(axes) > 1:
                self._move_on(index)
            self._end_run()

    def _turn(self, forms: Sequence[int], axis: str, inner: str) -> None:
        """Let forms that lie across stand at elements that have been put along ``axis``.

        Where others are read next is said beforehand.
        """
        steps, kernel = self.variant.steps, self.kernel
        count = f"fc_min(FC_TURN, {inner} - i_{inner})"
        for form in forms:
            pointer, kept = names.pointer(kernel, form), f"{_TURNED}{form}"
            if form in self.variant.turned:
                call = f"fc_turn_{self.dtype(form).itemsize}"
                given = f"{kept}, {pointer}, {names.stride(form, axis)}, run, {count}"
                self.w.line(f"if (i_{inner} % FC_TURN == 0) {call}({given});")
                self.w.line(f"{pointer} = {kept}[i_{inner} % FC_TURN];")
            elif kernel.forms[form].dtype is None or kernel.forms[form].store:
                continue
            elif steps is not None and steps[form] == 1:
                following = f"(const char *){pointer} + {names.stride(form, inner)}"
                self.w.line(f"fc_ahead({following}, run * (int64_t)sizeof *{pointer});")

    def _run_length(self, length: str) -> str:
        """How many elements are computed together, where ``length`` are left of a row."""
        waits = self.kernel.is_ordered or self.kernel.searches or self.iteration is not None
        return f"fc_min(FC_CHUNK, {length})" if waits else length

    def _begin_runs(self, body: Sequence[ir.Statement]) -> None:
        """What comes before all runs of ``body``."""

    def _begin_run(self) -> None:
        """What comes before the elements of a run."""

    def _end_run(self) -> None:
        """What comes behind them, when ``at`` has moved on."""

    def _move_on(self, index: dict[str, str]) -> None:
        """Move ``index`` to the end of a run, without the divisions that finding it there takes."""
        axes = list(index)[::-1]
        self.w.line(f"{index[axes[0]]} += run;")
        for inner, outer in itertools.pairwise(axes):
            self.w.line(f"if ({index[inner]} == {inner}) {index[inner]} = 0, ++{index[outer]};")

    def _checks(self, body: Sequence[ir.Statement], element: Place) -> None:
        """A run of which only what may fail is computed, and then looked at."""
        with self.watched(body), self.w.block("for (int64_t k = 0; k < run; ++k)"):
            for statement in body:
                if isinstance(statement, ir.Scatter):
                    lines, _, inside = element.displaced(f"to{statement.form}", statement)
                    self.w.lines([*lines, element.failed(statement.site, f"!({inside})")])
                else:
                    self.w.lines(element.lines(statement))
        self.w.line("if (a->status[0]) return;")

    def _elements(self, body: Sequence[ir.Statement], element: Place) -> None:
        """A run of elements; what is written in order waits until the rest of them is computed."""
        ordered = [s for s in body if isinstance(s, ir.Scatter | ir.Compact)]
        calm: list[ir.Statement] = [s for s in body if not isinstance(s, ir.Scatter | ir.Compact)]
        used = {v for s in ordered for v in operands(s)}
        late = _at_hand(calm, used)
        calm = _besides(calm, late)
        same, found = self._same(calm)
        waiting = {
            s.out: c_type(s.dtype)
            for s in calm
            if not isinstance(s, ir.Effect) and s.out in used and s not in late and s not in same
        }
        calm = [s for s in calm if s not in same]
        for value, kind in waiting.items():
            self.w.line(f"{kind} b{value}[FC_CHUNK];")
        for statement in same:
            self.w.lines(self.lines(element, statement))
        for statement in found:
            self.w.lines(element.found(statement))
        if calm:
            self._calm(calm, element, found, waiting)
        if not ordered:
            return
        behind: list[ir.Statement] = [*late, *ordered]
        with self.w.block("for (int64_t k = 0; k < run; ++k)"):
            for value, kind in waiting.items():
                self.w.line(f"const {kind} {names.value(value)} = b{value}[k];")
            for statement in behind:
                self.w.lines(element.lines(statement))
            self._step_on(ordered)

    def _step_on(self, ordered: Sequence[ir.Statement]) -> None:
        """What follows the element at hand, when it has been written."""

    def _calm(
        self,
        body: Sequence[ir.Statement],
        element: Place,
        found: Collection[ir.Statement],
        waiting: Collection[int],
    ) -> None:
        """The loops over ``body``, one or, where it searches, more; what is ``waiting`` is kept.

        The places of the gathers ``found`` are known.
        """
        pieces = scans.pieces(ir.Stage(body=list(body)), searches=True)
        if self.iteration is not None:
            pieces = iterations.pieces_of(self.iteration)
        for value, kind in scans.buffers(pieces).items():
            if value not in waiting:
                self.w.line(f"{kind} b{value}[FC_CHUNK];")
        for piece in pieces:
            made = {s.out for s in piece.body if not isinstance(s, ir.Effect)}
            kept = [v for v in {**piece.left, **dict.fromkeys(waiting)} if v in made]
            with iterations.by_turns(piece, self.w):
                self._loop(piece, element, found, kept)
            if piece.search is not None:
                self.search_run(element, piece.search)

    def _loop(
        self,
        piece: scans.Piece,
        element: Place,
        found: Collection[ir.Statement],
        kept: Sequence[int],
    ) -> None:
        """One loop over a run, of which the values ``kept`` go into buffers."""
        with self.streaming(piece.body), self.nearing(piece.body, element.axis):
            for body in self.mostly(piece.body, element.tests, [*kept, *piece.anew.values()]):
                once = not found and not piece.taken and self.iteration is None
                run = self.over_run if once else self._in_turn
                for _ in self.attempts(body, piece.taken):
                    for _ in self.asking(() if found or piece.taken else body):
                        with self.watched([s for s in body if s not in found]):
                            for _ in run(body):
                                self._element(piece, body, element, found, kept)

    def _element(
        self,
        piece: scans.Piece,
        body: Sequence[ir.Statement],
        element: Place,
        found: Collection[ir.Statement],
        kept: Sequence[int],
    ) -> None:
        """The element at hand of a loop over ``body``."""
        self.asked(element.axis)
        for value, kind in piece.taken.items():
            self.w.line(f"const {kind} {names.value(value)} = b{value}[k];")
        for s in body:
            if isinstance(s, ir.Gather) and s in found:
                self.w.line(element.gathered(s))
            else:
                self.w.lines(self.lines(element, s))
        left = {**dict(zip(kept, kept, strict=True)), **piece.anew}
        self.w.lines([f"b{b}[k] = {names.value(v)};" for b, v in left.items()])

    def _in_turn(self, body: Sequence[ir.Statement]) -> Iterator[None]:
        """Where the loop over a run of ``body`` is written, element by element."""
        with self.loop("for (int64_t k = 0; k < run; ++k)", body):
            yield

    def _same(self, body: Sequence[ir.Statement]) -> tuple[list[ir.Statement], list[ir.Gather]]:
        """The statements whose value is one for all of a run, and gathers of which the place is.

        The compiler sees that of arithmetic, but not of what is read beside writes, nor of tests.
        """
        steps = self.variant.steps
        if steps is None or self.traffic:
            return [], []
        known = {s.out for s in self.kernel.stages[0].head if not isinstance(s, ir.Effect)}
        same: list[ir.Statement] = []
        found: list[ir.Gather] = []
        for s in body:
            match s:
                case ir.Load(form=form, guard=None):
                    stands = steps[form] == 0
                case ir.Gather(form=form) if known.issuperset(s.indices):
                    stands = steps[form] == 0
                    if not stands and steps[form] != ANY_STEP:
                        found.append(s)
                case ir.Search(value=value):
                    stands = value in known
                case ir.Compute(op=op, site=site):
                    stands = op != "where" and site < 0 and known.issuperset(s.operands)
                case _:
                    stands = False
            if stands and not isinstance(s, ir.Effect):
                same.append(s)
                known.add(s.out)
        return same, found


def _at_hand(body: Sequence[ir.Statement], used: Collection[int]) -> list[ir.Statement]:
    """What ``used`` values are as soon read, counted or converted from, again as they are kept."""
    sources = {
        s.out: s
        for s in body
        if isinstance(s, ir.Index) or (isinstance(s, ir.Load) and s.guard is None)
    }
    found: set[int] = set()
    for s in body:
        if isinstance(s, ir.Effect) or s.out not in used:
            continue
        if s.out in sources:
            found.add(s.out)
        elif _widens(s) and s.operands[0] in sources:
            found.update((s.out, s.operands[0]))
    return [s for s in body if not isinstance(s, ir.Effect) and s.out in found]


def _besides(body: Sequence[ir.Statement], late: Collection[ir.Statement]) -> list[ir.Statement]:
    """``body`` without the ``late`` statements that nothing else in it is computed from."""
    needed: set[int] = set()
    found: list[ir.Statement] = []
    for s in reversed(body):
        if s not in late or (not isinstance(s, ir.Effect) and s.out in needed):
            needed.update(operands(s))
            found.append(s)
    return found[::-1]


def _widens(statement: ir.Statement) -> TypeGuard[ir.Compute]:
    """True for a conversion between integers, which may come with what reads them."""
    return (
        isinstance(statement, ir.Compute)
        and statement.op == "convert"
        and all(d.kind in "iu" for d in (statement.dtype, *statement.operand_dtypes))
    )


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
