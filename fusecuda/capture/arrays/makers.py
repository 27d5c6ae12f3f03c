"""Makers: what is recorded of operands of kinds that have been met before.

A region's operations are mostly of few kinds: the row of the op table, the result's shape and dtype
and the casts are looked up by the operands' kinds, and the node is made of them; so are views that
are read and written. What is not so plain (other orders of axes, NumPy's own arrays, what may fail)
has no maker: it is recorded as everywhere else.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import FLOAT64, is_supported
from ...graph.index_map import IndexMap, Shape, broadcast, identity
from ...graph.node import Node
from ...graph.ops import OPS
from ..record.flight import recording
from ..record.leaf import Promise
from ..record.run import Given, Kind, Maker, Recorded, Run, kind_of
from ..record.storage import Storage
from ..record.view import View
from .array import Array
from .dispatch import raising
from .table import entry
from .ufuncs import SPECIAL, constant, converted, name_of_loop

LIMIT = 4096
_makers: dict[tuple[Any, ...], Maker | None] = {}  # by ufunc and operands
_makers_of_views: dict[tuple[Any, ...], Maker | None] = {}
_makers_seen: dict[tuple[Any, ...], tuple[View, Maker | None]] = {}  # by a view's identity
_composed: dict[tuple[int, int], tuple[IndexMap, ...]] = {}  # by identity, and what is meant
_UNKNOWN: Any = object()  # for what no maker has been sought yet
WHOLE = Maker("whole", (), Kind((), FLOAT64))  # of a view that shows all there is, as it is
_acquire, _release = recording.acquire, recording.release
_new = object.__new__
bits_of = struct.Struct("d").pack


@entry
def recorded(recorder: Any, ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    """What ``ufunc`` of arrays and numbers records by a maker, or NotImplemented."""
    if raising():
        return NotImplemented
    try:
        _acquire()  # not before: a signal's handler may raise as soon as it returns
        node = _made(recorder, ufunc, inputs)
        if node is None:
            return NotImplemented
        made = new_array(node, not node.shape)
        recorder.made(made)
        return made
    finally:
        _release()


def new_array(node: Recorded, is_scalar: bool) -> Array:
    """An array without a storage that waits for ``node``."""
    array: Array = _new(Array)
    array._node = node
    array._own = array._shown = array._from = array._base = array._values = None
    array.loose = array.pick = None
    array._part = ""
    array.writeable = True
    array.is_scalar = is_scalar
    return array


@entry
def recorded_of_two(recorder: Any, ufunc: np.ufunc, one: Any, other: Any) -> Any:
    """As `recorded`, of two operands."""
    if raising():
        return NotImplemented
    try:
        _acquire()
        node = made_of_two(recorder, ufunc, one, other)
        if node is None:
            return NotImplemented
        made = new_array(node, not node.shape)
        recorder.made(made)
        return made
    finally:
        _release()


def _made(recorder: Any, ufunc: np.ufunc, inputs: Sequence[Any]) -> Recorded | None:
    """The node of ``ufunc`` by a maker, if there is one."""
    if len(inputs) == 2:
        return made_of_two(recorder, ufunc, *inputs)
    run = recorder.run
    key: list[Any] = [ufunc]
    operands: list[Any] = []
    places: list[int] = []
    for value in inputs:
        kind: Any = type(value)
        if kind is Array:
            node = value._node
            if node is None or node.run is not run:
                node = operand(recorder, run, value)
                if node is None:
                    return None
            kind, place = told(run, node)
            operands.append(node)
            places.append(place)
        elif kind is float or kind is int or issubclass(kind, np.number):
            operands.append(value)
        else:
            return None
        key.append(kind)
    maker = _makers.get(known := tuple(key), _UNKNOWN)
    if maker is _UNKNOWN:
        maker = known_maker(known)
    if maker is None or recorder.run is not run:  # an operand has been computed
        return None
    if maker.given and not _give(maker, operands, run):
        return None
    made: Recorded = run.make(maker, tuple(operands), (maker, *places))
    return made


def made_of_two(  # noqa: C901, PLR0912 - each call would take longer than what it does
    recorder: Any, ufunc: np.ufunc, one: Any, other: Any
) -> Recorded | None:
    """As `_made`, of two operands: straight, for it is in the way of each operation."""
    run = recorder.run
    first, second = one, other
    kind: Any = type(one)
    if kind is Array:
        first = one._node
        if first is None or first.run is not run:
            first = operand(recorder, run, one)
            if first is None:
                return None
            kind, place = told(run, first)
        else:
            kind, place = first.kind, first.place
    elif not (kind is float or kind is int or issubclass(kind, np.number)):
        return None
    kind_of_other: Any = type(other)
    if kind_of_other is Array:
        second = other._node
        if other is one:
            second, kind_of_other, its = first, kind, place
        elif second is None or second.run is not run:
            second = operand(recorder, run, other)
            if second is None:
                return None
            kind_of_other, its = told(run, second)
        else:
            kind_of_other, its = second.kind, second.place
    elif type(kind) is not Kind or not (
        kind_of_other is float or kind_of_other is int or issubclass(kind_of_other, np.number)
    ):
        return None
    maker = _makers.get((ufunc, kind, kind_of_other), _UNKNOWN)
    if maker is _UNKNOWN:
        maker = known_maker((ufunc, kind, kind_of_other))
    if maker is None or recorder.run is not run:  # an operand has been computed
        return None
    entry: tuple[Any, ...] = (
        (maker, its) if type(kind) is not Kind
        else (maker, place) if type(kind_of_other) is not Kind
        else (maker, place, its)
    )  # fmt: skip
    operands = (first, second)
    which = maker.number
    number = other if which == 1 else one
    if which >= 0 and (type(number) is float or type(number) is int):  # as `_give`
        try:
            node = Node("constant", (), (), FLOAT64, bits_of(number))
        except OverflowError:
            return None
        run.numbers.append(node)
        operands = (first, node) if which else (node, second)
    elif maker.given:
        given = [first, second]
        if not _give(maker, given, run):
            return None
        operands = tuple(given)
    made: Recorded = run.make(maker, operands, entry)
    return made


def operand(recorder: Any, run: Run, array: Array) -> Node | None:
    """The present value of an array whose elements lie in rows, or None."""
    if array.pick is not None or array.loose is not None or array._part:
        return None
    own, view = array._own or array._storage, array._shown or array._view
    version = own.version
    if version is None:
        version = own.leaf() if own.leaf is not None else None
        if version not in run.places:  # it has not been read yet
            version = None
    elif own.recorder is not recorder or type(version) is Promise:
        version = None
    if version is None or own.shared or own.error is not None:
        return _read(recorder, run, array)
    if type(version) is Recorded and version.run is run:
        kind, at = version.kind, version.place
    else:
        kind, at = told(run, version)
    seen = _makers_seen.get(("index", id(view), kind))
    maker = maker_of_view("index", view, kind) if seen is None else seen[1]
    if maker is WHOLE or maker is None:
        return None if maker is None else version
    return run.make(maker, (version,), (maker, at))


def _read(recorder: Any, run: Run, array: Array) -> Node | None:
    """As `operand`, for what this run has not read before, or others write to."""
    own = array._storage
    if type(own) is not Storage or not is_supported(own.dtype) or not array._view.map.falls():
        return None
    node = array.read_node()
    return node if recorder.run is run else None  # what it waits for may have been computed


def told(run: Run, node: Node) -> tuple[Kind, int]:
    """The kind of a node's value, and its place."""
    if type(node) is Recorded and node.run is run:
        return node.kind, node.place
    place = run.places.get(node)
    return kind_of(node.shape, node.dtype), run.place_of(node) if place is None else place


