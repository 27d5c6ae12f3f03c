"""Picks: ``a[mask]``, elements that are known by where they lie in ``a``, not by how many they are.

What is done to a pick element by element is done to all of the array instead. Written back under
the same mask (``a[m] *= 2``, ``a[m] = b[m] + 1``) it is a selection, summed up it is a sum under
the mask: it fuses with what is around it, and nothing is gathered. Whatever else the program wants
of a pick makes it the array that NumPy would give.
"""

from __future__ import annotations

import operator
import threading
import weakref
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import BOOL, DType, is_supported, kind_of
from ...graph.index_map import Shape
from ...graph.node import Node
from ...graph.ops import OPS
from ..record.numbers import TracedScalar
from ..record.recorder import current_recorder
from ..record.user_frames import user_line
from . import ufuncs
from .array import Array
from .compaction import Compaction, Index
from .memory import new
from .table import ENTRIES, TABLE, entry, place_of_out

_DEAREST = 24  # in additions an element: what is dearer is better computed of what is picked alone
_OFTEN = 16  # what is used more often is better computed of what is picked alone, too
_MOST = 16  # picks that are known at a time: each may keep a whole array
_DEEPEST = 4  # operations down to which two masks are compared that were computed twice
_EVERYWHERE = frozenset({np.clip, np.where, np.round, np.copy})
_NUMBERS = (int, float, complex, np.generic, TracedScalar)


class Pick:
    """The elements of ``whole`` at which ``mask`` holds, both as they were when it was made."""

    __slots__ = ("cost", "dtype", "line", "mask", "ndim", "uses", "whole")

    def __init__(self, whole: Kept | Index, mask: Kept, cost: int = 0) -> None:
        self.whole = whole
        self.mask = mask
        self.cost = cost  # of an element of ``whole``, in additions
        self.line = user_line()
        self.uses = 0
        self.dtype = whole.dtype
        self.ndim = len(whole.shape) - len(mask.shape) + 1

    @property
    def rest(self) -> Shape:
        """The extents behind those that the mask is of."""
        return self.whole.shape[len(self.mask.shape) :]

    def where(self) -> Node:
        """The mask for each element of ``whole``."""
        return spread(self.mask.node, self.whole.shape)

    def shown(self) -> Array:
        """An array that stands for it."""
        array: Array = new(Array, None)
        array.is_scalar = False
        array.pick = self
        _KNOWN.of(current_recorder()).append(weakref.ref(array))
        return array

    def beside(self) -> list[Array]:
        """The arrays of other picks that are best written along with this one.

        Those of which all of the array would else be computed now, and the indices of the same
        elements along other axes.
        """
        others = _KNOWN.picks_in(current_recorder())
        return [a for a in others if a.pick is not self and self._goes_with(a.pick)]

    def _goes_with(self, other: Pick) -> bool:
        if type(other.whole) is Index:
            return type(self.whole) is Index and self.mask is other.mask
        return other.whole.is_own and other.whole.array.storage.pending

    @property
    def has_kernel(self) -> bool:
        """True if a kernel can write what is picked."""
        nodes = self.whole.node, self.mask.node
        return nodes[0].size > 0 and all(is_supported(node.dtype) for node in nodes)

    def begun(self) -> Pick | Compaction:
        """The compaction that writes what is picked, recorded; itself where that is NumPy's."""
        recorder = current_recorder()
        if not recorder.compacts or not self.has_kernel:
            return self
        made = build.compact(self.whole.node, self.mask.node, self.line)
        return Compaction(recorder.value(made), self.ndim)

    def settled(self) -> Array:
        """What NumPy picks."""
        made: Array = ENTRIES.eager(operator.getitem, self.whole.array, (self.mask.array,))
        return made


class Kept:
    """An array as it is now, whatever is written to it later."""

    __slots__ = ("__weakref__", "array", "is_own")

    def __init__(self, array: Array, is_own: bool = False) -> None:
        self.array = array
        self.is_own = is_own
        if not is_own:
            array.storage.keep(self)

    @property
    def node(self) -> Node:
        """Its node."""
        return self.array.read_node()

    @property
    def shape(self) -> Shape:
        """Its shape."""
        return self.array.shape

    @property
    def dtype(self) -> DType:
        """Its dtype."""
        return self.array.dtype

    def part(self) -> None:
        """Have a copy: the array is about to be written to."""
        self.array = _of(self.node)


def places(mask: Array) -> tuple[Array, ...] | None:
    """The indices, along each axis, of the elements where ``mask`` holds; None for NumPy to find.

    They are picks, as what is picked at these places is.
    """
    kept = _kept(mask)
    if kept is None:
        return None
    return tuple([Pick(Index(kept.shape, axis), kept).shown() for axis in range(mask.ndim)])


