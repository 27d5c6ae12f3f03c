"""Run: what a region records from one flush to the next, told by numbers as it is recorded.

Each node has a place: where its entry stands, which says what it is made of by the places of that.
Equal entries are equal graphs, but for the arrays that they begin with and the numbers that take
part in arithmetic. So a flush whose recording went like an earlier one runs the executable of then
on the arrays of now, and no graph is walked or planned. What went differently is planned as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...fusion.cost import may_fail
from ...graph.dtypes import FLOAT64, DType
from ...graph.index_map import IndexMap, Shape
from ...graph.node import Attr, Node
from ...interpreted import Interpreted
from ...options import Options, fusion_enabled
from .leaf import Leaf
from .plans import TAKES_NUMBERS, fit, routes, strides_of

if TYPE_CHECKING:
    from ...engine import Executable

_ROUTES_LIMIT = 512
_new = object.__new__
Key = tuple[Any, ...]
Given = tuple[int, DType, IndexMap | None]  # an operand by number, cast to, and spread by


class Kind:
    """A shape and a dtype; there is one object for each pair."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Shape, dtype: DType) -> None:
        self.shape = shape
        self.dtype = dtype


kind_of = lru_cache(maxsize=1024)(Kind)


class Maker:
    """What an operation makes of operands of certain kinds."""

    __slots__ = ("attr", "given", "kind", "name", "number", "sign")

    def __init__(self, name: str, given: tuple[Given, ...], kind: Kind, attr: Attr = None) -> None:
        self.name = name  # of the operation
        self.given = given  # operands that are numbers, or to be cast and broadcast: how
        # Which of two operands is given as a double, if nothing else is given.
        only = given[0] if len(given) == 1 else None
        self.number = only[0] if only is not None and only[1:] == (FLOAT64, None) else -1
        self.kind = kind  # of the result
        self.attr = attr
        self.sign = hash((name, kind.shape, attr.coefs if type(attr) is IndexMap else attr))


class Recorded(Node):
    """A node with the kind of its value and its place in a run, which makes it."""

    __slots__ = ("kind", "place", "run", "sign")

    kind: Kind
    place: int
    run: Run
    sign: int  # as the recorder tells operations apart


class _Route:
    """The executable that a flush ran, and how its arguments are found anew."""

    __slots__ = ("arguments", "bits", "executable", "free")

    def __init__(self, bits: list[Any], executable: Executable) -> None:
        self.bits = bits  # of the numbers
        self.executable = executable
        self.free: set[int] = set()  # the numbers that are arguments
        # For each argument the place of an array and a window of it, or the number that it is.
        self.arguments: list[tuple[int, Any, bool]] = []