def written(recorder: Any, array: Array, view: View, value: Node, place: int) -> bool:
    """Record ``value`` in what ``view`` shows of the storage of ``array``; False without a maker.

    ``place`` is that of the value.
    """
    run, own = recorder.run, array._own or array._storage
    if type(own) is not Storage or not array.writeable or array._part:
        return False
    version = own.version
    if type(version) is Recorded and version.run is run:
        kind, at = version.kind, version.place
    else:  # others may have read it
        own.belongs_to(recorder)
        if recorder.run is not run or not own.writeable:
            return False
        version = own.read()
        kind, at = told(run, version)
    seen = _makers_seen.get(("update", id(view), kind))
    maker = maker_of_view("update", view, kind) if seen is None else seen[1]
    if maker is WHOLE:
        own.write(value)
        return True
    if maker is None or (value.op == "index" and value.size == version.size):
        return False
    node = run.make(maker, (version, value), (maker, at, place))
    if own.noted and own.keepers is None and not (own.escaped or own.shared):
        own.version = node  # as `write`, without its calls
        recorder.told(node)
    else:
        own.write(node)
    return True


def filled(run: Run, value: float, shape: Shape) -> Node:
    """``value`` as each element of ``shape``; a number of the run."""
    number = Node("constant", (), (), FLOAT64, bits_of(value))
    if not shape:
        return number
    run.numbers.append(number)
    maker = _maker_of_filled(shape)
    return run.make(maker, (number,), (maker,))


