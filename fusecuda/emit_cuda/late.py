"""Emission of loops with late stores: what they overwrite is read by other elements, too.

A block computes a tile into shared memory. When all its threads have read what they need, it
writes what no other tile reads. What others read, the tile's edges, goes to the workspace, and the
last of the blocks that read it writes it: no block waits for another.
"""

from __future__ import annotations

from ..codegen.scalar import memory_type
from ..fusion import kernel_ir as ir
from .choice import LOOP_THREADS
from .emit import CudaEmitter, CudaScope, Text
from .halos import AT_ONCE, capacity


class LateEmitter(CudaEmitter):
    """A tile has a power of two of elements along each axis, and so has its whole."""

    def emit(self) -> Text:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        (stage,) = self.kernel.stages
        w = self.w
        own = self._tile("tile", f"({self.index_type})blockIdx.x", "first_")
        for s in self.kernel.late:
            room = capacity(self.kernel)
            w.line(f"__shared__ {memory_type(s.dtype)} late{s.form}[{room}];")
        row = CudaScope(self, {})
        for statement in stage.head:
            w.lines(row.lines(statement))
        self._exists("exists", "first_")
        self._computed(stage)
        w.line("__syncthreads();  // the tile, and what is around it, has been read")
        self._inside()
        w.line(f"if (!{self.integer('edges')}) return;")
        self._edge()
        with w.block(self._each_edge()):
            w.line("const int p = edge(q);")
            w.lines([f"if (exists(p)) {self._waiting(s, 'tile')} = late{s.form}[p];"
                     for s in self.kernel.late])  # fmt: skip
        self._around(own)
        return self.text("", f"{LOOP_THREADS}, 2")  # unasked it waits for loads

    # --- tiles

    def _tile(self, name: str, number: str, prefix: str) -> dict[str, str]:
        """Declare tile ``number`` and where it begins; axis -> its number along that."""
        t, w = self.index_type, self.w
        w.line(f"const {t} {name} = {number};")
        found = self.unravel(name, [f"tiles_{axis}" for axis in self.axes], f"{name}_")
        at = dict(zip(self.axes, found.values(), strict=True))
        for axis in self.axes:
            w.line(f"const {t} {prefix}{axis} = {at[axis]} << {self._local(axis, 'shift')};")
        return at

    def _local(self, axis: str, what: str) -> str:
        """An integer of a tile, which is an int."""
        return self.parameter(f"{what}_{axis}", "int")

    def _within(self, axis: str) -> str:
        """The index within the tile of its element ``p``."""
        last, first = axis == self.axes[-1], axis == self.axes[0]
        down = "p" if last else f"p >> {self._local(axis, 'below')}"
        if not first:
            down = f"{down} & {self._local(axis, 'mask')}"
        return down if down == "p" else f"({down})"

    def _place(self, prefix: str) -> dict[str, str]:
        """Declare the index along each axis of element ``p`` of a tile; axis -> its name."""
        for axis in self.axes:
            self.w.line(
                f"const {self.index_type} i_{axis} = {prefix}{axis} + {self._within(axis)};"
            )
        return {axis: f"i_{axis}" for axis in self.axes}

    def _exists(self, name: str, prefix: str) -> None:
        """Declare the test whether the array has element ``p`` of a tile."""
        tests = [f"{prefix}{a} + {self._within(a)} < {self.integer(a)}" for a in self.axes]
        self.w.line(f"auto {name} = [&](int p) {{")
        self.w.line("    return " + "\n        && ".join(tests) + ";")
        self.w.line("};")

    def _each_edge(self) -> str:
        edges = self.integer("edges")
        return f"for (int q = threadIdx.x; q < {edges}; q += {LOOP_THREADS})"

    # --- what a block does with its own

    def _computed(self, stage: ir.Stage) -> None:
        """All elements of the tile.

        Whole tiles have no test, and a thread's elements wait in registers until some of them have
        been computed, so that their loads are under way together.
        """
        w, size = self.w, self.parameter("size", "int")
        given = "".join(f", {memory_type(s.dtype)} &value{s.form}" for s in self.kernel.late)
        w.line(f"auto take = [&](int p{given}) {{")
        with w.indented():
            scope = _LateScope(self, self._place("first_"))
            for statement in stage.body:
                w.lines(scope.lines(statement))
        w.line("};")
        if self._costly(stage):
            self._one_by_one()
            return
        whole = [f"first_{a} + (1 << {self._local(a, 'shift')}) <= {self.integer(a)}"
                 for a in self.axes]  # fmt: skip
        w.line(f"if ({' && '.join(whole)}) {{")
        with w.indented():
            w.line("#pragma unroll 1")
            step = LOOP_THREADS * AT_ONCE
            with w.block(f"for (int p = threadIdx.x; p < {size}; p += {step})"):
                self._together()
        w.line("} else {")
        with w.indented():
            self._one_by_one()
        w.line("}")

    def _together(self) -> None:
        """Some elements of a thread."""
        w, each = self.w, f"for (int k = 0; k < {AT_ONCE}; ++k)"
        values = ""
        for s in self.kernel.late:
            w.line(f"{memory_type(s.dtype)} value{s.form}[{AT_ONCE}];")
            values += f", value{s.form}[k]"
        w.lines(["#pragma unroll", f"{each} take(p + k * {LOOP_THREADS}{values});"])
        for s in self.kernel.late:
            kept = f"late{s.form}[p + k * {LOOP_THREADS}] = value{s.form}[k];"
            w.lines(["#pragma unroll", f"{each} {kept}"])

    def _one_by_one(self) -> None:
        values = "".join(f", late{s.form}[p]" for s in self.kernel.late)
        self.w.line("#pragma unroll 1")
        self.w.line(f"for (int p = threadIdx.x; p < size; p += {LOOP_THREADS})")
        self.w.line(f"    if (exists(p)) take(p{values});")

    def _inside(self) -> None:
        """What no other tile reads is written."""
        w = self.w
        w.line("#pragma unroll 4")
        with w.block(f"for (int p = threadIdx.x; p < size; p += {LOOP_THREADS})"):
            w.line("if (!exists(p)) continue;")
            for a in self.axes:
                within = f"(unsigned)({self._within(a)} - {self._local(a, 'halo')})"
                w.line(f"if ({within} >= (unsigned){self._local(a, 'inner')}) continue;")
            place = self._place("first_")
            for s in self.kernel.late:
                w.line(f"{self._target(s, place)} = late{s.form}[p];")

    def _target(self, store: ir.Store, place: dict[str, str]) -> str:
        return f"{self.pointer(store.form)}[{self.offset(store.form, place)}]"

    def _waiting(self, store: ir.Store, tile: str) -> str:
        """Where edge element ``q`` of a tile waits."""
        room = self.parameter(f"edge{store.form}", f"{memory_type(store.dtype)} *")
        return f"{room}[{tile} * {self.integer('edges')} + q]"

    # --- edges

    def _edge(self) -> None:
        """Declare which element of a tile its edge element ``q`` is.

        Those at the edges along the first axis come first, then those of the rest at the edges
        along the second, and so on.
        """
        w = self.w
        w.line("auto edge = [&](int q) {")
        with w.indented():
            for axis in self.axes:
                self._slab(axis)
            w.line("return 0;")
        w.line("};")

    def _slab(self, axis: str) -> None:
        """The edge elements along ``axis`` that are inside along all axes before."""
        w, at = self.w, self.axes.index(axis)
        slab = self._local(axis, "slab")
        with w.block(f"if (q < {slab})"):
            below = self._local(axis, "below") if axis != self.axes[-1] else "0"
            over = "q" if below == "0" else f"q >> {below}"
            p = "0" if below == "0" else f"q & ((1 << {below}) - 1)"
            w.line(f"int p = {p}, rest = {over};")
            for a in reversed(self.axes[: at + 1]):
                span = self._divisor(f"{'span' if a == axis else 'inner'}_{a}")
                if a != self.axes[0]:
                    w.line(f"const int over_{a} = fc_over(rest, {span[1]}, {span[2]});")
                    w.line(f"int c_{a} = rest - over_{a} * {span[0]};")
                    w.line(f"rest = over_{a};")
                else:
                    w.line(f"int c_{a} = rest;")
                halo, inner = self._local(a, "halo"), self._local(a, "inner")
                if a == axis:
                    w.line(f"if (c_{a} >= {halo}) c_{a} += {inner};")
                else:
                    w.line(f"c_{a} += {halo};")
                w.line(f"p += c_{a} << {self._local(a, 'below')};")
            w.line("return p;")
        w.line(f"q -= {slab};")

    def _divisor(self, name: str) -> tuple[str, str, str]:
        return (
            self.parameter(name, "int"),
            self.parameter(f"{name}_by", "int"),
            self.parameter(f"{name}_down", "int"),
        )

    # --- what the last reader does

    def _around(self, own: dict[str, str]) -> None:
        """Count this block as a reader of the tiles around it, and write those that are ready."""
        w, t = self.w, self.index_type
        around = self.integer("around")
        w.line("__shared__ fc_ready ready;")
        w.line("#pragma unroll 1")
        with w.block(f"for ({t} from = 0; from < {around}; from += {LOOP_THREADS})"):
            w.line("fc_arriving(ready);")
            w.line(f"const {t} number = from + threadIdx.x;")
            with w.block(f"if (number < {around})"):
                self._arrive(own)
            w.line("__syncthreads();")
            w.line("#pragma unroll 1")
            with w.block("for (unsigned r = 0; r < ready.count; ++r)"):
                self._tile("done", f"({t})ready.tiles[r]", "from_")
                self._exists("remains", "from_")
                with w.block(self._each_edge()):
                    w.line("const int p = edge(q);")
                    w.line("if (!remains(p)) continue;")
                    place = self._place("from_")
                    for s in self.kernel.late:
                        w.line(f"{self._target(s, place)} = {self._waiting(s, 'done')};")

    def _arrive(self, own: dict[str, str]) -> None:
        """Thread ``number`` tells one of the tiles around the block's ``own``."""
        w, t = self.w, self.index_type
        found = self.unravel("number", [f"around_{a}" for a in self.axes], "by_")
        tile, readers, tests = "", [], []
        for axis, by in zip(self.axes, found.values(), strict=True):
            tiles, reach = self.integer(f"tiles_{axis}"), self.integer(f"reach_{axis}")
            w.line(f"const {t} at_{axis} = {own[axis]} + {by} - {reach};")
            tests.append(f"at_{axis} >= 0 && at_{axis} < {tiles}")
            readers.append(f"fc_around<{t}>(at_{axis}, {reach}, {tiles})")
            tile = f"({tile}) * {tiles} + at_{axis}" if tile else f"({t})at_{axis}"
        arrivals = self.parameter("arrivals", "unsigned *")
        w.line(f"const unsigned readers = {' * '.join(readers)};")
        w.line(f"if ({' && '.join(tests)})")
        w.line(f"    fc_arrive(ready, {arrivals}, {tile}, readers);")


class _LateScope(CudaScope):
    """Elements of a tile, of which those that are stored late are handed on."""

    def address(self, form: int) -> str:
        if any(s.form == form for s in self.emitter.kernel.late):
            return f"value{form}"
        return super().address(form)
