"""Emission of tiled loops: what lies transposed in memory passes through shared memory.

A block has a square tile. Loads that are contiguous along the other axis are read along it, four
elements at a time, and go through shared memory; every other access walks the inner axis, four at a
time likewise. All that is read is under way before the block meets. Rows of the tile are padded by
one element, so that columns of it lie in different banks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..codegen import names
from ..codegen.scalar import memory_type
from ..fusion import kernel_ir as ir
from ..graph.dtypes import DType
from .choice import GROUP, LOOP_THREADS
from .emit import CudaEmitter, CudaScope, Text

HELD_BYTES = 64  # of what a thread reads of the other operands before the block meets


class TileEmitter(CudaEmitter):
    """A loop kernel over tiles of its last two axes."""

    def emit(self) -> Text:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        (stage,) = self.kernel.stages
        w, turned = self.w, sorted(self.variant.turned)
        place = self._places()
        across, along = self.axes[-2:]
        held = self._held(self.packable(stage.body)[0])
        self.held = set(held)
        for form in turned:
            kind, side = memory_type(self._dtype(form)), self.side
            w.line(f"__shared__ {kind} tile{form}[{side}][{side + 1}];")
        for form in [*turned, *held]:
            w.line(f"{self.pack_type(form)} held{form}[{self.turns}];")
        w.line()
        w.line(f"// Read along {across}, in which these arguments are contiguous.")
        with self._each_row():
            self._here(along, "k", across, f"x * {GROUP}", GROUP)
            for form in turned:
                self._read(form, across, self._inner(place))
        if held:
            with self._each_row():
                self._here(across, "k", along, f"x * {GROUP}", GROUP)
                for form in held:
                    self._read(form, along, self._inner(place))
        with self._each_row():
            w.line("#pragma unroll")
            with w.block(f"for (int e = 0; e < {GROUP}; ++e)"):
                for form in turned:
                    w.line(f"tile{form}[k][x * {GROUP} + e] = held{form}[j].at[e];")
        w.line("__syncthreads();")
        for statement in stage.head:
            w.lines(CudaScope(self, {}).lines(statement))
        with self._each_row():
            self._here(across, "k", along, f"x * {GROUP}", 2 * GROUP)
            for form in held:
                w.line(f"const auto &{self.pack(form)} = held{form}[j];")
            self.take(stage.body, self._inner(place), [])
        return self.text("", str(LOOP_THREADS))

    @property
    def side(self) -> int:
        """The elements of a tile's side."""
        return self.variant.side

    @property
    def lanes(self) -> int:
        """The threads that share a row of the tile."""
        return self.side // GROUP

    @property
    def turns(self) -> int:
        """The rows of the tile that a thread has a part of."""
        return self.side * self.lanes // LOOP_THREADS

    def _places(self) -> dict[str, str]:
        """Declare where the tile begins; the indices along the axes before its own."""
        t, w = self.index_type, self.w
        *outer, across, along = self.axes
        width, block = self.integer("tiles_along"), f"({t})blockIdx.x"
        w.line(f"const {t} strip = {self.over(block, width)};")
        w.line(f"const {t} first_{along} = ({block} - strip * {width}) * {self.side};")
        place: dict[str, str] = {}
        first = "strip"
        if outer:
            height = self.integer("tiles_across")
            w.line(f"const {t} batch = {self.over('strip', height)};")
            first = f"(strip - batch * {height})"
            place = self.unravel("batch", outer)
        w.line(f"const {t} first_{across} = {first} * {self.side};")
        w.line("const int x = threadIdx.x, y = threadIdx.y;")
        return place

    def _dtype(self, form: int) -> DType:
        dtype = self.kernel.forms[form].dtype
        assert dtype is not None
        return dtype

    def _held(self, loads: list[int]) -> list[int]:
        """Of the operands that are not turned, those that registers hold while the block meets."""
        found, left = [], HELD_BYTES
        for form in loads:
            size = self.turns * GROUP * self._dtype(form).itemsize
            if size <= left:
                found.append(form)
                left -= size
        return found

    @contextmanager
    def _each_row(self) -> Iterator[None]:
        """Lines for each row ``k`` of the tile that a thread has a part of."""
        self.w.line("#pragma unroll")
        with self.w.block(f"for (int j = 0; j < {self.turns}; ++j)"):
            self.w.line(f"const int k = y + j * {LOOP_THREADS // self.lanes};")
            yield

    def _inner(self, place: dict[str, str]) -> dict[str, str]:
        return {**place, **{axis: f"i_{axis}" for axis in self.axes[-2:]}}

    def _here(self, down: str, k: str, right: str, x: str, most: int) -> None:
        """Declare where four elements along ``right`` begin, and how many there are."""
        t, w = self.index_type, self.w
        w.line(f"const {t} i_{down} = first_{down} + {k}, i_{right} = first_{right} + {x};")
        n, m = self.integer(down), self.integer(right)
        live = self.remaining(m, f"i_{right}", most)
        w.line(f"const int live = i_{down} < {n} ? {live} : 0;")

    def _read(self, form: int, axis: str, place: dict[str, str]) -> None:
        source = f"{self.pointer(form)} + {self.offset(form, place)}"
        self.w.line(f"held{form}[j] = {self.loaded(form, source)};")

    def loaded(self, form: int, source: str) -> str:
        whole = self.parameter(names.whole(form), "int")
        return f"fc_load_row<{GROUP}>({source}, ({self.index_type})1, {whole}, live)"

    def stored(self, form: int, place: dict[str, str]) -> list[str]:
        pack, whole = self.pack(form), self.parameter(names.whole(form), "int")
        along = self.axes[-1]
        row = self.offset(form, {axis: i for axis, i in place.items() if axis != along})
        target = f"{self.pointer(form)} + {row}"
        at = f"{place[along]}, ({self.index_type})1, {pack}, live, x, {self.lanes}"
        return [
            f"if ({whole})",
            f"    fc_store<{GROUP}>({target} + {place[along]}, {pack}, live);",
            "else",
            f"    fc_store_row<{GROUP}>({target}, {at});",
        ]

    def elements(
        self, statements: list[ir.Statement], place: dict[str, str], then: list[str],
        element: str = "e",
    ) -> None:  # fmt: skip
        scope = _TileScope(self, place, element)
        for statement in statements:
            self.w.lines(scope.lines(statement))

    def offset(self, form: int, place: dict[str, str]) -> str:
        if form not in self.variant.turned:
            return super().offset(form, place)
        across = self.axes[-2]
        terms = [
            i if axis == across else f"{i} * {self.integer(names.stride(form, axis))}"
            for axis, i in place.items()
        ]
        return " + ".join(terms)


class _TileScope(CudaScope):
    """Elements of a tile: what is turned comes from shared memory."""

    def address(self, form: int) -> str:
        if form in self.emitter.variant.turned:
            return f"tile{form}[x * {GROUP} + {self.element}][k]"
        return super().address(form)