@functools.lru_cache(maxsize=1024)
def _maker_of_filled(shape: Shape) -> Maker:
    return Maker("index", (), kind_of(shape, FLOAT64), broadcast((), shape))


def _give(maker: Maker, operands: list[Any], run: Run) -> bool:
    """Let ``operands`` be nodes of the maker's types and shape; False for numbers out of bounds."""
    numbers = []
    for i, dtype, spread in maker.given:
        value = operands[i]
        if isinstance(value, Node):
            node = value if value.dtype is dtype else converted(value, dtype)
            if spread is not None:  # views of views are one map
                seen = node.op == "index"
                view = through(spread, node.map) if seen else spread
                of = node.operands if seen else (node,)
                node = Node("index", of, maker.kind.shape, dtype, view)
            operands[i] = node
            continue
        try:
            operands[i] = (
                Node("constant", (), (), dtype, bits_of(value))
                if dtype is FLOAT64
                else constant(value, dtype)
            )
        except OverflowError:
            return False
        numbers.append(operands[i])
    run.numbers += numbers
    return True


def through(outer: IndexMap, inner: IndexMap) -> IndexMap:
    """``outer.then(inner)``, found by identity: no map is hashed."""
    known = _composed.get((id(outer), id(inner)))
    if known is None:
        if len(_composed) >= LIMIT:
            _composed.clear()
        known = _composed[id(outer), id(inner)] = outer, inner, outer.then(inner)
    return known[2]


# --- makers


def known_maker(key: tuple[Any, ...]) -> Maker | None:
    """The maker for a ufunc and kinds of operands, which is new."""
    if len(_makers) >= LIMIT:
        _makers.clear()
    maker = _makers[key] = _maker_of(key[0], key[1:])
    return maker


def _maker_of(ufunc: np.ufunc, kinds: Sequence[Any]) -> Maker | None:
    special = ufunc in SPECIAL or ufunc is np.clip or ufunc.signature is not None
    if special or ufunc.nout != 1 or ufunc.nin != len(kinds):
        return None
    try:
        loop = build.resolve(ufunc, *[_type(k) for k in kinds])
        shape = build.broadcast_shapes(*[k.shape for k in kinds if type(k) is Kind])
    except (TypeError, ValueError):  # which NumPy says in its words
        return None
    name = name_of_loop(ufunc, loop)
    if name is None or OPS[name].may_fail:
        return None
    given: list[Given] = []
    for i, (kind, dtype) in enumerate(zip(kinds, loop, strict=False)):
        if type(kind) is not Kind:
            given.append((i, dtype, None))
        elif kind.shape not in ((), shape):
            given.append((i, dtype, broadcast(kind.shape, shape)))
        elif kind.dtype != dtype:
            given.append((i, dtype, None))
    return Maker(name, tuple(given), kind_of(shape, loop[-1]))


def _type(kind: Any) -> Any:
    """What an operand of that kind counts as in type resolution."""
    if type(kind) is Kind:
        return kind.dtype
    return np.dtype(kind) if issubclass(kind, np.number) else kind


def maker_of_view(op: str, view: View, kind: Kind) -> Maker | None:
    """The maker of reading, or updating, what ``view`` shows of a value of that kind."""
    seen = _makers_seen.get((op, id(view), kind))
    if seen is not None:
        return seen[1]
    key = op, view, kind
    if key not in _makers_of_views:
        if len(_makers_of_views) >= LIMIT:
            _makers_of_views.clear()
        _makers_of_views[key] = _new_maker_of_view(op, view, kind)
    if len(_makers_seen) >= LIMIT:
        _makers_seen.clear()
    maker = _makers_of_views[key]
    _makers_seen[op, id(view), kind] = view, maker
    return maker


def _new_maker_of_view(op: str, view: View, kind: Kind) -> Maker | None:
    if view.base_shape != kind.shape or not view.map.falls():
        return None
    if view.shape == kind.shape and view.map.same_over(identity(len(view.shape)), view.shape):
        return WHOLE
    if op == "index":
        return Maker(op, (), kind_of(view.shape, kind.dtype), view.map)
    if 0 in view.shape or not view.map.is_injective(view.shape):
        return None
    return Maker(op, (), kind, view.map)
