"""Updates: what operators in place record by makers, of parts of arrays as one step.

``x[1:-1] += y[:1]`` reads two parts, computes, and writes one: four nodes. They are made as
elsewhere, but where the kinds have been met before one maker tells all of them, and one entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.dtypes import FLOAT64
from ...graph.index_map import IndexMap
from ...graph.node import Node
from ..record.flight import recording
from ..record.run import Kind, Maker, Recorded, Run
from ..record.storage import Storage
from ..record.view import View
from .array import Array
from .dispatch import raising
from .makers import (
    LIMIT,
    WHOLE,
    bits_of,
    known_maker,
    made_of_two,
    maker_of_view,
    through,
    told,
    written,
)
from .table import entry

_new = object.__new__
_Seen = tuple[Kind, IndexMap]  # what is read of memory, and how


class _Update(Maker):
    """What an operator makes of a part and of another operand, in the place of the part."""

    __slots__ = ("operation", "part", "read")

    def __init__(self, kind: Kind, part: _Seen, operation: str, read: _Seen | None) -> None:
        super().__init__("update", (), kind, part[1])
        self.part = part
        self.operation = operation
        self.read = read  # of the other operand, None where that is all of it


# By operator, the identities of views, which are kept, and kinds.
_known: dict[tuple[Any, ...], tuple[View, View | None, _Update | None]] = {}


@entry
def updated(recorder: Any, ufunc: np.ufunc, array: Array, other: Any) -> bool:
    """Record what ``ufunc`` makes of ``array`` in its place by a maker; False without one."""
    if array.is_scalar or raising():
        return False
    with recording:
        own = array._own
        is_part = own is not None and array._shown is not None and type(own.version) is Recorded
        if is_part and _part_updated(recorder, ufunc, array, other):
            return True
        node = made_of_two(recorder, ufunc, array, other)
        if node is None:
            return False
        if array._node is not None and array._node.kind is node.kind:  # nobody else sees it
            array._node = node
            recorder.made(array)
            return True
        own, view = array._storage, array._shown or array._view
        if node.shape != view.shape or node.dtype != own.dtype:
            return False
        return written(recorder, array, view, node, node.place)


def _part_updated(recorder: Any, ufunc: np.ufunc, array: Any, other: Any) -> bool:
    """As `updated`, of a part of memory that this run has written to, whose kinds are known.

    Not where others are to have what was there before, or to see at once what is written.
    """
    run, own, view = recorder.run, array._own, array._shown
    version = own.version
    if version.run is not run or own.recorder is not recorder or type(own) is not Storage:
        return False
    if not (own.noted and array.writeable) or own.escaped or own.shared or own.error is not None:
        return False
    if own.keepers is not None or array.pick is not None or array.loose is not None or array._part:
        return False
    found = _NUMBER if type(other) is float else _operand(recorder, run, other)
    if found is None:
        return False
    its, shown, node, at = found
    key = ufunc, id(view), version.kind, id(shown), its
    known = _known.get(key)
    maker = _learned(key, view, shown) if known is None else known[2]
    if maker is None:
        return False
    entry: tuple[Any, ...] = (maker, version.place, at)
    if node is None:
        node, entry = Node("constant", (), (), FLOAT64, bits_of(other)), (maker, version.place)
        run.numbers.append(node)
    elif maker.read is not None:
        node = _made("index", (node,), *maker.read)
    kind = maker.part[0]
    part = _made("index", (version,), *maker.part)
    new = run.make(maker, (version, _made(maker.operation, (part, node), kind, None)), entry)
    own.version = new
    recorder.told(new)
    return True


_NUMBER: tuple[Any, None, None, int] = float, None, None, 0


def _operand(recorder: Any, run: Run, other: Any) -> tuple[Kind, View | None, Any, int] | None:
    """Of another operand: the kind of its memory, what it shows of that, its version and place.

    It shows nothing of memory where it waits for a node of its own. None for all else.
    """
    if type(other) is not Array or other.pick is not None or other.loose is not None or other._part:
        return None
    node: Any = other._node
    if node is not None:
        return (node.kind, None, node, node.place) if node.run is run else None
    own, view = other._own, other._shown
    if own is None or view is None or own.shared or own.error is not None:
        return None
    node = own.version
    if type(node) is Recorded:
        is_ours = node.run is run and own.recorder is recorder
        return (node.kind, view, node, node.place) if is_ours else None
    node = own.leaf() if node is None and own.leaf is not None else None
    if node not in run.places:  # it has not been read yet
        return None
    kind, place = told(run, node)
    return kind, view, node, place


def _made(op: str, operands: tuple[Any, ...], kind: Kind, attr: IndexMap | None) -> Node:
    """A node that no entry tells by itself."""
    node = _new(Node)
    node.op = op
    node.operands = operands
    node.shape = kind.shape
    node.dtype = kind.dtype
    node.attr = attr
    node.line = None
    return node


def _learned(key: tuple[Any, ...], view: View, shown: View | None) -> _Update | None:
    """The maker for a key that is new, if there is one."""
    if len(_known) >= LIMIT:
        _known.clear()
    ufunc, _, kind, _, its = key
    maker = _maker(ufunc, kind, view, its, shown)
    _known[key] = view, shown, maker
    return maker


def _maker(ufunc: np.ufunc, kind: Kind, view: View, its: Any, shown: View | None) -> _Update | None:
    """What ``ufunc`` makes of parts of memory of such kinds; None if a value has to be cast."""
    part, update = maker_of_view("index", view, kind), maker_of_view("update", view, kind)
    if part is None or update is None or WHOLE in (part, update):
        return None
    other = None if shown is None else maker_of_view("index", shown, its)
    read: Any = None
    if other is not None and other is not WHOLE:
        its, read = other.kind, other.attr
    elif shown is not None and other is None:
        return None
    computing = known_maker((ufunc, part.kind, its))
    if computing is None or computing.kind is not part.kind:
        return None
    for operand, dtype, spread in computing.given:
        if operand == 0 or dtype != (FLOAT64 if its is float else its.dtype):
            return None
        if spread is not None and shown is None:  # what else it shows is no kind's
            return None
        if spread is not None:
            its, read = part.kind, spread if read is None else through(spread, read)
    seen = None if read is None else (its, read)
    return _Update(kind, (part.kind, view.map), computing.name, seen)