def _kept(mask: Array) -> Kept | None:
    """``mask`` as it is now, if picks can be made by it."""
    _KNOWN.make_room()
    if mask.is_loose or mask.dtype != BOOL or not mask.ndim or not mask.size:
        return None
    if mask.storage.shared or mask.storage.escaped or mask.reads_by_computing:
        return None
    if (recorder := current_recorder()).transparent:
        recorder.loose = True  # they may become so
    return Kept(mask)


@entry
def picked(array: Array, key: Any) -> Array | None:
    """``array[key]`` for a mask of its leading axes, or None for another key."""
    if type(key) is tuple and len(key) == 1:
        (key,) = key
    if type(key) is not Array or key.dtype != BOOL or not is_supported(array.dtype):
        return None
    if array.is_loose or key.is_loose or key.shape != array.shape[: key.ndim]:
        return None
    if array.storage.shared or array.storage.escaped or array.reads_by_computing:
        return None
    mask = _kept(key)
    return None if mask is None else Pick(Kept(array), mask).shown()


class _Known(threading.local):
    """The arrays that this thread's masks have picked, the oldest first."""

    def __init__(self) -> None:
        self._by_recorder: Any = weakref.WeakKeyDictionary()

    def of(self, recorder: Any) -> list[weakref.ref[Array]]:
        """Those in the hands of ``recorder``."""
        found: list[weakref.ref[Array]] = self._by_recorder.setdefault(recorder, [])
        return found

    def picks_in(self, recorder: Any) -> list[Array]:
        """Those that nobody has asked the elements of."""
        return [a for r in self.of(recorder) if (a := r()) is not None and type(a.pick) is Pick]

    def make_room(self) -> None:
        """Gather the oldest, so that there is room for one more pick."""
        seen = self.of(current_recorder())
        if len(seen) < _MOST:
            return
        arrays = [a for r in seen if (a := r()) is not None and a.pick is not None]
        for array in arrays[: 1 - _MOST]:
            array.is_loose  # noqa: B018 - which gathers it
        seen[:] = map(weakref.ref, arrays[1 - _MOST :])


_KNOWN = _Known()


@entry
def put_picked(array: Array, key: Any, value: Array) -> bool:
    """Write what is picked back under the mask that picked it; False if that is not what it is."""
    pick = value.pick
    if type(pick) is not Pick:
        return False
    if type(key) is not Array or key.dtype != BOOL or key.is_loose or array.is_loose:
        return False
    if array.shape != pick.whole.shape or not _is_same(key.read_node(), pick.mask.node):
        return False
    if not is_supported(array.dtype) or (pick.dtype.kind == "c" and array.dtype.kind != "c"):
        return False
    chosen = build.convert(pick.whole.node, array.dtype)
    array.write_node(build.where(pick.where(), chosen, array.read_node()))
    return True


