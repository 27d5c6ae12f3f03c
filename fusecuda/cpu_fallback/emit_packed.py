"""Emission of packed loops: what costs much is computed of many short runs at once.

A function is as quick as its vectors are full. Runs of a few elements, and elements at any steps,
fill none. So what is read waits in buffers, run behind run; when these are nearly full, all that is
computed is one loop over them, and each run is written to where it belongs.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen import names
from ..codegen.scalar import memory_type
from ..fusion import kernel_ir as ir
from .emit_loop import LoopEmitter
from .packed import Parts, parts_of
from .place import Place


class PackedEmitter(LoopEmitter):
    """A loop whose runs are put together before anything is computed of them."""

    parts: Parts

    def _begin_runs(self, body: Sequence[ir.Statement]) -> None:
        self.parts = parts_of(body)
        for number, kind in self.parts.waiting.items():
            self.w.line(f"{kind} all{number}[FC_CHUNK + FC_BLOCK];")
        for store in self.parts.stored:
            self.w.line(f"char *to{store.form}[FC_CHUNK];")
        self.w.line("int64_t length[FC_CHUNK], pieces = 0, packed = 0;")

    def widened_by(self, body: Sequence[ir.Statement]) -> dict[int, bool]:
        return {}

    def _run_length(self, length: str) -> str:
        return f"fc_min(FC_NEAR, {length})"

    def _elements(self, body: Sequence[ir.Statement], element: Place) -> None:
        """A run is read and, if the next one may not fit any more, all that wait are computed."""
        for number, kind in self.parts.waiting.items():
            self.w.line(f"{kind} *const b{number} = all{number} + packed;")
        with self.loop("for (int64_t k = 0; k < run; ++k)"):
            for s in self.parts.read:
                self.w.lines(element.lines(s))
            self.w.lines([f"b{v}[k] = {names.value(v)};" for v in self.parts.taken])
        for store in self.parts.stored:
            self.w.line(
                f"to{store.form}[pieces] = (char *){names.pointer(self.kernel, store.form)};"
            )
        self.w.line("length[pieces++] = run;")
        self.w.line("packed += run;")
        inside = self.dims.axes[len(self.dims.axes) - self.variant.inside :]
        last = "".join(f" && i_{axis} + 1 == {axis}" for axis in inside)
        with self.w.block(f"if (packed > FC_CHUNK - FC_NEAR || (at + run == end{last}))"):
            self._computed()
            self._written(element.axis)
            self.w.line("pieces = packed = 0;")

    def _computed(self) -> None:
        """All that waits is computed, in whole vectors: behind the end are copies of the last."""
        self.w.lines(self.parts.filled("packed"))
        with self.loop("for (int64_t k = 0; k < whole; ++k)"):
            self.w.lines(self.parts.values(self.parts.taken, "k"))
            place = Place(self, "k", self.dims.axes[-1], "")
            for s in self.parts.computed:
                self.w.lines(place.lines(s))
            self.w.lines([f"all{v}[k] = {names.value(v)};" for v in self.parts.results])

    def _written(self, axis: str) -> None:
        """Each run of what has been computed goes to its place."""
        step = "piece < pieces; done += length[piece], ++piece"
        with self.w.block(f"for (int64_t piece = 0, done = 0; {step})"):
            for store in self.parts.stored:
                name, kind = names.pointer(self.kernel, store.form), memory_type(store.dtype)
                kind = kind if self.typed else "char"
                self.w.line(f"{kind} *const {name} = ({kind} *)to{store.form}[piece];")
            with self.loop("for (int64_t k = 0; k < length[piece]; ++k)"):
                self.w.lines(self.parts.values(self.parts.results, "done + k"))
                place = Place(self, "k", axis, "")
                for store in self.parts.stored:
                    self.w.lines(place.lines(store))
