"""Emission of reductions in columns: blocks of rows that lie side by side themselves.

The rows of a block, COLUMN_BLOCK at most, advance together, and every row value is an array over
the block, unless it is the same number for all rows. The tree is that of the row skeleton; where
little is computed, _AT_ONCE elements that one lane takes one after the other are read together:
lanes are written once for all of them. What has no order needs no lanes: one total for each row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from ..codegen import names, reductions
from ..codegen.scalar import c_type, memory_type
from ..codegen.scans import scans_of
from ..fusion import kernel_ir as ir
from ..fusion.variants import COLUMN_BLOCK, Variant
from ..fusion.walked_forms import forms_of
from ..graph.dtypes import BOOL
from .column_place import ColumnPlace, numbers_of
from .emit_chunks import NARROW, is_narrow
from .emit_reduction import ReductionEmitter
from .index_tests import NO_TESTS, Tests, tests_of
from .lanes import is_light


class ColumnEmitter(ReductionEmitter):
    """Blocks of rows side by side; each stage walks the rows' elements in step."""

    is_whole = True  # with what runs when all rows are done
    at_hand = "at + done"  # which element of its row is computed
    lane_at_hand = "done % FC_LANES"
    is_first = False  # if the element at hand is that of its lane

    def __init__(self, kernel: ir.KernelIR, variant: Variant, traffic: bool = False) -> None:
        super().__init__(kernel, variant, traffic)
        self.row_values: dict[int, str] = {r.out: c_type(r.dtype) for r in self.inner}
        self.numbers = numbers_of(kernel)
        self._given: set[int] = set()  # the numbers that have been declared
        for s in self._row_statements():
            if not isinstance(s, ir.Effect) and s.out not in self.numbers:
                self.row_values[s.out] = c_type(s.dtype)

    def emit(self) -> str:
        kernel = self.kernel
        self.prologue()
        statements = [s for st in kernel.stages for s in (*st.head, *st.body)] + kernel.tail
        forms = forms_of(statements)
        *outer, inner = self.dims.row_axes
        with self.w.block(self.entry()):
            self.head(forms, statements)
            self.w.line("const int64_t block = part_length;")
            self.keeps(" * block")
            item = "for (int64_t item = begin; item < end; ++item)"
            with self.w.block(item), self.block_of_rows(inner):
                self.w.line("(void)row; (void)outer;")
                index = self.unravel("outer", outer) if outer else {}
                self.bases(forms, "row_", "", {**index, inner: "first"}, self.typed)
                for number, kind in self.row_values.items():
                    self.w.line(f"{kind} {names.value(number)}[{COLUMN_BLOCK}];")
                self.stages()
                self.rows(kernel.tail, with_outer=True)
        if self.is_whole and (kernel.outer or kernel.splittable or kernel.cross):
            self.finish()
        return self.w.text()

    @contextmanager
    def block_of_rows(self, inner: str) -> Iterator[None]:
        """What surrounds the rows side by side along axis ``inner`` that are computed together."""
        self.w.line(f"const int64_t blocks = ({inner} + block - 1) / block;")
        self.w.line("const int64_t first = item % blocks * block;")
        self.w.line(f"const int64_t width = fc_min(block, {inner} - first);")
        self.w.line("const int64_t outer = item / blocks;")
        self.w.line(f"const int64_t row = outer * {inner} + first;")
        yield

    def stages(self) -> None:
        """The passes over the rows of a block."""
        if self.kernel.segment is None:
            self._test_of_chunk("length")
        for stage in self.kernel.stages:
            self.stage(stage)

    def _test_of_chunk(self, length: str) -> None:
        test = f"{length} > 0 && {length} <= FC_CHUNK"
        self.w.line(f"const bool is_chunk = {test};  // no tree over it")
        self.w.line("(void)is_chunk;")

    def _join_parts(self) -> None:
        """Rows side by side are never split."""

    def rows(self, statements: list[ir.Statement], with_outer: bool = False) -> None:
        """Row statements, for each row of the block."""
        if not statements and not (with_outer and self.kernel.outer):
            return
        place = ColumnPlace(self, "row_")
        own = []
        for statement in statements:
            if isinstance(statement, ir.Effect) or statement.out not in self.numbers:
                own.append(statement)
            elif statement.out not in self._given:  # by the stage that had it first
                self._given.add(statement.out)
                self.w.lines(place.lines(statement))
        if not own and not (with_outer and self.kernel.outer):
            return
        with self.watched(own), self.loop("for (int64_t c = 0; c < width; ++c)"):
            for statement in own:
                self.w.lines(place.lines(statement))
            if with_outer:
                for number, reduce in enumerate(self.kernel.outer):
                    slot = self.outer_slot(number, "(row + c)")
                    self.w.line(f"{slot} = {place.name(reduce.value)};")

    def stage(self, stage: ir.Stage) -> None:
        self.rows(stage.head)
        if not stage.body and not stage.reduces and not stage.cross:
            return
        length = self.segment("[0]")
        if self.kernel.segment is not None:
            self._test_of_chunk(length)
        for r in stage.reduces:
            self._partials(r)
        self.start_scans(stage)
        with self.w.block(f"for (int64_t at = 0; at < {length}; at += FC_CHUNK)"):
            self.w.line(f"const int64_t count = fc_min(FC_CHUNK, {length} - at);")
            self._start(stage)
            with self.w.block("for (; done < count; ++done)"):
                self.elements(stage)
            for r in stage.reduces:
                self._fold(r)
        for r in stage.reduces:
            tree = f"fc_finish_{reductions.tree_name(r)}(&tree{r.out}[c])"
            for test, found in (("is_chunk", f"lane{r.out}[c]"), ("!is_chunk", tree)):
                self.w.line(f"for (int64_t c = 0; c < width && {test}; ++c)")
                self.w.line(f"    {names.value(r.out)}[c] = {reductions.result(r, found)};")

    def start_scans(self, stage: ir.Stage) -> None:
        """Declare the totals of what runs on along each row."""
        for scan in scans_of(stage):
            self.w.line(f"{c_type(scan.dtype)} total{scan.out}[{COLUMN_BLOCK}];")
            start = reductions.scan_start(scan)
            self.w.line(f"for (int64_t c = 0; c < width; ++c) total{scan.out}[c] = {start};")

    def _partials(self, r: ir.Reduce) -> None:
        """Declare what the elements of a chunk are combined into, and the tree of chunks."""
        name, partial = reductions.tree_name(r), self.lane_type(r)
        if reductions.finds_place(r):
            self.w.line(f"{c_type(r.value_dtype)} best{r.out}[{COLUMN_BLOCK}];")
            self.w.line(f"{reductions.place_type(r)} place{r.out}[{COLUMN_BLOCK}];")
            self.w.line(f"{partial} lane{r.out}[{COLUMN_BLOCK}];")
        else:
            self.w.line(f"{partial} lane{r.out}[{self.lanes_of(r)}{COLUMN_BLOCK}];")
        self.w.line(f"fc_tree_{name} tree{r.out}[{COLUMN_BLOCK}];")
        self.w.line("for (int64_t c = 0; c < width && !is_chunk; ++c)")
        self.w.line(f"    fc_start_{name}(&tree{r.out}[c]);")

    def has_lanes(self, r: ir.Reduce) -> bool:
        """True if elements wait in lanes: a place is found without, and so is what has no order."""
        return not reductions.finds_place(r) and not reductions.has_no_order(r)

    def lanes_of(self, r: ir.Reduce) -> str:
        """How many times over a block has something of ``r`` that waits, as a factor."""
        return "FC_LANES * " if self.has_lanes(r) else ""

    def start_total(self, r: ir.Reduce) -> None:
        """The total of each row begins with the identity."""
        identity = f"fc_identity_{reductions.tree_name(r)}()"
        self.w.line(f"for (int64_t c = 0; c < width; ++c) lane{r.out}[c] = {identity};")

    def waiting(self, r: ir.Reduce, lanes: str) -> str:
        """Where the element at hand meets others, if those of its lane are from ``lanes`` on."""
        return f"lane{r.out}[{lanes} + c]" if self.has_lanes(r) else f"lane{r.out}[c]"

    def _start(self, stage: ir.Stage) -> None:
        """What a chunk begins with: of a place the first element is the start."""
        is_light = self.typed and not self.traffic and _is_light(stage)
        if stage.reduces:
            self.w.line("const int64_t lanes_used = fc_min(FC_LANES, count);")
        for r in stage.reduces:
            if reductions.has_no_order(r):
                self.start_total(r)
            elif not is_light and self.has_lanes(r):
                self._start_lanes(r)
        self.w.line("int64_t done = 0;")
        if is_light:
            self._first(stage)
            self._at_once(stage)

    def _start_lanes(self, r: ir.Reduce) -> None:
        """Every lane of a chunk begins with the identity."""
        self.w.line("for (int64_t l = 0; l < lanes_used; ++l)")
        self.w.line("    for (int64_t c = 0; c < width; ++c)")
        identity = f"fc_identity_{reductions.tree_name(r)}()"
        self.w.line(f"        lane{r.out}[l * block + c] = {identity};")

    def _first(self, stage: ir.Stage) -> None:
        """The first element of every lane, which is what it begins with."""
        self.is_first = True
        with self.w.block("for (; done < lanes_used; ++done)"):
            self.elements(stage)
        self.is_first = False

    def _at_once(self, stage: ir.Stage) -> None:
        """Elements that meet in one lane, for all lanes, as often as there are enough of them."""
        forms = forms_of(stage.body)
        step = f"{_AT_ONCE} * FC_LANES"
        with (
            self.w.block(f"for (; block >= {_WIDE} && done + {step} <= count; done += {step})"),
            self.w.block("for (int64_t l = 0; l < FC_LANES; ++l)"),
        ):
            pointers = {f: names.pointer(self.kernel, f) for f in forms}
            kinds = {f: f"const {memory_type(self.dtype(f))} *" for f in forms}
            for f in forms:
                self.w.line(f"{kinds[f]}from_{pointers[f]}[{_AT_ONCE}];")
            with self.w.block(f"for (int64_t k = 0; k < {_AT_ONCE}; ++k)"):
                position = self.place_in_row("at + done + l + k * FC_LANES")
                self.w.line(f"const int64_t position = {position};")
                index = self.unravel("position", self.dims.axes)
                for f in forms:
                    self._element_base(f, index)
                    self.w.line(f"from_{pointers[f]}[k] = {pointers[f]};")
            place = ColumnPlace(self, "")
            self.w.line("#pragma GCC ivdep")
            with self.w.block("for (int64_t c = 0; c < width; ++c)"):
                for r in stage.reduces:
                    kind, lane = self.lane_type(r), self.waiting(r, "l * block")
                    self.w.line(f"{kind} sum{r.out} = {lane};")
                with self.w.block(f"for (int64_t k = 0; k < {_AT_ONCE}; ++k)"):
                    for f in forms:
                        self.w.line(f"{kinds[f]}const {pointers[f]} = from_{pointers[f]}[k];")
                    for statement in stage.body:
                        self.w.lines(place.lines(statement))
                    for r in stage.reduces:
                        leaf = self.leaf(r, place.name(r.value), "0")
                        self.w.line(f"sum{r.out} = {self.combined(r, f'sum{r.out}', leaf)};")
                for r in stage.reduces:
                    self.w.line(f"{self.waiting(r, 'l * block')} = sum{r.out};")

    def elements(self, stage: ir.Stage) -> None:
        """One element of each row of the block."""
        self.w.line(f"const int64_t position = {self.place_in_row(self.at_hand)};")
        index = self.unravel("position", self.dims.axes)
        self.w.line(f"const int64_t lanes = {self.lane_at_hand} * block;")
        self.w.line("(void)lanes;")
        tests = NO_TESTS if self.traffic else tests_of((), stage.body)  # row values are arrays here
        if not tests:
            self._columns(stage, tests, index, "0", "width")
            return
        with self.w.block("for (int64_t from = 0; from < width;)"):
            self.run(tests, "width - from")
            self._columns(stage, tests, index, "from", "from + run")
            self.w.line("from += run;")

    def _columns(
        self, stage: ir.Stage, tests: Tests, index: dict[str, str], first: str, last: str
    ) -> None:
        """One element of some rows of the block."""
        for f in forms_of(stage.body):
            self._element_base(f, index)
        self.make(tests, self.dims.row_axes[-1], first)
        place = ColumnPlace(self, "", tests)
        loop = f"for (int64_t c = {first}; c < {last}; ++c)"
        body = [] if tests else stage.body
        with self.streaming(body, last):
            for _ in self.asking(stage.body):
                with self.watched(stage.body), self.loop(loop):
                    self.asked(place.axis, "c", last)
                    self._column(stage, place)

    def shared_numbers(self) -> Collection[int]:
        return self.numbers

    def _column(self, stage: ir.Stage, place: ColumnPlace) -> None:
        """One element of the row at hand."""
        for statement in stage.body:
            self.w.lines(place.lines(statement))
        for r in stage.reduces:
            if reductions.finds_place(r):
                self._found(r, place.name(r.value))
                continue
            self.w.line(self.met(r, place.name(r.value)))
        for r in stage.cross:
            self.w.line(f"{self.across(r)}[c] = {place.name(r.value)};")

    def met(self, reduce: ir.Reduce, value: str) -> str:
        """The statement by which ``value`` meets others of its lane."""
        lane, leaf = self.waiting(reduce, "lanes"), self.leaf(reduce, value, "position")
        begins = self.is_first and self.has_lanes(reduce)
        return f"{lane} = {leaf if begins else self.combined(reduce, lane, leaf)};"

    def lane_type(self, reduce: ir.Reduce) -> str:
        """The C type of what waits in lanes: bools are as wide as what they are found by."""
        if self.is_narrow(reduce):
            return NARROW
        if not self.is_wide(reduce):
            return reductions.partial_type(reduce)
        read = (f.dtype.itemsize for f in self.kernel.forms if f.dtype and not f.store)
        return {1: "uint8_t", 2: "uint16_t"}.get(max(read, default=1), "int32_t")

    def is_wide(self, reduce: ir.Reduce) -> bool:
        """True for bools, with which nothing is computed in vectors."""
        return reduce.kind in _WIDENED and reduce.value_dtype == BOOL

    def is_narrow(self, reduce: ir.Reduce) -> bool:
        """True for sums of bools and of small integers, of which those of a chunk are narrow."""
        bodies = (s.body for s in self.kernel.stages if reduce in s.reduces)
        return reduce.kind == "sum" and any(is_narrow(body, reduce) for body in bodies)

    def leaf(self, reduce: ir.Reduce, value: str, position: str) -> str:
        """The text of one element as it meets others."""
        name = reductions.tree_name(reduce)
        if self.is_narrow(reduce):
            return f"({NARROW}){value}"
        return value if self.is_wide(reduce) else f"fc_leaf_{name}({value}, {position})"

    def combined(self, reduce: ir.Reduce, one: str, other: str) -> str:
        """The text of two that have met."""
        if self.is_narrow(reduce):
            return f"{one} + {other}"
        if self.is_wide(reduce):
            return f"{one} {_WIDENED[reduce.kind]} {other}"
        return f"fc_combine_{reductions.tree_name(reduce)}({one}, {other})"

    def across(self, reduce: ir.Reduce) -> str:
        """Where values wait that meet across rows, at the place at hand."""
        raise NotImplementedError

    def _found(self, r: ir.Reduce, value: str) -> None:
        """The element at hand may be the first of the best so far, as any NaN is."""
        best, at = f"best{r.out}[c]", f"place{r.out}[c]"
        better = f"FC_IS_BETTER({value}, {reductions.better(r)}, {best})"
        self.w.line(f"const bool better{r.out} = !done | {better};")
        self.w.line(f"{best} = better{r.out} ? {value} : {best};")
        self.w.line(f"{at} = better{r.out} ? ({reductions.place_type(r)})done : {at};")

    def _element_base(self, form: int, index: dict[str, str]) -> None:
        """Where ``form`` stands at the present element of the block's first row."""
        moves = "".join(f" + {i} * {names.stride(form, axis)}" for axis, i in index.items())
        dtype = self.kernel.forms[form].dtype
        if dtype is None:
            name = names.index(form)
            self.w.line(f"const int64_t {name} = row_{name}{moves};")
            return
        name = names.pointer(self.kernel, form)
        const = "" if self.kernel.forms[form].store else "const "
        kind = f"{const}{memory_type(dtype) if self.typed else 'char'} *"
        self.w.line(f"{kind}{name} = ({kind})(({const}char *)row_{name}{moves});")

    def _fold(self, r: ir.Reduce) -> None:
        name, out = reductions.tree_name(r), r.out
        if reductions.finds_place(r):
            at = f"{self.place_in_row('at')} + place{out}[c]"
            self.w.line("for (int64_t c = 0; c < width; ++c)")
            self.w.line(f"    lane{out}[c] = fc_pair_{name}(best{out}[c], {at});")
            self.w.line("for (int64_t c = 0; c < width && !is_chunk; ++c)")
            self.w.line(f"    fc_push_{name}(&tree{out}[c], lane{out}[c]);")
            return
        if self.has_lanes(r):
            self.fold_lanes(r, "lanes_used")
        self.w.line("for (int64_t c = 0; c < width && !is_chunk; ++c)")
        self.w.line(f"    fc_push_{name}(&tree{out}[c], lane{out}[c]);")

    def fold_lanes(self, r: ir.Reduce, count: str) -> None:
        """Combine ``count`` lanes of each row, in halves."""
        out = r.out
        used = f"used{out}"
        self.w.line(f"int64_t {used} = {count};")
        with self.w.block("for (int64_t w = FC_LANES / 2; w; w /= 2)"):
            self.w.line(f"for (int64_t l = 0; l + w < {used}; ++l)")
            self.w.line("    #pragma GCC ivdep")
            self.w.line("    for (int64_t c = 0; c < width; ++c)")
            lane, other = (
                f"lane{out}[l * block + c]",
                f"lane{out}[(l + w) * block + c]",
            )
            self.w.line(f"        {lane} = {self.combined(r, lane, other)};")
            self.w.line(f"{used} = fc_min({used}, w);")


_WIDENED = {"any": "|", "all": "&", "max": "|", "min": "&"}
_AT_ONCE = 8
_WIDE = 32  # rows side by side for which that pays: a few stay in the first cache anyway


def _is_light(stage: ir.Stage) -> bool:
    """True for a stage that reads and adds up values of elements."""
    values = all(reductions.partial_type(r) == c_type(r.value_dtype) for r in stage.reduces)
    return bool(stage.reduces) and values and is_light(stage.body)
