"""Patterns: what functions of NumPy record of operands of kinds that have been met before.

A handler looks at kinds of arrays and at plain arguments, never at values. So the nodes that it
has once made between its operands and its result are made again for others of such kinds, without
it. That holds where it does nothing else: one new array, no write, nothing computed, no line that
an error would name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...graph.dtypes import DType
from ...graph.index_map import Shape
from ...graph.node import Node
from ..record.flight import recording
from ..record.leaf import Leaf
from ..record.run import Maker, Recorded, Run, kind_of
from ..record.view import View
from .array import Array
from .dispatch import raising
from .makers import bits_of, new_array, operand, told
from .table import ENTRIES, entry, place_of_out

_LIMIT = 4096
_MOST = 32  # nodes of a pattern
_LITERALS = frozenset({int, bool, str, type(None), type, type(np._NoValue)})
_FOLLOWED = frozenset((
    np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean, np.var, np.std, np.argmax, np.argmin,
    np.where, np.clip, np.cumsum, np.cumprod, np.round, np.dot, np.matmul, np.zeros_like,
    np.ones_like, np.full_like, np.astype,
))  # fmt: skip
Item = tuple[str, Any, Shape, DType, tuple[int, ...], bool]  # what makes a node of earlier ones
_patterns: dict[tuple[Any, ...], _Pattern | None] = {}


class _UnknownError(Exception):
    """There is something among the arguments, or in what was made, that no pattern tells."""


class _Pattern:
    """The nodes between some operands and a result."""

    __slots__ = ("is_scalar", "items", "maker", "operands")

    def __init__(self, items: list[Item], is_scalar: bool) -> None:
        *self.items, (name, attr, shape, dtype, self.operands, _) = items
        self.maker = Maker(name, (), kind_of(shape, dtype), attr)
        self.is_scalar = is_scalar

    def make(self, run: Run, nodes: list[Node], places: list[int]) -> Recorded:
        """The node of the result for other operands, which ``nodes`` are and ``places`` tell."""
        for name, attr, shape, dtype, operands, is_number in self.items:
            node = Node(name, tuple([nodes[i] for i in operands]), shape, dtype, attr)
            nodes.append(node)
            if is_number:
                run.numbers.append(node)
        own = tuple([nodes[i] for i in self.operands])
        return run.make(self.maker, own, (self.maker, *places))


def _items(root: Node, operands: list[Node], numbers: Sequence[Node]) -> list[Item]:
    """How ``root`` is made of ``operands``; some of its constants are among the ``numbers``."""
    positions = {node: i for i, node in enumerate(operands)}
    items: list[Item] = []
    stack = [root]
    while stack:
        node = stack[-1]
        if node not in positions:
            waits = [o for o in node.operands if o not in positions]
            if waits:
                stack += waits[::-1]
                continue
            if isinstance(node, Leaf) or node.line or len(items) >= _MOST:
                raise _UnknownError
            is_number = any(node is n for n in numbers)
            places = tuple([positions[o] for o in node.operands])
            items.append((node.op, node.attr, node.shape, node.dtype, places, is_number))
            positions[node] = len(positions)
        stack.pop()
    if not items or len(operands) > len(set(operands)):
        raise _UnknownError
    return items


@entry
def followed(recorder: Any, func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What NumPy's ``func`` records, by a pattern or to be one; NotImplemented if it cannot be."""
    if func not in _FOLLOWED or raising() or _is_told_where(func, args, kwargs):
        return NotImplemented
    with recording:
        run, operands = recorder.run, list[Node]()
        try:
            described = [_described(recorder, v, operands) for v in args]
            named = [(name, _described(recorder, v, operands)) for name, v in kwargs.items()]
        except _UnknownError:
            return NotImplemented
        if recorder.run is not run:  # an operand has been computed
            return NotImplemented
        key = (func, *described, *named)
        if key not in _patterns:
            return _learned(recorder, key, operands, func, args, kwargs)
        pattern = _patterns[key]
        if pattern is None or (len(operands) > 1 and len(operands) > len(set(operands))):
            return NotImplemented
        places = [run.place_of(node) for node in operands]
        made = new_array(pattern.make(run, operands, places), pattern.is_scalar)
        recorder.made(made)
        return made


def _is_told_where(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> bool:
    """True for a call that is given an array for its result, which no stand-in is."""
    return kwargs.get("out") is not None or len(args) > place_of_out(func)


def _learned(
    recorder: Any, key: Any, operands: list[Node], func: Any, args: Any, kwargs: dict[str, Any]
) -> Any:
    """The result of a call from which a pattern is learned, or NotImplemented."""
    run = recorder.run
    given = iter(operands)
    result = ENTRIES.call_function(
        func,
        [_stand_in(v, given) for v in args],
        {name: _stand_in(v, given) for name, v in kwargs.items()},
    )
    pattern = None
    if recorder.run is run and _is_new(result):
        with contextlib.suppress(_UnknownError):
            items = _items(result.read_node(), operands, run.numbers)
            pattern = _Pattern(items, result.is_scalar)
    if len(_patterns) >= _LIMIT:
        _patterns.clear()
    _patterns[key] = pattern
    return NotImplemented if pattern is None else result


def _stand_in(value: Any, given: Iterator[Node]) -> Any:
    """For an array one that has just the node that a pattern begins with."""
    if type(value) is not Array:
        return value
    node = next(given)
    if type(node) is not Recorded:
        return value
    return new_array(node, value.is_scalar)


def _is_new(result: Any) -> bool:
    """True for an array with memory of its own, in rows."""
    if type(result) is not Array or result.pick is not None or result.loose is not None:
        return False
    if result._node is not None:
        return True
    own = result.storage
    whole = result._shown is View.whole(own.shape) and not result._part
    return whole and own.waits and own.landed == 0 and own.buffer is None


def _described(recorder: Any, value: Any, operands: list[Node]) -> Any:
    """What a handler can know of an argument; the nodes of arrays are added to ``operands``."""
    kind = type(value)
    if kind is Array:
        node = value._node
        if node is None or node.run is not recorder.run:
            node = operand(recorder, recorder.run, value)
            if node is None or (type(node) is not Recorded and not value.shows_all()):
                raise _UnknownError
        operands.append(node)
        found = told(recorder.run, node)[0]
        return (found, value.is_scalar) if not node.shape else found
    if kind in _LITERALS or issubclass(kind, np.dtype):
        return kind, value
    if kind is float:
        return bits_of(value)
    if kind is tuple and all([type(v) in _LITERALS for v in value]):
        return (kind, *[(type(v), v) for v in value])
    raise _UnknownError
