"""A third back end, whole: kernels as Python over NumPy's arrays, without a compiler.

Fusion decides what shares a kernel; a back end says what a kernel is. Here it is a function of
NumPy calls, printed as text and compiled by `exec`; so this file shows what the engine asks for and
nothing else: the row of the table at its end is all of it. It is no fast way to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from fusecuda import fused, lower
from fusecuda.back_ends import BackEnd, add_back_end
from fusecuda.cpu_fallback.program import ElementError
from fusecuda.fusion import kernel_ir as ir
from fusecuda.fusion.assembly import Assembly
from fusecuda.fusion.cost import Machine
from fusecuda.fusion.lowering import Lowered
from fusecuda.fusion.walk import Launch, Lower, MemoryOf, walk
from fusecuda.graph.dtypes import type_text
from fusecuda.graph.index_map import IndexMap
from fusecuda.graph.interpret import evaluate
from fusecuda.graph.node import Node
from fusecuda.graph.ops import ROWS
from fusecuda.graph.tree import reduce_segments, tree_prod, tree_sum
from fusecuda.graph.views import view

# --- 1. bind: what one launch is, for the shapes at hand


def bind(lower_kernel: Lower, memory: MemoryOf) -> Launch:
    """The launch of a kernel; NumPy needs neither a variant nor scratch memory."""
    lowered = lower_kernel(True)
    walked = walk(lowered, memory)
    is_loop = lowered.ir.kind == "loop"  # else a launch has something to do for each row
    work = prod(lowered.row_shape + (lowered.shape if is_loop else ()))
    return Launch(lowered, walked.buffers(), walked.byte_offsets(), work)


# --- 2. emit: kernel IR to text, one line for each statement


@dataclass(frozen=True)
class Source:
    """The text of one kernel; ``name`` is the function in it."""

    name: str
    text: str


def emit(launch: Launch) -> Source:
    """The Python of a kernel: its stages, the row's tail, reductions over rows, the final part."""
    kernel = launch.lowered.ir
    lines = [f"def {kernel.name}(at):"]
    for number, stage in enumerate(kernel.stages):
        lines.append(f"    # pass {number + 1} over {launch.lowered.shape}")
        lines += map(_line, stage.head + stage.body)
        own = "row" if kernel.segment is None else "segment"
        lines += [_reduction(r, own, kernel.segment) for r in stage.reduces]
    lines += map(_line, kernel.tail)
    lines += [_reduction(r, "rows") for r in kernel.outer]
    lines += map(_line, kernel.final)
    return Source(kernel.name, "\n".join(lines) + "\n")


def _reduction(reduce: ir.Reduce, over: str, segment: ir.Segment | None = None) -> str:
    ends = f", v{segment.first}, v{segment.last}, {segment.site}" if segment else ""
    return f'    v{reduce.out} = at.reduce_{over}("{reduce.kind}", v{reduce.value}{ends})'


def _line(statement: ir.Statement) -> str:
    """One statement of the kernel IR as one of Python; values are names, never expressions."""
    match statement:
        case ir.Store(form, value):
            return f"    at.store({form}, v{value})"
        case ir.Keep(slot, value):
            return f"    kept{slot} = v{value}"
        case ir.Load() | ir.Index() | ir.Gather() | ir.Search() | ir.InRange():
            text = _read(statement)
        case ir.Argument():
            text = f"at.argument({statement.number})"
        case ir.Recall():
            text = f"kept{statement.slot}"
        case ir.Select():
            text = f"v{statement.otherwise}"
            for test, value in list(zip(statement.tests, statement.values, strict=True))[::-1]:
                text = f"where(v{test}, v{value}, {text})"
        case ir.Compute():
            text = _computed(statement)
        case ir.Scan():  # `MACHINE` has none: running sums are library calls
            raise NotImplementedError("a scan")
    return f"    v{statement.out} = {text}"


def _read(statement: ir.Load | ir.Index | ir.Gather | ir.Search | ir.InRange) -> str:
    """What memory or the loop's indices give."""
    match statement:
        case ir.Index():
            return f"at.index({statement.form})"
        case ir.Gather():
            indices = "".join(f"v{i}, " for i in statement.indices)
            return f"at.gather({statement.form}, ({indices}), {statement.site})"
        case ir.Search(form=form, value=value, side=side):
            return f'at.search({form}, v{value}, "{side}")'
    guard = "" if statement.guard is None else f", v{statement.guard}"
    what = statement.form if isinstance(statement, ir.Load) else statement.tests
    return f"at.{'load' if isinstance(statement, ir.Load) else 'inside'}({what}{guard})"


