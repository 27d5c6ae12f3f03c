"""Emission of runs: the loop over elements that lie in a row, and what is done once around it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from ..codegen import names
from ..codegen.scalar import memory_type
from ..fusion import kernel_ir as ir
from ..fusion.packed import is_packable
from ..fusion.variants import ANY_STEP
from ..graph.dtypes import DType
from . import blocks, chosen, interiors, iterations, quotients, truths
from .ahead import DISTANCE, Ahead, ahead_of, are_large
from .emit import KernelEmitter
from .index_tests import NO_TESTS, Tests, tests_of
from .place import Place

_FEW = 2  # operations for each element moved, up to which short runs are quicker uncopied
_NARROW = 2  # bytes of an element of which gcc makes no vectors where steps are arguments


class RunEmitter(KernelEmitter):
    """What the skeletons share that walk along runs; what the loop at hand has is noted.

    ``streamed`` are the forms of stores that it may put on the stack; ``spread`` the pointers that
    step over elements, and where a block of these is; ``grouped`` the forms whose runs may be put
    together, and which one is at hand; ``near`` the forms whose elements have been put side by
    side; ``wide`` those of truths that it knows as numbers, True for what is stored; ``divisors``
    those that it needs no division for; ``ahead`` is what it asks memory for before that is due.
    """

    streamed: Sequence[int] = ()
    spread: Mapping[str, str] = {}
    grouped: Mapping[int, str] = {}
    near: Collection[int] = ()
    wide: Mapping[int, bool] = {}
    divisors: Mapping[int, DType] = {}
    ahead: Ahead | None = None
    watched_sites: frozenset[int] = frozenset()  # of what fails in it: told behind it

    @contextmanager
    def loop(self, head: str, body: Sequence[ir.Statement] = ()) -> Iterator[None]:
        """A loop over elements that do not depend on each other, whatever they seem to overlap.

        Of narrow elements that are looked up without a test gcc makes no vectors that are quicker.
        """
        looks = any(isinstance(s, ir.Gather) and s.dtype.itemsize < 4 for s in body)
        self.w.line(f"#pragma GCC {'unroll 8' if looks and self.variant.sure else 'ivdep'}")
        with self.w.block(head):
            yield

    def over_run(self, body: Sequence[ir.Statement], keeps: str = "") -> Iterator[None]:
        """Where the loop over all of a run of ``body`` is written: once or, where it is cut, twice.

        It is cut into blocks if it can be, if little is computed beside a loop for short runs.
        ``keeps`` is where the run is in what is kept of a row.
        """
        plain = self.traffic or self.watched_sites or self.divisors or self.near or self.ahead
        size = 0 if plain else blocks.size_of(self.kernel, self.variant.steps, body)
        if not size:
            with self.loop("for (int64_t k = 0; k < run; ++k)", body):
                yield
        elif len(self.dims.axes) > 1 and _is_little(body):
            with (
                self.w.block(f"if (run < {size})"),
                self.loop("for (int64_t k = 0; k < run; ++k)", body),
            ):
                yield
            with self.w.block("else"), self._in_blocks(body, keeps, size):
                yield
        else:
            with self._in_blocks(body, keeps, size):
                yield

    @contextmanager
    def _in_blocks(self, body: Sequence[ir.Statement], keeps: str, size: int) -> Iterator[None]:
        """The loop over all of a run in blocks of ``size``: whole ones go on, then comes the rest.

        Where elements are put side by side first, that is done block by block.
        """
        pointers = self._pointers(body, keeps)
        taken = [p for p in pointers if p.step > 1]
        stored = [p for p in pointers if p.back]
        self.w.lines([p.declared(size) for p in pointers])
        with self.w.block("for (int64_t block = 0, count; block < run; block += count)"):
            self.w.line(f"count = {size if taken else f'fc_blocks(run - block, {size})'};")
            self.w.line(f"const int64_t from = fc_block(block, run, {size}, a->again);")
            with self.w.block("if (from + count > run)"):
                self.w.lines([p.moved(size) for p in pointers])
            if taken:
                with self.w.block("else"):
                    self.w.lines([p.taken(size) for p in taken])
                self.w.line("#pragma GCC unroll 1")
            self.spread = {p.name: p.apart for p in taken}
            with self.loop("for (int64_t i = 0; i < count; ++i)"):
                self.w.line("const int64_t k = from + i;")
                yield
            self.spread = {}
            with self.w.block("if (from + count > run)") if stored else nullcontext():
                self.w.lines([p.returned() for p in stored])

    def _pointers(self, body: Sequence[ir.Statement], keeps: str) -> list[blocks.Pointer]:
        """What the loop over a run of ``body`` steps along."""
        steps = self.variant.steps
        assert steps is not None
        found: dict[str, blocks.Pointer] = {}
        for s in body:
            name, back = "", ""
            step = 1
            if isinstance(s, ir.Load) and steps[s.form]:
                name, step = names.pointer(self.kernel, s.form), steps[s.form]
            elif isinstance(s, ir.ChosenLoad) and chosen.step_of(s, steps):
                name = chosen.pointer(s)
            elif isinstance(s, ir.Store):
                name, back = self._stored_to(s)
            elif isinstance(s, ir.Keep | ir.Recall):
                name = f"keep{s.slot}"
                back = f"row_{name}{keeps}" if isinstance(s, ir.Keep) else ""
            if name:
                found.setdefault(name, blocks.Pointer(name, memory_type(s.dtype), back, step))
        return list(found.values())

    def _stored_to(self, store: ir.Store) -> tuple[str, str]:
        """The pointer that ``store`` steps along, and where the run of it begins."""
        form = store.form
        if form in self.late:
            return f"late{form}", f"(ring{form} + (at & (room - 1)))"
        out = names.pointer(self.kernel, form)
        if form in self.streamed:
            return f"to{form}", f"(a->streams ? room{form} : {out})"
        return out, out

    def iteration_of(
        self, body: Sequence[ir.Statement], used: Iterable[int] = ()
    ) -> iterations.Iteration | None:
        """The steps of ``body`` that are alike, if those of a run may be computed by turns.

        The values ``used`` are what is reduced.
        """
        if self.traffic or self.late or self.tests(body):
            return None
        return iterations.iteration_of(body, used)

    @contextmanager
    def watched(self, loop: Iterable[ir.Statement]) -> Iterator[None]:
        """What surrounds the loop over statements ``loop``, of which some may fail.

        That is noted in a number for each and reported behind the loop: gcc makes no vectors of
        what may write the status word.
        """
        sites = {s.site for s in loop if isinstance(s, ir.Reporting) and ir.reports(s)}
        self.w.lines([f"int64_t failed{site} = 0;" for site in sorted(sites)])
        self.watched_sites = frozenset(sites)
        yield
        self.watched_sites = frozenset()
        for site in sorted(sites):
            self.w.line(f"if (failed{site}) a->status[0] = {site + 1};")

    def attempts(self, body: Sequence[ir.Statement], varying: Iterable[int] = ()) -> Iterator[None]:
        """Where the loop over ``body`` is written: once or, by quotients.py, twice."""
        divisors = self.divisors_of(body, varying)
        if not divisors:
            yield
            return
        for number, dtype in divisors.items():
            self.w.lines(quotients.declared(number, dtype, Place(self, "", "", "").name(number)))
        far = " | ".join(f"far{number}" for number in divisors)
        far = f"({far})" if len(divisors) > 1 else far
        size = blocks.size_of(self.kernel, self.variant.steps, body) or 1
        self.w.line(f"const bool at_once = fc_shared(run, {size}){self._apart(body)};")
        with self.w.block(f"if (at_once && !{far})"):
            self.divisors = divisors
            yield
            self.divisors = {}
        with self.w.block(f"if (!at_once || {far})"):
            yield

    def asking(self, body: Sequence[ir.Statement]) -> Iterator[None]:
        """Where the loop over ``body`` is written: once or, by ahead.py, twice."""
        ahead = None if self.traffic else ahead_of(body, self.shared_numbers())
        if ahead is None:
            yield
            return
        places = [[names.limit(n) for n in s.limits[0]] for s in ahead.gathers]
        with self.w.block(f"if ({are_large([(extent, stride) for extent, stride in places])})"):
            self.ahead = ahead
            yield
            self.ahead = None
        with self.w.block("else"):
            yield

    def shared_numbers(self) -> Collection[int]:
        """The values that are the same for all elements of a loop."""
        heads = (s for stage in self.kernel.stages for s in stage.head)
        return {s.out for s in heads if not isinstance(s, ir.Effect)}

    def asked(self, axis: str, at: str = "k", end: str = "run") -> None:
        """What the loop along ``axis`` that is at ``at`` asks memory for, which is due later."""
        if self.ahead is None:
            return
        place = Place(self, "ahead", axis, "")
        self.w.line(f"const int64_t ahead = fc_min({at} + {DISTANCE}, {end} - 1);")
        with self.w.block():
            for s in self.ahead.sources:
                self.w.lines(place.lines(s))
            self.w.lines([place.asked(s) for s in self.ahead.gathers])

    def mostly(
        self, body: Sequence[ir.Statement], tests: Tests, taken: Iterable[int] = ()
    ) -> Iterator[Sequence[ir.Statement]]:
        """What the loop over ``body`` computes: once or, by interiors.py, twice."""
        inner = interiors.interior_of(body, tests, taken)
        if inner is None:
            yield body
            return
        with self.w.block(f"if ({inner.condition})"):
            yield inner.body
        with self.w.block("else"):
            yield body

    def divisors_of(
        self, body: Sequence[ir.Statement], varying: Iterable[int] = ()
    ) -> dict[int, DType]:
        """The divisors that need no division in the loop over ``body``."""
        steps = self.variant.steps
        if steps is None or self.traffic:
            return {}
        stored = any(isinstance(s, ir.Store) and s.form not in self.late for s in body)
        if stored and any(steps[s.form] not in (0, 1) for s in body if isinstance(s, ir.Load)):
            return {}
        return quotients.divisors_of(body, varying)

    def _apart(self, body: Sequence[ir.Statement]) -> str:
        """The conditions that the run overwrites nothing that it reads."""
        assert self.variant.steps is not None
        loads = {s.form: s.dtype for s in body if isinstance(s, ir.Load)}
        stores = [s.form for s in body if isinstance(s, ir.Store) and s.form not in self.late]
        found = []
        for form, dtype in loads.items():
            if not self.variant.steps[form]:
                continue
            for store in stores:
                pair = [names.pointer(self.kernel, f) for f in (form, store)]
                size = f"(size_t)run * sizeof({memory_type(dtype)})"
                found.append(f" && fc_apart({', '.join(pair)}, {size})")
        return "".join(found)

    @contextmanager
    def streaming(self, body: Sequence[ir.Statement], length: str = "run") -> Iterator[None]:
        """What surrounds loops over ``length`` elements, whose results may go past the caches."""
        streamed = self.streamed_by(body)
        for form, dtype in streamed.items():
            kind, out = memory_type(dtype), names.pointer(self.kernel, form)
            self.w.line(f"{kind} room{form}[FC_ROOM];")
            self.w.line(f"{kind} *to{form} = a->streams ? room{form} : {out};")
        self.streamed = list(streamed)
        yield
        self.streamed = ()
        for form in streamed:
            out, size = names.pointer(self.kernel, form), f"(size_t){length} * sizeof *room{form}"
            self.w.line(f"if (a->streams) fc_stream({out}, room{form}, {size});")

    def streamed_by(self, body: Sequence[ir.Statement]) -> dict[int, DType]:
        """The forms of ``body``'s stores to elements side by side, with their types."""
        steps = self.variant.steps
        if steps is None or self.traffic:
            return {}
        stores = (s for s in body if isinstance(s, ir.Store) and s.form not in self.late)
        return {s.form: s.dtype for s in stores if steps[s.form] == 1 and s.form not in self.wide}

    def widened_by(self, body: Sequence[ir.Statement]) -> dict[int, bool]:
        """The forms of ``body``'s truths that are made wide; True for what is stored."""
        if self.traffic or self.late:
            return {}
        return truths.widened(self.variant.steps, body)

    @contextmanager
    def widening(self, wide: Mapping[int, bool]) -> Iterator[None]:
        """What surrounds the loop over a run of FC_ROOM elements at most: its truths made wide."""
        self.w.lines([f"int64_t wide{form}[FC_ROOM];" for form in wide])
        for form in (f for f, is_stored in wide.items() if not is_stored):
            self.w.line(f"fc_widen(wide{form}, {names.pointer(self.kernel, form)}, run);")
        self.wide = wide
        yield
        self.wide = {}
        for form in (f for f, is_stored in wide.items() if is_stored):
            self.w.line(f"fc_narrow({names.pointer(self.kernel, form)}, wide{form}, run);")

    @contextmanager
    def nearing(self, body: Sequence[ir.Statement], axis: str) -> Iterator[None]:
        """What surrounds the loop over a run of ``body``: its narrow elements, put side by side."""
        moved = self._narrow_at_any_step(body)
        for form, (dtype, _) in moved.items():
            kind = memory_type(dtype)
            if form in self.grouped:
                self.w.line(f"{kind} *const near{form} = all{form}[{self.grouped[form]}];")
            else:
                self.w.line(f"{kind} near{form}[FC_NEAR];")
        self._move_near(moved, "pick", axis)
        self.near = moved
        yield
        self.near = ()
        self._move_near(moved, "put", axis)

    def _move_near(self, moved: Mapping[int, tuple[DType, bool]], way: str, axis: str) -> None:
        """Move the run of each form that is stored (``put``), or loaded (``pick``)."""
        for form, (dtype, stored) in moved.items():
            if stored == (way == "put"):
                pair = [names.pointer(self.kernel, form), f"near{form}"]
                to, source = pair if stored else pair[::-1]
                step = names.stride(form, axis)
                once = f"if (!group{form}) " if form in self.grouped else ""
                self.w.line(f"{once}fc_{way}_{dtype.itemsize}({to}, {source}, {step}, run);")

    @contextmanager
    def grouping(
        self, body: Sequence[ir.Statement], axis: str, inside: Sequence[str], index: dict[str, str]
    ) -> Iterator[None]:
        """What surrounds the walk ``inside`` runs along ``axis``: narrow stores may be grouped."""
        narrow = self._narrow_at_any_step(body) if len(inside) == 1 else {}
        stored = {form: dtype for form, (dtype, is_stored) in narrow.items() if is_stored}
        for form, dtype in stored.items():
            (inner,) = inside
            strides = ", ".join(names.stride(form, a) for a in (axis, inner))
            given = f"{inner}, {strides}, {dtype.itemsize}"
            self.w.line(f"{memory_type(dtype)} all{form}[FC_GROUP][FC_NEAR];")
            self.w.line(f"const bool group{form} = fc_is_group({given});")
        self.grouped = {form: f"group{form} ? i_{inside[0]} : 0" for form in stored}
        yield
        self.grouped = {}
        for form, dtype in stored.items():
            moves = "".join(f" + {i} * {names.stride(form, a)}" for a, i in index.items())
            start = f"a->ptr[{self.pointer_number(form)}]{moves}"
            call = f"fc_put_group_{dtype.itemsize}({start}, all{form}, {inside[0]}, run)"
            self.w.line(f"if (group{form}) {call};")

    def _narrow_at_any_step(self, body: Sequence[ir.Statement]) -> dict[int, tuple[DType, bool]]:
        """The forms of ``body`` that walk elements of a byte or two as arguments say.

        Each with its type, and whether it is stored.
        """
        steps = self.variant.steps
        if steps is None or self.traffic:
            return {}
        found = {}
        for s in body:
            if isinstance(s, ir.Store) or (isinstance(s, ir.Load) and s.guard is None):
                dtype = self.kernel.forms[s.form].dtype
                assert dtype is not None
                if steps[s.form] == ANY_STEP and dtype.itemsize <= _NARROW:
                    found[s.form] = dtype, isinstance(s, ir.Store)
        return found

    def search_run(self, place: Place, search: ir.Search, start: str = "") -> None:
        """Search for a run of values; they and what is found lie in buffers, from ``start`` on."""
        values = f"b{search.value}{start}"
        kind, *rest = place.search_terms(search, values, "run")
        found = f"b{search.out}{start}"
        self.w.line(f"FC_SEARCH_RUN({', '.join([found, kind, *rest])})")

    def tests(self, body: Sequence[ir.Statement]) -> Tests:
        """The tests of ``body`` that are made once for a run; none where accesses are counted."""
        heads = (s for stage in self.kernel.stages for s in stage.head)
        return NO_TESTS if self.traffic else tests_of(heads, body)

    def run(self, tests: Tests, length: str) -> None:
        """Declare how many elements from the present one on are computed together."""
        self.w.line(f"{'' if tests else 'const '}int64_t run = {length};")

    def make(self, tests: Tests, axis: str, start: str = "") -> None:
        """Shorten the run from ``start`` on until no test changes its answer, and make them."""
        place = Place(self, start, axis, "")
        for form, limit in dict.fromkeys(pair for test in tests.made for pair in test.tests):
            step, bound = names.stride(form, axis), names.limit(limit)
            self.w.line(f"run = fc_stretch(run, {place.index(form)}, {step}, {bound});")
        for test in tests.made:
            self.w.lines(place.lines(test))
        # Before forms that others read under other tests are led elsewhere.
        for load in tests.chosen:
            self.w.lines(chosen.declared(load, self.variant.steps or ()))
        for form, guards in tests.guards.items():
            dtype = self.kernel.forms[form].dtype
            assert dtype is not None
            if not guards:
                continue
            pointer = names.pointer(self.kernel, form)
            inside = " | ".join(map(names.value, guards))
            inside = f"({inside})" if len(guards) > 1 else inside
            if (steps := self.variant.steps) is not None:
                kind = f"const {memory_type(dtype)} *"
                self.w.lines(chosen.led_away(pointer, kind, inside, steps[form]))
            else:
                self.w.line(f"if (!{inside}) {pointer} = (const char *)fc_zeros;")
                step = f"{inside} ? {names.stride(form, axis)} : 0"
                self.w.line(f"const int64_t step_{pointer} = {step};")
        for number in sorted(tests.steady):
            self.w.line(f"const uint64_t mask{number} = fc_masks[{names.value(number)}];")


def _is_little(body: Sequence[ir.Statement]) -> bool:
    """True for what is written twice, since runs shorter than a block are not worth copies."""
    computed = sum(isinstance(s, ir.Compute) for s in body)
    moved = sum(isinstance(s, ir.Load | ir.ChosenLoad | ir.Store) for s in body)
    return computed <= _FEW * moved and not is_packable(body)
