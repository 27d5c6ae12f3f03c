"""The NumPy interpreter: the living definition of every operation, and the oracle of the tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import library
from .dtypes import INT64, computed_in
from .index_map import IndexMap
from .node import Graph, LibraryCall, Node
from .ops import row_of
from .tree import tree_prod, tree_sum

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a back end's operations mean where they differ from NumPy's."""

    group: int = 1  # neighbours that a lane of the reduction tree takes at a time
    elementwise: Mapping[tuple[str, str], Callable[..., Any]] = field(default_factory=dict)


def _power_of_integers(a: Array, b: Array) -> Array:
    """CuPy's: a negative exponent gives 0, or 1 and -1 of themselves."""
    unit = np.where(b % 2 == 0, np.abs(a), a)
    negative = np.where(np.abs(a) == 1, unit, 0)
    return np.where(b < 0, negative, np.power(a, np.maximum(b, 0))).astype(a.dtype)


NUMPY = Meaning()
CUPY = Meaning(
    4,
    {
        ("floor_divide", "f"): lambda a, b: np.floor(a / b),
        ("remainder", "f"): lambda a, b: a - np.floor(a / b) * b,
        ("power", "i"): _power_of_integers,
        ("degrees", "f"): lambda a: a * a.dtype.type(180 / np.pi),
        ("radians", "f"): lambda a: a * a.dtype.type(np.pi / 180),
    },
)


def interpret(graph: Graph, arguments: Sequence[Any], meaning: Meaning = NUMPY) -> list[Array]:
    """The outputs of ``graph`` on ``arguments``, one fresh or shared array for each output.

    Arguments are indexed by parameter number. No argument is written to. Raises what NumPy raises
    for value-dependent faults (IndexError, ValueError).
    """
    values: dict[Node, Array] = {}
    owned: set[Node] = set()  # versions of arrays whose memory no other value shows
    nodes = graph.nodes()
    remaining = {node: 0 for node in nodes}
    for node in (*(o for n in nodes for o in n.operands), *graph.outputs):
        remaining[node] += 1
    with np.errstate(all="ignore"):
        for node in nodes:
            if node.op == "parameter":
                values[node] = np.asarray(arguments[node.parameter.number], node.dtype)
                continue
            operands = [values[o] for o in node.operands]
            if node.op == "update" and node.operands[0] in owned and _is_last(node, remaining):
                values[node] = _written(node, *operands)
            else:
                result = evaluate(node, operands, meaning)
                values[node] = _apart(node, result, operands, remaining, owned)
            if node.op == "update":
                owned.add(node)
            for operand in node.operands:
                remaining[operand] -= 1
                if not remaining[operand]:
                    values.pop(operand, None)
    return [values[o] for o in graph.outputs]


def _is_last(node: Node, remaining: Mapping[Node, int]) -> bool:
    """True if nothing after ``node`` uses its first operand, nor ``node`` itself a second time."""
    return remaining[node.operands[0]] == 1


def _apart(
    node: Node, result: Array, operands: list[Array], remaining: Mapping[Node, int],
    owned: set[Node],
) -> Array:  # fmt: skip
    """``result``, a copy of it if it is a small part of what is owned; else that is not owned."""
    for operand, value in zip(node.operands, operands, strict=True):
        if operand not in owned or not np.may_share_memory(result, value):
            continue
        if remaining[operand] == 1:  # the memory is the result's from now on
            if node.op == "reshape":
                owned.add(node)
        elif 2 * result.nbytes <= value.nbytes:
            result = result.copy()
        else:
            owned.discard(operand)
    return result


def evaluate(node: Node, operands: list[Array], meaning: Meaning = NUMPY) -> Array:
    """The value of one operation, of exactly ``node.shape`` and ``node.dtype``."""
    if node.is_elementwise:
        result = _elementwise(node, operands, meaning)
    elif node.op == "reduce":
        result = _reduce(node, operands, meaning)
    else:
        result = _STRUCTURAL[node.op](node, operands)
    array = np.asarray(result)
    if node.dtype == INT64 and array.dtype == np.intp:  # a place, which NumPy counts in words
        array = array.astype(INT64, copy=False)
    assert array.dtype == node.dtype, f"{node!r} gave {array.dtype}"
    assert array.shape == node.shape, f"{node!r} gave {array.shape}"
    return array