def _computed(statement: ir.Compute) -> str:
    """A row of the op table: its name is that of NumPy's function."""
    if statement.op == "convert":
        return f'at.convert(v{statement.operands[0]}, "{type_text(statement.dtype)}")'
    text = f"{statement.op}({', '.join(f'v{o}' for o in statement.operands)})"
    return text if statement.site < 0 else f"at.may_fail({statement.site}, lambda: {text})"


# --- 3. program: compiled kernels, called on the arrays of one call


class Program:
    """The kernels of an assembly, ready to be called."""

    def __init__(self, assembly: Assembly, sources: Sequence[Source | None], memory: Any) -> None:
        self.assembly = assembly
        self.memory = memory
        self.kernels = [None if s is None else _compiled(s) for s in sources]

    def __call__(self, arguments: Sequence[Any], lap: Any = None) -> list[Any]:
        """The results, in the order of the outputs; None for one that overwrote its argument."""
        results, buffers = self._buffers(arguments)
        lap = lap or (lambda: None)
        lap()
        with np.errstate(all="ignore"):
            for step, kernel in zip(self.assembly.steps, self.kernels, strict=True):
                if isinstance(step, Node):  # a library call: NumPy's function as it is
                    operands = [self._array(o, buffers) for o in step.operands]
                    self._array(step, buffers)[...] = evaluate(step, operands)
                elif kernel is not None and step.launched:
                    kernel(Place(step, lambda node: self._array(node, buffers), arguments))
                else:
                    continue
                lap()
        return results

    def _buffers(self, arguments: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """New results, and the memory of each buffer in the shape of what is kept there."""
        plan, places = self.assembly.plan, self.assembly.places
        block = np.empty(self.memory.block_bytes, np.uint8)  # all temporaries
        results: list[Any] = [None] * len(plan.graph.outputs)
        buffers: list[Any] = [None] * len(self.assembly.buffers)
        for home, number in places.number.items():
            buffer = self.assembly.buffers[number]
            if buffer.argument is not None:
                array = arguments[buffer.argument]
            elif buffer.output is not None:
                output = plan.graph.outputs[buffer.output]
                array = results[buffer.output] = np.empty(output.shape, output.dtype)
            else:
                start = self.memory.buffer_offsets[number]
                array = block[start : start + buffer.nbytes].view(home.dtype)
            buffers[number] = array.reshape(home.shape)
        return results, buffers

    def _array(self, node: Node, buffers: list[Any]) -> Any:
        """The memory of ``node``: a buffer, or a view or reshape of one."""
        plan = self.assembly.plan
        if node.op == "constant":
            return np.asarray(node.value)
        if node.op == "parameter" or node in plan.roots:
            return buffers[self.assembly.memory(node).buffer].reshape(node.shape)
        below = self._array(node.operands[0], buffers)
        return (
            below.reshape(node.shape) if node.op == "reshape" else view(below, node.map, node.shape)
        )


def _compiled(source: Source) -> Callable[[Place], None]:
    space: dict[str, Any] = {row.name: row.numpy for row in ROWS}  # each operation is NumPy's
    exec(compile(source.text, f"<{source.name}>", "exec"), space)
    function: Callable[[Place], None] = space[source.name]
    return function


_ALONG: dict[str, Callable[[Any], Any]] = {
    "sum": tree_sum,  # the order of the tree, so that the bits are those of the interpreter
    "prod": tree_prod,
    **{k: lambda rows, k=k: getattr(np, k)(rows, axis=-1)
       for k in ("max", "min", "any", "all", "argmax", "argmin")},
}  # fmt: skip


class Place:
    """What a kernel's statements mean: its forms over the memory of one call.

    A value has all axes of the kernel, rows first, with extent 1 where it does not change.
    """

    def __init__(self, launch: Launch, array: Callable[[Node], Any], given: Sequence[Any]) -> None:
        self.lowered: Lowered = launch.lowered
        self.array, self.given = array, given
        self.rows, self.elements = self.lowered.row_shape, self.lowered.shape
        self.domain = self.rows + self.elements

    def argument(self, number: int) -> Any:
        """A number: a constant, or one that is given anew at each call."""
        node = self.lowered.scalars[number]
        value = node.value if node.op == "constant" else self.given[node.parameter.number]
        return np.asarray(value, node.dtype)

    def load(self, form: int, guard: Any = None) -> Any:
        """The elements that a form walks; with a ``guard`` zero where that does not hold."""
        node, at, _ = self.lowered.accesses[form]
        assert node is not None
        array = self.array(node)
        if guard is None:  # a copy, for a later statement may write there
            return view(array, at, self._extents(at)).copy()
        if array.size == 0:
            return np.zeros((), node.dtype)
        inside = [np.clip(i, 0, n - 1) for i, n in zip(self._indices(at), node.shape, strict=True)]
        return np.where(guard, array[tuple(inside)], np.zeros((), node.dtype))

    def store(self, form: int, value: Any) -> None:
        """Write ``value`` where a form walks."""
        node, at, _ = self.lowered.accesses[form]
        assert node is not None
        view(self.array(node), at, self._extents(at))[...] = value

    def index(self, form: int) -> Any:
        """The index that a form counts."""
        return self._indices(self.lowered.accesses[form].at)[0]

    def inside(self, tests: Sequence[tuple[int, int]], guard: Any = True) -> Any:
        """Where each index lies in the extent of its limit."""
        holds = np.asarray(guard)
        for form, limit in tests:
            node, axis, _ = self.lowered.limits[limit]
            index = self.index(form)
            holds = holds & (index >= 0) & (index < node.shape[axis])
        return holds

    def gather(self, form: int, indices: Sequence[Any], site: int) -> Any:
        """The elements at ``indices`` along the first axes, and where the form walks the rest."""
        node, at, _ = self.lowered.accesses[form]
        assert node is not None
        rest = self._indices(at)[len(indices) :]
        return self.may_fail(site, lambda: self.array(node)[(*indices, *rest)])

    def search(self, form: int, value: Any, side: Any) -> Any:
        """How many elements of a sorted array are below ``value``, or not above it."""
        node, _, _ = self.lowered.accesses[form]
        assert node is not None
        table = self.array(node).astype(value.dtype)
        return np.asarray(np.searchsorted(table, value, side))

    def convert(self, value: Any, dtype: str) -> Any:
        """A cast; of a complex number to another kind, its real part."""
        if value.dtype.kind == "c" and np.dtype(dtype).kind not in "bc":
            value = value.real
        return value.astype(dtype)

    def may_fail(self, site: int, compute: Callable[[], Any]) -> Any:
        """What ``compute`` gives; the engine names the user's line if an element cannot be had."""
        try:
            return compute()
        except (IndexError, ValueError):
            raise ElementError(self.lowered.sites[site]) from None

    def reduce_row(self, kind: str, value: Any) -> Any:
        """One value for each row."""
        rows = np.broadcast_to(value, self.domain).reshape(*self.rows, prod(self.elements))
        return np.asarray(_ALONG[kind](rows)).reshape(self.rows + (1,) * len(self.elements))

    def reduce_segment(self, kind: str, value: Any, first: Any, last: Any, site: int) -> Any:
        """One value for each row, of its elements from ``first`` on and before ``last``."""
        rows = np.broadcast_to(value, self.domain).reshape(-1, *self.elements)
        places = np.broadcast_arrays(first, last, np.empty((*self.rows, 1)))[:2]
        ends = np.reshape(places, (2, -1))
        if ((ends[0] < 0) | (ends[0] >= ends[1]) | (ends[1] > self.elements[0])).any():
            raise ElementError(self.lowered.sites[site])
        each = zip(rows, *ends, strict=True)
        found = [reduce_segments(kind, row, np.array([a]), np.array([b])) for row, a, b in each]
        return np.reshape(found, (*self.rows, 1))

    def reduce_rows(self, kind: str, value: Any) -> Any:
        """One value of what each row has one of."""
        ones = (1,) * len(self.elements)
        rows = np.broadcast_to(value, self.rows + ones).reshape(prod(self.rows))
        return np.asarray(_ALONG[kind](rows)).reshape((1,) * len(self.domain))

    def _extents(self, at: IndexMap) -> tuple[int, ...]:
        return tuple(n if at.uses_axis(j) else 1 for j, n in enumerate(self.domain))

    def _indices(self, at: IndexMap) -> list[Any]:
        """For each axis of an operand the index there, over the kernel's axes."""
        axes = np.ogrid[tuple(slice(n) for n in self._extents(at))] if self.domain else ()
        return [
            np.asarray(o) + sum(c * axis for c, axis in zip(cs, axes, strict=True))
            for o, cs in zip(at.offsets, at.coefs, strict=True)
        ]


# --- 4. the row of the table

MACHINE = Machine(rows=1, row_bytes=0)  # what is planned for: a row may be passed over again

NUMPY = BackEnd(
    machine=lambda: MACHINE,
    bind=lambda options: bind,
    emit=lambda launch, options: emit(launch),
    program=lambda assembly, sources, memory, options: Program(assembly, sources, memory),
    threads=lambda: 1,
)


def main(rows: int = 200, columns: int = 300) -> None:
    """Softmax by the new back end: the kernel, and NumPy's own value."""
    add_back_end("numpy", NUMPY)

    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    x = np.random.default_rng(0).normal(size=(rows, columns))
    print(lower(softmax, x, device="numpy").kernels[0].source)
    np.testing.assert_allclose(fused(softmax, device="numpy")(x), softmax(x), rtol=1e-14)
    print("softmax: one kernel, agrees to 1e-14 with NumPy")


if __name__ == "__main__":
    main()
