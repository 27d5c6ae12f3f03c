"""Random graphs: `random_graph` draws a DAG with its arguments, never the same twice. It covers
  * parameters of every dtype, arrays in every layout (stride 0 too), 0-d, empty and scalar ones;
  * constants, ±0, NaN and the ends of the range among them, and iota;
  * every op row that gives NumPy's bits (with ``exact=False`` the transcendental rows too), on the
    loop dtypes that NumPy picks, operands converted and broadcast; where; convert;
  * slices of any step, flips, transposes, new and broadcast axes, fixed indices, diagonals;
  * reshapes, reductions of all kinds over any axes, used broadcast back over what they reduced;
  * concatenate, pad, gather and scatter at valid indices of either sign, searches, library calls;
  * chains of updates whose earlier versions are still read, stencils that read what they write;
  * several results, repeated results, results that overwrite an argument.
Every value is computed while the graph is drawn, so that what NumPy leaves unspecified is left out:
casts out of range, the sign of a NaN, which zero a maximum returns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fusecuda.graph import build, index_map
from fusecuda.graph.dtypes import (
    BOOL,
    ELEMENT_TYPES,
    FLOAT64,
    INT64,
    DType,
    complex_of,
    is_reducible,
    kind_of,
    part_of_complex,
)
from fusecuda.graph.index_map import Shape
from fusecuda.graph.interpret import evaluate
from fusecuda.graph.library import SCATTERS
from fusecuda.graph.node import REDUCTIONS, SIDES, Graph, Node, Parameter
from fusecuda.graph.ops import OWN, ROWS, SCIPY_NAMES, OpRow
from tests.strategies import (
    COMPLEX_INEXACT,
    DTYPES,
    EITHER_ZERO,
    LAYOUTS,
    SPECIALS,
    TRANSCENDENTAL,
    Array,
    Rng,
    lay_out,
    mixed_values,
    random_view,
    strides_of,
)

SHAPES: tuple[Shape, ...] = (
    *((), (1,), (5,), (33,), (600,), (3, 4), (1, 7), (17, 5), (9, 40), (3, 520), (70, 3)),
    *((2, 3, 4), (4, 1, 6), (5, 2, 33), (0,), (0, 3), (4, 0), (2, 1, 3, 2)),
)
_MAX_SIZE = 3000


@dataclass(frozen=True)
class Case:
    """A graph with the arguments to run it on and the strides to build it for."""

    graph: Graph
    arguments: list[Any]
    strides: dict[int, Shape]
    name: str = ""


def _common(a: DType, b: DType) -> DType:
    """The dtype of both; NumPy knows none of float16 and bfloat16."""
    try:
        return np.result_type(a, b)
    except TypeError:
        return np.dtype(np.float32)


class _Drawing:
    """A graph being drawn, with the value of each of its nodes."""

    def __init__(self, rng: Rng, exact: bool, failing: bool) -> None:
        self.rng = rng
        self.rows = [r for r in ROWS if r.name not in ("where", "convert") and r.home != OWN]
        if exact:
            self.rows = [r for r in self.rows if r.name not in TRANSCENDENTAL]
        self.exact, self.failing = exact, failing
        self.values: dict[Node, Array] = {}
        self.pool: list[Node] = []
        self.parameters: list[Node] = []
        self.arguments: list[Any] = []

    def value(self, node: Node) -> Array:
        """The value of ``node``, computed when it is first asked for."""
        if node not in self.values:
            with np.errstate(all="ignore"):
                self.values[node] = evaluate(node, [self.value(o) for o in node.operands])
        return self.values[node]

    def add(self, node: Node) -> Node:
        """Let later steps use ``node``, unless it has grown too large."""
        if node.size <= _MAX_SIZE and len(node.shape) <= 5:
            self.value(node)
            self.pool.append(node)
        return node

    def pick(self) -> Node:
        """A node drawn so far, rather a late one."""
        return self.pool[-1 - int(len(self.pool) * self.rng.random() ** 2)]

    def partner(self, shape: Shape, target: bool = False) -> Node:
        """A node that broadcasts with ``shape``, or to it, or a constant."""
        for _ in range(6):
            node = self.pick()
            try:
                common = np.broadcast_shapes(node.shape, shape)
            except ValueError:
                continue
            if math.prod(common) <= _MAX_SIZE and (not target or common == shape):
                return node
        return self.constant(DTYPES[int(self.rng.integers(len(DTYPES)))])

    def constant(self, dtype: DType) -> Node:
        drawn = self.rng.choice(SPECIALS[dtype])
        return build.constant(np.asarray(drawn)[()], dtype)

    def parameter(self, shape: Shape) -> None:
        rng = self.rng
        dtype = DTYPES[int(rng.integers(len(DTYPES)))] if rng.random() < 0.6 else FLOAT64
        values = mixed_values(rng, dtype, shape)
        scalar = shape == () and rng.random() < 0.5
        argument: Any = values[()] if scalar else lay_out(values, str(rng.choice(LAYOUTS)))
        if shape and rng.random() < 0.1:
            argument = np.broadcast_to(np.array(values[..., :1]), shape)
        node = build.parameter(len(self.parameters), shape, dtype, bool(scalar))
        self.values[node] = np.asarray(argument, dtype)
        self.parameters.append(node)
        self.arguments.append(argument)
        self.pool.append(node)

    def one_zero(self, node: Node) -> Node:
        """``node`` without negative zeros, where NumPy leaves open which zero comes out."""
        if kind_of(node.dtype) != "f":
            return node
        return build.elementwise("add", [node, build.constant(0.0, node.dtype)], node.dtype)

    def cast(self, node: Node, dtype: DType) -> Node:
        """``node`` converted to ``dtype``, kept within its range first."""
        if node.dtype.kind == "c" and dtype.kind not in "bc":
            node = build.elementwise("real", [node], part_of_complex(node.dtype))
        if kind_of(node.dtype) == "f" and dtype.kind in "iu":
            value = self.value(node)
            low, high = (0, 100) if dtype.kind == "u" else (-100, 100)
            with np.errstate(invalid="ignore"):
                inside = (value > low) & (value < high)
            if not np.all(inside):
                bounded = [build.constant(b, node.dtype) for b in (low, high)]
                node = build.elementwise("fmax", [self.one_zero(node), bounded[0]], node.dtype)
                node = build.elementwise("fmin", [node, bounded[1]], node.dtype)
        return build.convert(node, dtype)

    # --- steps

    def elementwise(self, first: Node | None = None) -> None:
        row = self.rows[int(self.rng.integers(len(self.rows)))]
        args = [first or self.pick()]
        while len(args) < row.arity:
            shape = np.broadcast_shapes(*(a.shape for a in args))
            args.insert(int(self.rng.integers(len(args) + 1)), self.partner(shape))
        loop = self.loop(row, [a.dtype for a in args])
        if loop is None:
            wide = FLOAT64 if not row.c_text(INT64) or self.rng.random() < 0.5 else INT64
            args = [self.cast(a, wide) for a in args]
            loop = self.loop(row, [wide] * row.arity)
        if loop is None or (row.name == "power" and not self.power_fits(loop[0])):
            return
        args = [self.cast(a, d) for a, d in zip(args, loop, strict=False)]
        if row.name == "power" and loop[0].kind in "iu":
            three = build.constant(3, loop[0])
            args[1] = build.elementwise("bitwise_and", [args[1], three], loop[0])
        if row.name in EITHER_ZERO:
            args = [self.one_zero(a) for a in args]
        if row.name in ("signbit", "copysign") and np.isnan(self.value(args[-1])).any():
            return
        self.add(build.elementwise(row.name, args, loop[-1]))

    def power_fits(self, dtype: DType) -> bool:
        """True if a power of ``dtype`` may be drawn: it may fail, and floats are inexact."""
        return self.failing if dtype.kind in "iu" else not self.exact

    def loop(self, row: OpRow, dtypes: list[DType]) -> tuple[DType, ...] | None:
        """The loop dtypes of ``row``, or None if kernels have none for ``dtypes``."""
        if row.name in SCIPY_NAMES:
            fits = build.fusible(row.name, dtypes[:1])
            return (dtypes[0],) * (row.arity + 1) if fits else None
        if row.name in ("real", "imag"):
            return (dtypes[0], part_of_complex(dtypes[0])) if dtypes[0].kind == "c" else None
        if row.name == "join":
            fits = len(set(dtypes)) == 1 and build.fusible("join", dtypes)
            return (*dtypes, complex_of(dtypes[0])) if fits else None
        try:
            loop = build.resolve(row.numpy, *dtypes)
        except TypeError:
            return None
        fits = build.fusible(row.name, loop[:-1]) and loop[-1] in ELEMENT_TYPES
        if self.exact and loop[0].kind == "c" and row.name in COMPLEX_INEXACT:
            return None
        return loop if fits else None

    def where(self) -> None:
        a = self.pick()
        b = self.partner(a.shape)
        dtype = _common(a.dtype, b.dtype)
        shape = np.broadcast_shapes(a.shape, b.shape)
        self.add(build.where(self.partner(shape), self.cast(a, dtype), self.cast(b, dtype)))

    def convert(self) -> None:
        self.add(self.cast(self.pick(), DTYPES[int(self.rng.integers(len(DTYPES)))]))

    def view(self) -> None:
        node = self.pick()
        self.add(build.index(node, *random_view(self.rng, node.shape)))

    def reshape(self) -> None:
        node = self.pick()
        if node.size == 0:
            self.add(build.reshape(node, (0, *node.shape[1:])))
            return
        target, rest = [], node.size
        while rest > 1 and len(target) < 4 and self.rng.random() < 0.8:
            divisors = [d for d in range(1, min(rest, 64) + 1) if rest % d == 0]
            target.append(int(self.rng.choice(divisors)))
            rest //= target[-1]
        target.insert(int(self.rng.integers(len(target) + 1)), rest)
        self.add(build.reshape(node, tuple(target)))

    def reduce(self) -> None:
        node, kind = self.pick(), str(self.rng.choice(REDUCTIONS))
        if not node.shape:
            return
        axes = [a for a in range(len(node.shape)) if self.rng.random() < 0.5]
        axes = axes or [int(self.rng.integers(len(node.shape)))]
        if kind not in ("any", "all") and not is_reducible(kind, node.dtype):
            return
        if 0 in [node.shape[a] for a in axes] and kind not in ("sum", "prod", "any", "all"):
            return
        if kind in ("any", "all"):
            node = build.convert(node, BOOL)
        elif kind in ("max", "min"):
            node = self.one_zero(node)
        reduced = self.add(build.reduce(kind, node, axes))
        kept = [a for a in range(len(node.shape)) if a not in axes]
        back = index_map.axis_map([(0, 1, a) for a in kept], len(node.shape))
        if self.rng.random() < 0.7:
            self.pool.append(node)
            self.add(build.index(reduced, back, node.shape))
            self.elementwise(node)

    def concatenate(self) -> None:
        node = self.pick()
        if not node.shape:
            return
        axis = int(self.rng.integers(len(node.shape)))
        parts = [node]
        for _ in range(int(self.rng.integers(1, 3))):
            other = self.partner(node.shape, target=True)
            part = build.broadcast_to(self.cast(other, node.dtype), node.shape)
            cut = [(0, 1, a) for a in range(len(node.shape))]
            extent = int(self.rng.integers(0, node.shape[axis] + 1))
            shape = (*node.shape[:axis], extent, *node.shape[axis + 1 :])
            parts.append(build.index(part, index_map.axis_map(cut, len(cut)), shape))
        self.add(build.concatenate(parts, axis))

    def pad(self) -> None:
        node = self.pick()
        widths = tuple((int(a), int(b)) for a, b in self.rng.integers(0, 4, (len(node.shape), 2)))
        scalars = [n for n in self.pool if n.shape == () and n.dtype == node.dtype]
        fill = scalars[-1] if scalars else self.constant(node.dtype)
        self.add(build.pad(node, fill, widths))

    def indices(self, extents: Sequence[int]) -> list[Node]:
        """Valid indices of either sign along axes of ``extents``, which broadcast together."""
        found, shape = [], self.pick().shape
        for extent in extents:
            drawn = self.cast(self.partner(shape, target=True), INT64)
            count = build.constant(extent, INT64)
            at = build.elementwise("remainder", [drawn, count], INT64)
            if self.rng.random() < 0.5:
                at = build.elementwise("subtract", [at, count], INT64)
            found.append(at)
        return found

    def gather(self) -> None:
        node = self.pick()
        axes = int(self.rng.integers(1, 3))
        if not self.failing or len(node.shape) < axes or 0 in node.shape:
            return
        self.add(build.gather(node, self.indices(node.shape[:axes])))

    def search(self) -> None:
        """Of values their places in a sorted array, or in every other element of it."""
        table, values = self.pick(), self.pick()
        if {table.dtype.kind, values.dtype.kind} - set("biuf"):
            return
        table = build.reshape(table, (table.size,))
        if self.rng.random() < 0.3:
            table = build.iota((int(self.rng.integers(0, 50)),), 0)
        else:
            axis = (("axis", 0),)
            table = build.library("sort", [table], table.shape, table.dtype, None, axis)
        if table.size > 1 and self.rng.random() < 0.3:
            step = index_map.axis_map([(1, 2, 0)], 1)
            table = build.index(table, step, (table.size // 2,))
        values = build.convert(values, np.promote_types(table.dtype, values.dtype))
        self.add(build.search(table, values, str(self.rng.choice(SIDES))))

    def scatter(self) -> None:
        old = self.pick()
        for _ in range(int(self.rng.integers(1, 3))):
            axes, view, shape = int(self.rng.integers(1, 3)), None, old.shape
            if self.rng.random() < 0.4:
                view, shape = random_view(self.rng, old.shape, injective=True)
            if not self.failing or len(shape) < axes or 0 in shape:
                return
            indices = self.indices(shape[:axes])
            common = np.broadcast_shapes(*(i.shape for i in indices))
            full = (*common, *shape[axes:])
            if math.prod(full) > _MAX_SIZE or len(full) > 5:
                return
            drawn = self.partner(full, target=True)
            if self.rng.random() < 0.2 and math.prod(common) == 1:
                drawn = build.index(old, view, shape) if view else old  # what it overwrites
                drawn = drawn if np.broadcast_shapes(drawn.shape, full) == full else indices[0]
            part = build.index(old, view, shape) if view else old
            kind = str(self.rng.choice([k for k in SCATTERS if self.scatters(k, old.dtype)]))
            value = self.cast(drawn, old.dtype)
            if kind in EITHER_ZERO:
                part, value = self.one_zero(part), self.one_zero(value)
            new = build.scatter(kind, part, value, indices)
            old = self.add(build.update(old, new, view) if view else new)

    def scatters(self, kind: str, dtype: DType) -> bool:
        """True if kernels may scatter elements of ``dtype`` so."""
        if kind == "set":
            return True
        if self.exact and dtype.kind == "c" and kind in COMPLEX_INEXACT:
            return False
        return build.fusible(kind, (dtype, dtype)) and not (dtype == BOOL and kind == "subtract")

    def update(self) -> None:
        old = self.pick()
        for _ in range(int(self.rng.integers(1, 4))):
            view, shape = random_view(self.rng, old.shape, injective=True)
            if self.rng.random() < 0.5:  # from its own elements, maybe from other ones
                value = build.index(old, view, shape)
                if self.rng.random() < 0.5 and shape:
                    axes = [(0, 1, a) for a in range(len(shape) - 1)]
                    flip = [*axes, (shape[-1] - 1, -1, len(shape) - 1)]
                    value = build.index(value, index_map.axis_map(flip, len(shape)), shape)
                if value.dtype.kind != "b":
                    op = "add" if value.dtype.kind == "c" else "multiply"
                    value = build.elementwise(op, [value, value], value.dtype)
            else:
                value = self.cast(self.partner(shape, target=True), old.dtype)
                value = build.broadcast_to(value, shape)
            old = self.add(build.update(old, value, view))

    def library(self) -> None:
        node = self.pick()
        if not node.shape:
            return
        kind, axis = int(self.rng.integers(3)), (("axis", len(node.shape) - 1),)
        if kind == 0:
            self.add(
                build.library("sort", [self.one_zero(node)], node.shape, node.dtype, None, axis)
            )
        elif kind == 1:
            dtype = np.cumsum(np.empty(0, node.dtype)).dtype
            self.add(build.library("cumsum", [node], node.shape, dtype, None, axis))
        else:
            stable = (*axis, ("kind", "stable"))
            self.add(build.library("argsort", [node], node.shape, INT64, None, stable))

    def iota(self) -> None:
        shape = self.pick().shape
        if shape:
            self.add(build.iota(shape, int(self.rng.integers(len(shape)))))

    def step(self) -> None:
        """One more operation."""
        moves = [self.elementwise] * 9 + [self.where, self.convert, self.view, self.view]
        moves += [self.reshape, self.reduce, self.reduce, self.reduce, self.concatenate, self.pad]
        moves += [
            self.gather,
            self.search,
            self.scatter,
            self.update,
            self.update,
            self.library,
            self.iota,
        ]
        moves[int(self.rng.integers(len(moves)))]()

    def graph(self) -> Graph:
        """The graph with some results, rather late ones, some of which overwrite an argument."""
        used = {o for node in self.values for o in node.operands}
        unused = [node for node in self.pool if node not in used and node.op != "parameter"]
        count = int(self.rng.integers(1, 4))
        outputs = [self.pick() for _ in range(count)] + unused[-4:]
        targets: list[int | None] = [None] * len(outputs)
        for parameter in self.parameters:
            number = parameter.parameter.number
            if not _writable(self.arguments[number]) or self.rng.random() < 0.4:
                continue
            for i, node in enumerate(outputs):
                fits = node.shape == parameter.shape and node.dtype == parameter.dtype
                if fits and targets[i] is None:
                    targets[i] = number
                    break
        chosen = tuple(targets) if any(t is not None for t in targets) else ()
        return Graph(tuple(self.parameters), tuple(outputs), "random", chosen)


def _writable(argument: object) -> bool:
    return isinstance(argument, np.ndarray) and argument.flags.writeable


def random_graph(seed: int, exact: bool = True, failing: bool = True) -> Case:
    """The case of ``seed``; ``failing`` lets operations in that some values would make fail."""
    rng = np.random.default_rng(seed)
    drawing = _Drawing(rng, exact, failing)
    base = SHAPES[int(rng.integers(len(SHAPES)))]
    for _ in range(int(rng.integers(1, 5))):
        kind = rng.random()
        if kind < 0.5:
            shape = base
        elif kind < 0.8:  # something that broadcasts with it
            shape = tuple(1 if rng.random() < 0.3 else n for n in base)
            shape = shape[int(rng.integers(0, len(shape) + 1)) :]
        else:
            shape = SHAPES[int(rng.integers(len(SHAPES)))]
        drawing.parameter(shape)
    for _ in range(int(rng.integers(2, 16))):
        drawing.step()
    graph = drawing.graph()
    return Case(graph, drawing.arguments, strides_of(drawing.arguments), f"seed {seed}")


def merge(cases: Sequence[Case]) -> Case:
    """One case whose outputs are those of ``cases`` in turn, on all their arguments."""
    parameters: list[Node] = []
    outputs: list[Node] = []
    targets: list[int | None] = []
    arguments: list[Any] = []
    for case in cases:
        graph, first = case.graph, len(arguments)
        new: dict[Node, Node] = {}
        for node in (*graph.parameters, *graph.nodes()):
            if isinstance(node.attr, Parameter):
                attr = Parameter(node.attr.number + first, node.attr.scalar)
                new.setdefault(node, Node(node.op, (), node.shape, node.dtype, attr))
            else:
                new[node] = node.with_operands(tuple(new[o] for o in node.operands))
        parameters += [new[p] for p in graph.parameters]
        outputs += [new[o] for o in graph.outputs]
        numbers = (graph.target(i) for i in range(len(graph.outputs)))
        targets += [None if t is None else t + first for t in numbers]
        arguments += case.arguments
    chosen = tuple(targets) if any(t is not None for t in targets) else ()
    graph = Graph(tuple(parameters), tuple(outputs), "merged", chosen)
    return Case(graph, arguments, strides_of(arguments), ", ".join(c.name for c in cases))