_ROUNDING = frozenset(["floor", "ceil", "trunc"])


def _elementwise(node: Node, operands: list[Array], meaning: Meaning) -> Any:
    if node.op == "convert":
        (value,) = operands
        if value.dtype.kind == "c" and node.dtype.kind not in "bc":
            value = value.real  # and no warning: capture has given it
        return value.astype(node.dtype)
    if node.size == 0:  # 0-d operands of no elements cannot fail
        return np.empty(node.shape, node.dtype)
    if node.op in _ROUNDING and node.dtype.kind in "biu":  # NumPy 2.0 would go by way of floats
        return np.broadcast_to(operands[0], node.shape)
    own = meaning.elementwise.get((node.op, node.operands[0].dtype.kind))
    if own is not None:  # in the type that kernels compute in
        operands = [o.astype(computed_in(o.dtype), copy=False) for o in operands]
    result = (own or row_of(node.op).numpy)(*operands)
    shaped = np.broadcast_to(result, node.shape)
    return np.asarray(shaped, node.dtype)


def _index(node: Node, operands: list[Array]) -> Array:
    return view(operands[0], node.map, node.shape)


def view(array: Array, view_map: IndexMap, shape: tuple[int, ...]) -> Array:
    """``array`` seen through ``view_map`` as a NumPy view of ``shape``, sharing its memory."""
    if 0 in shape:
        return np.empty(shape, array.dtype)
    assert view_map.fits(shape, array.shape)
    starts: Any = (*(slice(o, None) for o in view_map.offsets), ...)  # `...`: a view, 0-d too
    base = array[starts]
    strides = view_map.strides(array.strides)
    return np.lib.stride_tricks.as_strided(base, shape, strides)


def _reduce(node: Node, operands: list[Array], meaning: Meaning) -> Any:
    kind, axes = node.reduction.kind, node.reduction.axes
    (array,) = operands
    if kind not in _BY_ROWS:
        return getattr(np, kind)(array, axis=axes)
    kept = [a for a in range(array.ndim) if a not in axes]
    length = math.prod(array.shape[a] for a in axes)
    rows = array.transpose(*kept, *axes).reshape(*(array.shape[a] for a in kept), length)
    return _BY_ROWS[kind](rows, meaning.group)


_BY_ROWS: dict[str, Callable[[Array, int], Any]] = {
    "sum": tree_sum,
    "prod": tree_prod,
    "argmax": lambda rows, _: np.asarray(rows.argmax(axis=-1)),
    "argmin": lambda rows, _: np.asarray(rows.argmin(axis=-1)),
}


def _scan(node: Node, operands: list[Array]) -> Any:
    function: Any = {"sum": np.cumsum, "prod": np.cumprod}[node.reduction.kind]
    return function(operands[0], axis=node.reduction.axes[0], dtype=node.dtype)


def _concatenate(node: Node, operands: list[Array]) -> Any:
    return np.concatenate(operands, axis=node.axis)


def _pad(node: Node, operands: list[Array]) -> Any:
    assert isinstance(node.attr, tuple)
    return np.pad(operands[0], node.attr, constant_values=operands[1][()])


def _gather(node: Node, operands: list[Array]) -> Any:
    return operands[0][tuple(operands[1:])]


def _update(node: Node, operands: list[Array]) -> Array:
    old, value = operands
    return _written(node, old.copy(), value)


def _written(node: Node, old: Array, value: Array) -> Array:
    """``old``, with ``value`` in its place."""
    if value.size:
        view(old, node.map, value.shape)[...] = value
    return old


def _iota(node: Node, operands: list[Array]) -> Array:
    shape = [1] * len(node.shape)
    shape[node.axis] = -1
    return np.broadcast_to(np.arange(node.shape[node.axis]).reshape(shape), node.shape)


def _library(node: Node, operands: list[Array]) -> Array:
    assert isinstance(node.attr, LibraryCall)
    return np.asarray(library.call(node.attr, operands, line=node.line))


_STRUCTURAL: dict[str, Callable[[Node, list[Array]], Any]] = {
    "constant": lambda node, _: node.value,
    "iota": _iota,
    "index": _index,
    "reshape": lambda node, operands: operands[0].reshape(node.shape),
    "scan": _scan,
    "concatenate": _concatenate,
    "pad": _pad,
    "gather": _gather,
    "update": _update,
    "library": _library,
}