class Run:
    """The entries of one region since its last flush; used under the lock of recording."""

    __slots__ = ("_arrays", "_is_known", "_key", "_leaves", "entries", "numbers", "places",
                 "recorder")  # fmt: skip

    def __init__(self, recorder: Any) -> None:
        self.recorder = recorder
        self.entries: list[Key] = []
        self.numbers: list[Node] = []  # constants that take part in arithmetic, in order
        self.places: dict[Node, int] = {}  # of what is not `Recorded`
        self._arrays: dict[int, int] = {}  # places by identity
        self._leaves: dict[int, Any] = {}  # the arrays, by place
        self._is_known = True  # what has been recorded is told by the entries
        self._key: Key = ()

    def make(self, maker: Maker, operands: tuple[Node, ...], entry: Key) -> Recorded:
        """The node that ``maker`` makes of ``operands``.

        The ``entry`` is the maker, and the places of those operands that are no numbers.
        """
        entries, kind = self.entries, maker.kind
        node: Recorded = _new(Recorded)  # without a call: this is in the way of each operation
        node.op = maker.name
        node.operands = operands
        node.shape = kind.shape
        node.dtype = kind.dtype
        node.attr = maker.attr
        node.line = None
        node.kind = kind
        node.sign = maker.sign
        node.place = len(entries)
        node.run = self
        entries.append(entry)
        return node

    def place_of(self, node: Node) -> int:
        """The place of ``node``, which is entered with all that it is made of."""
        known = self._place(node)
        stack = [] if known is not None else [node]
        while stack:
            node = stack[-1]
            known = self._place(node)
            if known is None:
                waits = [o for o in node.operands if o.op != "constant" and self._place(o) is None]
                if waits:
                    stack += waits
                    continue
                known = self.places[node] = self._entered(node)
            stack.pop()
        assert known is not None
        return known

    def _place(self, node: Node) -> int | None:
        if type(node) is Recorded and node.run is self:
            return node.place
        return self.places.get(node)

    def _entered(self, node: Node) -> int:
        """The place of a new entry for ``node``, whose operands have one."""
        if isinstance(node, Leaf):
            return self._leaf_entered(node)
        takes_numbers = node.is_elementwise or node.op in TAKES_NUMBERS
        places = [self._operand(o, takes_numbers) for o in node.operands]
        line = node.line if node.line is not None and may_fail(node) else None
        return self._enter((node.op, node.attr, node.shape, node.dtype.num, line, *places))

    def _operand(self, node: Node, as_number: bool) -> int:
        place = self._place(node)
        if place is None:  # a constant
            if as_number:
                self.numbers.append(node)
                place = self._enter((None, node.dtype.num))
            else:
                place = self._entered(node)
            self.places[node] = place
        elif not as_number and self.entries[place][0] is None:
            self._is_known = False
        return place

    def _leaf_entered(self, leaf: Leaf) -> int:
        array = leaf.known
        if array is None or leaf.parameter.scalar:
            self._is_known = False
            return self._enter(("unknown",))
        return self._array(array, leaf)

    def _array(self, array: Any, leaf: Leaf) -> int:
        place = self._arrays.get(id(array))
        if place is None:
            place = self._enter(("array", leaf.shape, leaf.dtype.num, strides_of(leaf)))
            self._arrays[id(array)] = place
            self._leaves[place] = array
        return place

    def _enter(self, entry: Key) -> int:
        self.entries.append(entry)
        return len(self.entries) - 1

    # --- at a flush

    def known(
        self, outputs: Sequence[Node], own: Sequence[Leaf | None], options: Options
    ) -> tuple[Executable, list[Any]] | None:
        """What has computed ``outputs`` after such a recording, and its arguments, if known.

        As in `executable_for`.
        """
        places = [self.place_of(node) for node in outputs]
        targets = [None if o is None else self._array(o.array, o) for o in own]
        if any(self.entries[place][0] is None for place in places):
            self._is_known = False
        self._key = (options, fusion_enabled(), *places, *targets, *self.entries)
        if not self._is_known:
            return None
        route = routes.get(self._key)
        if route is None or not fit([n.attr for n in self.numbers], route.bits, route.free):
            return None
        leaves, numbers = self._leaves, self.numbers
        return route.executable, [
            numbers[place].value if is_number else leaves[place] if window is None
            else leaves[place][window]
            for place, window, is_number in route.arguments
        ]  # fmt: skip

    def learn(self, leaves: Sequence[Leaf], executable: Executable | Interpreted) -> None:
        """What was sought by `known` is ``executable``, on the arrays of ``leaves``."""
        if not self._is_known or isinstance(executable, Interpreted):
            return
        route = _Route([n.attr for n in self.numbers], executable)
        for leaf in leaves:
            if leaf.parameter.scalar:
                number = next((i for i, n in enumerate(self.numbers) if n is leaf.source), None)
                if number is None:
                    return
                route.free.add(number)
                route.arguments.append((number, None, True))
                continue
            array, window = (leaf.array, None) if leaf.source is None else leaf.source
            place = self._arrays.get(id(array))
            if place is None:
                return
            route.arguments.append((place, window, False))
        if len(routes) >= _ROUTES_LIMIT:
            routes.clear()
        routes[self._key] = route

    def end(self) -> None:
        """Nothing is computed by it any more: it keeps no memory."""
        self.places.clear()
        self._arrays.clear()
        self._leaves.clear()
