"""Emission of tiled loops: what lies transposed in memory passes through shared memory.

A block has a tile of 32 x 32 elements. Loads that are contiguous along the other axis are read
along it into shared memory; every other access walks the inner axis. Rows of the tile are padded by
one element, so that reading them by columns meets every bank once.
"""

from __future__ import annotations

from ..codegen import names
from ..codegen.scalar import memory_type
from ..graph.dtypes import DType
from .choice import TILE, TILE_ROWS
from .emit import CudaEmitter, CudaScope, Text


class TileEmitter(CudaEmitter):
    """A loop kernel over tiles of its last two axes."""

    def emit(self) -> Text:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        (stage,) = self.kernel.stages
        t, w = self.index_type, self.w
        *outer, across, along = self.axes
        tiles = self.integer("tiles_along"), self.integer("tiles_across")
        block = f"({t})blockIdx.x"
        w.line(f"const {t} strip = {self.over(block, tiles[0])};")
        w.line(f"const {t} first_{along} = ({block} - strip * {tiles[0]}) * {TILE};")
        place: dict[str, str] = {}
        if outer:
            w.line(f"const {t} batch = {self.over('strip', tiles[1])};")
            w.line(f"const {t} first_{across} = (strip - batch * {tiles[1]}) * {TILE};")
            place = self.unravel("batch", outer)
        else:
            w.line(f"const {t} first_{across} = strip * {TILE};")
        w.line("const int x = threadIdx.x, y = threadIdx.y;")
        turned = sorted(self.variant.turned)
        for form in turned:
            w.line(f"__shared__ {memory_type(self._dtype(form))} tile{form}[{TILE}][{TILE + 1}];")
        w.line()
        w.line(f"// Read along {across}, in which these arguments are contiguous.")
        w.line("#pragma unroll")
        with w.block(f"for (int k = y; k < {TILE}; k += {TILE_ROWS})"):
            self._inside(across, "x", along, "k")
            for form in turned:
                source = f"{self.pointer(form)}[{self.offset(form, self._here(place))}]"
                w.line(f"tile{form}[k][x] = {source};")
        w.line("__syncthreads();")
        for statement in stage.head:
            w.lines(CudaScope(self, {}).lines(statement))
        w.line("#pragma unroll")
        with w.block(f"for (int k = y; k < {TILE}; k += {TILE_ROWS})"):
            self._inside(across, "k", along, "x")
            scope = _TileScope(self, self._here(place))
            for statement in stage.body:
                w.lines(scope.lines(statement))
        return self.text("", str(TILE * TILE_ROWS))

    def _dtype(self, form: int) -> DType:
        dtype = self.kernel.forms[form].dtype
        assert dtype is not None
        return dtype

    def _here(self, place: dict[str, str]) -> dict[str, str]:
        return {**place, **{axis: f"i_{axis}" for axis in self.axes[-2:]}}

    def _inside(self, across: str, i: str, along: str, j: str) -> None:
        """Declare the element's index along the tile's axes; leave out what lies outside."""
        t = self.index_type
        self.w.line(f"const {t} i_{across} = first_{across} + {i};")
        self.w.line(f"const {t} i_{along} = first_{along} + {j};")
        n, m = self.integer(across), self.integer(along)
        self.w.line(f"if (i_{across} >= {n} || i_{along} >= {m}) continue;")

    def offset(self, form: int, place: dict[str, str]) -> str:
        if form not in self.variant.turned:
            return super().offset(form, place)
        *_, across, _ = self.axes
        terms = [
            i if axis == across else f"{i} * {self.integer(names.stride(form, axis))}"
            for axis, i in place.items()
        ]
        return " + ".join(terms)


class _TileScope(CudaScope):
    """Elements of a tile: what is turned comes from shared memory."""

    def address(self, form: int) -> str:
        if form in self.emitter.variant.turned:
            return f"tile{form}[x][k]"
        return super().address(form)