@entry
def of_picked(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What ``function`` makes of picks without gathering them, or NotImplemented."""
    picks = [a.pick for a in args if type(a) is Array and a.pick is not None]
    if not all([_is_used_again(pick) for pick in picks]):
        return NotImplemented
    if type(args[0]) is Array and args[0].pick is not None and function in _UNDER_MASK:
        return _UNDER_MASK[function](function, args[0].pick, *args[1:], **kwargs)
    if not isinstance(function, np.ufunc) and (
        function not in _EVERYWHERE or len(args) > place_of_out(function)
    ):
        return NotImplemented
    mask, rest = picks[0].mask, picks[0].rest
    if any(p.rest != rest or not _is_same(p.mask.node, mask.node) for p in picks[1:]):
        return NotImplemented
    named = kwargs.values()
    if not all(_is_alike(a, rest) for a in args) or not all(map(_is_plain, named)):
        return NotImplemented
    nodes = {pick: pick.whole.node for pick in picks}
    wholes = [_of(nodes[a.pick]) if type(a) is Array and a.pick else a for a in args]
    if isinstance(function, np.ufunc):
        made = NotImplemented if kwargs else ufuncs.apply(Array, function, wholes, None)
    else:
        made = TABLE[function](*wholes, **kwargs)
    if type(made) is not Array or made.shape != picks[0].whole.shape:
        return NotImplemented
    cost = _cost(made.read_node(), set(nodes.values()))
    if cost is None or (cost := cost + max(p.cost for p in picks)) > _DEAREST:
        return NotImplemented
    return Pick(Kept(made, is_own=True), mask, cost).shown()


def _is_used_again(pick: Pick | Compaction) -> bool:
    """True for a pick of which one use more is worth it."""
    if type(pick) is not Pick:
        return False
    pick.uses += 1
    return pick.uses <= _OFTEN


@entry
def assign_picked(target: Array, result: Any) -> bool:
    """Let a pick be ``result``, made of it in place; False if that is not picked by its mask."""
    pick, changed = target.pick, getattr(result, "pick", None)
    if type(changed) is not Pick or type(pick) is not Pick or changed.mask is not pick.mask:
        return False
    if changed.dtype != pick.dtype:
        whole = _of(build.convert(changed.whole.node, pick.dtype))
        changed = Pick(Kept(whole, is_own=True), pick.mask, changed.cost)
    target.pick = changed
    return True


def _reduced(function: Any, pick: Pick, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
    kwargs = {k: v for k, v in kwargs.items() if v is not None}
    if args or kwargs.keys() - {"dtype", "ddof"} or axis not in (None, 0):
        return NotImplemented
    kwargs |= {"axis": _axes(pick, axis), "where": _of(pick.where())}
    return TABLE[function](_of(pick.whole.node), **kwargs)


def _axes(pick: Pick, axis: Any) -> Any:
    return None if axis is None else tuple(range(len(pick.mask.shape)))


def _extreme(function: Any, pick: Pick, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The largest or least of what is picked; NotImplemented where that is nothing."""
    if args or kwargs or axis not in (None, 0) or kind_of(pick.dtype) not in "iuf":
        return NotImplemented
    kind: Any = np.finfo if kind_of(pick.dtype) == "f" else np.iinfo
    ends = [-np.inf, np.inf] if kind is np.finfo else [kind(pick.dtype).min, kind(pick.dtype).max]
    worst = build.constant(ends[function is np.min], pick.dtype)
    chosen = _of(build.where(pick.where(), pick.whole.node, worst))
    found = TABLE[function](chosen, axis=_axes(pick, axis))
    return found if TABLE[np.any](_of(pick.mask.node)) else NotImplemented


def _counted(function: Any, pick: Pick, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs:
        return NotImplemented
    zero = build.constant(0, pick.dtype)
    return TABLE[function](_of(build.where(pick.where(), pick.whole.node, zero)))


_UNDER_MASK: dict[Any, Any] = {
    **dict.fromkeys((np.sum, np.prod, np.mean, np.var, np.std, np.any, np.all), _reduced),
    **dict.fromkeys((np.max, np.min), _extreme),
    np.count_nonzero: _counted,
}


def _of(node: Node) -> Array:
    return Array.of_node(node, is_scalar=False)


def _is_alike(value: Any, rest: Shape) -> bool:
    """True for a pick, and for what goes with each of its rows, of the shape ``rest``."""
    if type(value) is Array:
        return value.pick is not None or (not value.is_loose and _fits(value.shape, rest))
    return _is_plain(value) and not isinstance(value, str)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, *_NUMBERS))


def _fits(shape: Shape, rest: Shape) -> bool:
    behind = rest[len(rest) - len(shape) :] if len(shape) <= len(rest) else None
    return behind is not None and all(a in (1, b) for a, b in zip(shape, behind, strict=True))


def spread(mask: Node, shape: Shape) -> Node:
    """A mask of the leading axes for each element of ``shape``."""
    lead = mask.shape + (1,) * (len(shape) - len(mask.shape))
    return build.broadcast_to(build.reshape(mask, lead), shape)


def _cost(node: Node, leaves: set[Node]) -> int | None:
    """What an element costs beyond ``leaves``; None if it is not made element by element."""
    total, seen, left = 0, set(leaves), [node]
    while left:
        node = left.pop()
        if node in seen or node.shape == ():
            continue
        seen.add(node)
        row = OPS.get(node.op)
        if row is not None:
            if row.may_fail and node.dtype.kind in "iu":
                return None
            total += row.cost
            left.extend(node.operands)
        elif node.op not in ("index", "reshape") or node.size == node.operands[0].size:
            return None  # but for what is broadcast
    return total


def _is_same(a: Node, b: Node, depth: int = _DEEPEST) -> bool:
    """True if both are surely the same value."""
    if a is b:
        return True
    alike = a.op == b.op and a.shape == b.shape and a.dtype == b.dtype
    if not alike or not depth or not a.operands or len(a.operands) != len(b.operands):
        return alike and a.op == b.op == "constant" and a.attr is not None and a.attr == b.attr
    if not (a.is_elementwise or a.op in ("index", "reshape")) or a.attr != b.attr:
        return False
    return all(_is_same(x, y, depth - 1) for x, y in zip(a.operands, b.operands, strict=True))
