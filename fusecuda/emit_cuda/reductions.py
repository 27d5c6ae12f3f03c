"""Emission of reductions: what rows and columns share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..codegen import names, reductions
from ..codegen.scalar import c_type, memory_type
from ..fusion import kernel_ir as ir
from .emit import CudaEmitter, CudaScope
from .online import KIND as ONLINE


class ReductionEmitter(CudaEmitter):
    """What the skeletons of reductions share: accumulators, row values, outer reductions."""

    _shares = False  # shared memory for kept rows has been declared

    def combine(self, reduce: ir.Reduce, into: str, value: str, position: str) -> str:
        """The statement that takes one more element."""
        kind = self.kind(reduce)
        if reduce.kind == ONLINE:
            return f"{into} = {kind}::take({into}, {value});"
        if reduce.kind.startswith("arg"):
            return f"{into} = {kind}::take({into}, {value}, {position});"
        return f"{into} = {kind}::combine({into}, {kind}::leaf({value}, {position}));"

    def share_kept(self, slot: int, name: str) -> None:
        """Declare ``name``, the shared memory that keeps ``slot`` of a resident row."""
        self.share(f"kept{slot}_at", memory_type(self.kernel.resident[slot]), name)

    def share(self, place: str, kind: str, name: str) -> None:
        """Declare ``name``, shared memory that comes with the launch, at an integer."""
        if not self._shares:
            self.w.line("extern __shared__ __align__(16) unsigned char fc_kept[];")
            self._shares = True
        at = self.integer(place)
        self.w.line(f"{kind} *const {name} = reinterpret_cast<{kind} *>(fc_kept + {at});")

    def last_meeting(self) -> ir.Stage:
        """The stage behind which the blocks of a cluster have told each other everything."""
        return [stage for stage in self.kernel.stages if stage.reduces][-1]

    def kind(self, reduce: ir.Reduce) -> str:
        """The C++ type of the reduction, such as ``fc_sum<float>``."""
        return f"fc_{reduce.kind}<{self._partial_types(reduce)}>"

    def partial(self, reduce: ir.Reduce) -> str:
        """The C++ type of what the reduction combines."""
        types = self._partial_types(reduce)
        if reduce.kind == ONLINE:
            return f"fc_pair<{types}>"
        return f"fc_at<{types}>" if reduce.kind.startswith("arg") else types

    def _partial_types(self, reduce: ir.Reduce) -> str:
        """The type of values, and of positions where they are kept."""
        value = c_type(reduce.value_dtype)
        return f"{value}, {self.index_type}" if reduce.kind.startswith("arg") else value

    def result(self, reduce: ir.Reduce, total: str) -> str:
        """The statement that gives a reduction's value its name."""
        if reduce.second is not None:
            kind, most = c_type(reduce.dtype), f"{names.value(reduce.out)} = {total}.most"
            below = f"{names.value(reduce.second)} = {self.kind(reduce)}::sum({total})"
            return f"const {kind} {most}, {below};"
        text = reductions.result(reduce, total)
        return f"const {c_type(reduce.dtype)} {names.value(reduce.out)} = {text};"

    def area(self, name: str, ctype: str) -> str:
        """A pointer into the workspace."""
        return self.parameter(name, f"{ctype} *")

    def room(self, reduce: ir.Reduce, size: int = 32) -> str:
        """Shared memory in which warps meet; declared once."""
        return f"room{reduce.out}"

    def declare_rooms(self, reduces: list[ir.Reduce], size: int = 32) -> None:
        """Declare the shared memory of ``reduces``; raw, for the types need no constructor."""
        for r in reduces:
            self.w.line(f"__shared__ {self.partial(r)} {self.room(r)}[{size}];")

    def row_value(self, number: int, reduce: ir.Reduce) -> str:
        """Where the row values of an outer reduction are kept."""
        return self.area(f"outer{number}", c_type(reduce.value_dtype))

    def join_parts(
        self, reduces: Sequence[ir.Reduce], first: str, place: str, which: str,
        total: Callable[[ir.Reduce], str],
    ) -> None:  # fmt: skip
        """The last block of those that share rows, number ``which``, combines what they have found.

        ``first`` tells the thread that leaves a block's part of a row, at ``place``; ``total`` is
        the call that combines a row's parts.
        """
        w, parts, arrivals = self.w, self.integer("parts"), self.area("arrivals", "unsigned")
        with w.block(f"if ({parts} > 1)"):
            with w.block(f"if ({first})"):
                for r in reduces:
                    room = self.area(f"partial{r.out}", self.partial(r))
                    w.line(f"{room}[{place}] = total{r.out};")
            w.line(f"if (!fc_last_block({arrivals} + {which}, {parts})) return;")
            for r in reduces:
                w.line(f"total{r.out} = {total(r)};")

    def outer(self, first: str, unit: str) -> None:
        """Reductions over rows; ``first`` tells a block's first thread.

        A group of rows is a whole subtree. The last block of a group to finish, of blocks numbered
        by ``unit``, reduces over it, and the last of these over the groups.
        """
        kernel, w = self.kernel, self.w
        if not kernel.outer:
            return
        w.line()
        w.line("// The last block of a group of rows reduces over it, the last of all over groups.")
        groups, rows = self.integer("groups"), self.integer("rows", wide=True)
        units, most = self.integer("units"), self.integer("group_units")
        finished = self.area("finished", "unsigned")
        w.line(f"const {self.index_type} group = (unsigned){unit} / (unsigned){most};")
        blocks = f"fc_clamp({units} - group * {most}, (int){most})"
        w.line(f"if (!fc_last_block({finished} + group, {blocks})) return;")
        self.declare_rooms(kernel.outer)
        begin = f"group * {self.integer('group_rows', wide=True)}"
        w.line(f"const int64_t begin = {begin}, end = begin + group_rows;")
        for number, r in enumerate(kernel.outer):
            values = f"{self.row_value(number, r)}, begin, end < {rows} ? end : {rows}"
            total = f"fc_total_of_rows<{self.kind(r)}>({values}, {self.room(r)})"
            w.line(f"{self.partial(r)} total{r.out} = {total};")
        with w.block(f"if ({groups} > 1)"):
            own = [self.area(f"grouped{n}", self.partial(r)) for n, r in enumerate(kernel.outer)]
            with w.block(f"if ({first})"):
                for area, r in zip(own, kernel.outer, strict=True):
                    w.line(f"{area}[group] = total{r.out};")
            w.line(f"if (!fc_last_block({finished} + {groups}, (unsigned){groups})) return;")
            for area, r in zip(own, kernel.outer, strict=True):
                total = f"fc_total_of<{self.kind(r)}>({area}, (int){groups}, {self.room(r)})"
                w.line(f"total{r.out} = {total};")
        for r in kernel.outer:
            w.line(self.result(r, f"total{r.out}"))
        with w.block(f"if ({first})"):
            scope = CudaScope(self, {})
            for statement in kernel.final:
                w.lines(scope.lines(statement))

    def segment(self) -> list[str]:
        """The lines that declare where a row's segment begins, and its `extent`."""
        segment = self.kernel.segment
        if segment is None:
            return []
        first, last = names.value(segment.first), names.value(segment.last)
        length, t = self.integer("length"), self.index_type
        return [
            f"const bool is_there = {first} >= 0 && {first} < {last} && {last} <= {length};",
            f"const {t} segment = is_there ? ({t}){first} : 0;",
            f"const {t} extent = is_there ? ({t})({last} - {first}) : 0;",
        ]

    def place_in_row(self, position: str) -> str:
        """Where in its row an element of a segment stands."""
        return position if self.kernel.segment is None else f"(segment + {position})"

    def finish_row(self, place: dict[str, str], row: str) -> None:
        """The row's own statements, by one thread; values for outer reductions are kept."""
        scope = CudaScope(self, place)
        for statement in self.kernel.tail:
            self.w.lines(scope.lines(statement))
        for number, reduce in enumerate(self.kernel.outer):
            self.w.line(f"{self.row_value(number, reduce)}[{row}] = {scope.name(reduce.value)};")
