"""Random numbers that are operations like others: a generator that counts instead of storing bits.

Element ``i`` of what is drawn is a function of a seed and of the place ``position + i`` in a stream
(`graph/philox.py`). So draws are fused into the kernels that use them, and nobody has to store
them. The seed and the position are numbers given to the kernels.
"""

from __future__ import annotations

import functools
import math
import operator
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph import build, philox
from ...graph.dtypes import BOOL, ELEMENT_TYPES, FLOAT32, FLOAT64, UINT64, DType
from ...graph.index_map import Shape
from ...graph.node import Node
from ..record.leaf import Leaf
from ..record.numbers import TracedScalar, followed, value_of
from ..record.structure import held_by_attributes
from .array import Array
from .computed import assign_result
from .creation import asarray, shape_of

_PERIOD = 2**64
_advancing = threading.RLock()


def counter_rng(seed: Any, stream: Any = 0) -> CounterGenerator:
    """A generator of Philox 4×32-10 whose draws are computed in the kernels that use them.

    ``seed`` and ``stream`` are integers from 0 to 2**64 - 1: other streams of one seed never meet.
    A generator is returned as it is.
    """
    return seed if type(seed) is CounterGenerator else CounterGenerator(seed, stream)


@held_by_attributes
class CounterGenerator:
    """A generator that has no state but its position: of one seed, stream and position one number.

    Its methods are those of `numpy.random.Generator`, with numbers of their own. ``position``
    counts the elements that were drawn; it may be set.
    """

    def __init__(self, seed: Any, stream: Any = 0) -> None:
        self.seed = _of_64_bits(seed)
        self.stream = _of_64_bits(stream)
        self.position: Any = 0

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Return random floats in the half-open interval [0.0, 1.0)."""
        return _floats(self, _uniform, size, dtype, out, "random")

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Draw samples from a uniform distribution over the half-open interval [low, high)."""
        low, high = _data(low), _data(high)
        size = _size_for(size, low, high)
        return low + (high - low) * _floats(self, _uniform, size)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Draw samples from a standard Normal distribution (mean=0, stdev=1)."""
        return _floats(self, _normal, size, dtype, out, "standard_normal")

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw random samples from a normal (Gaussian) distribution."""
        loc, scale = _data(loc), _not_negative(scale)
        size = _size_for(size, loc, scale)
        return loc + scale * _floats(self, _normal, size)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, out: Any = None
    ) -> Any:
        """Draw samples from the standard exponential distribution."""
        return _floats(self, _exponential, size, dtype, out, "standard_exponential")

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw samples from an exponential distribution."""
        scale = _not_negative(scale)
        size = _size_for(size, scale)
        return scale * _floats(self, _exponential, size)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:  # fmt: skip
        """Return random integers from low (inclusive) to high (exclusive), or from 0 to low.

        Both are numbers. No value is likelier than another by more than one part in 2**64.
        """
        low, high = (0, low) if high is None else (low, high)
        kind = np.dtype(dtype)
        first, count = _bounds(low, high, kind, endpoint)
        shape = () if size is None else shape_of(size)
        place = _place(self, shape)
        bits = _bits("philox", place), _bits("philox_rest", place)
        drawn = build.elementwise("below", [*bits, _number(count)], UINT64)
        drawn = build.elementwise("add", [drawn, _number(first)], UINT64)
        return Array.of_node(build.convert(drawn, kind), size is None)

    def spawn(self, n_children: int) -> list[CounterGenerator]:
        """Create new independent child generators, whose seeds are drawn."""
        count = operator.index(n_children)
        if count < 0:
            raise ValueError("n_children must be non-negative")
        seed, stream, position = (int(v) for v in (self.seed, self.stream, _advance(self, count)))
        places = np.arange(count, dtype=np.uint64) + np.uint64(position % _PERIOD)
        seeds = philox.philox(places, np.uint64(stream), np.uint64(seed))
        return [CounterGenerator(int(s)) for s in seeds]

    def __repr__(self) -> str:
        values = f"seed={self.seed}, stream={self.stream}, position={self.position}"
        return f"CounterGenerator({values})"


# --- arguments


@followed
def _of_64_bits(value: Any) -> int:
    """A seed or the number of a stream; raises TypeError or ValueError for what is none."""
    number = operator.index(value)
    if not 0 <= number < _PERIOD:
        raise ValueError("a seed must be an integer from 0 to 2**64 - 1, and so must a stream")
    return number


def _data(value: Any) -> Any:
    """A parameter of a distribution: a number or an array."""
    if isinstance(value, list | tuple):
        return asarray(value)
    return value


def _is_array(value: Any) -> bool:
    """True for arrays; a followed number is not asked, for it would be looked at."""
    return type(value) is not TracedScalar and hasattr(value, "shape")


def _not_negative(scale: Any) -> Any:
    """A scale; raises ValueError for a negative number, and does not look into arrays."""
    scale = _data(scale)
    return scale if _is_array(scale) else _checked(scale)


@followed
def _checked(scale: Any) -> Any:
    if scale < 0:
        raise ValueError("scale < 0")
    return scale


def _size_for(size: Any, *parameters: Any) -> Any:
    """The size to draw: as given, else that of the parameters; raises ValueError if they differ."""
    shapes = [p.shape for p in parameters if _is_array(p) and p.shape]
    if not shapes:
        return size
    shape = build.broadcast_shapes(*shapes)
    if size is None:
        return shape
    wanted = shape_of(size)
    fits = len(shape) <= len(wanted)
    fits = fits and all(m in (1, n) for m, n in zip(shape[::-1], wanted[::-1], strict=False))
    if not fits:
        raise ValueError(f"Output size {wanted} is not compatible with broadcast dimensions of "
                         f"inputs {shape}.")  # fmt: skip
    return wanted


def _bounds(low: Any, high: Any, dtype: DType, endpoint: bool) -> tuple[Any, Any]:
    """The first integer and how many there are, as numbers of 64 bits; raises NumPy's errors."""
    if dtype.kind not in "biu":
        raise TypeError(f"Unsupported dtype {dtype!r} for integers")
    first, last = (v if type(value_of(v)) is int else operator.index(v) for v in (low, high))
    info = np.iinfo(str(dtype)) if dtype != BOOL else np.iinfo("uint8")
    most = 1 if dtype == BOOL else int(info.max)
    return first % _PERIOD, _count(first, last, int(info.min), most, int(endpoint))


@followed
def _count(low: int, high: int, least: int, most: int, endpoint: int) -> int:
    """How many integers there are from ``low`` to ``high``; 0 are all of 64 bits."""
    if low < least:
        raise ValueError(f"low is out of bounds: it is less than {least}")
    if high - 1 + endpoint > most:
        raise ValueError(f"high is out of bounds: there is nothing beyond {most}")
    if low >= high + endpoint:
        raise ValueError("low > high" if endpoint else "low >= high")
    return (high + endpoint - low) % _PERIOD


# --- nodes

_Place = tuple[Node, Node, Node]


def _advance(generator: CounterGenerator, count: int) -> Any:
    """The position, which goes on by ``count``.

    Of a followed one what is followed is where the call began: a chain would grow with each draw.
    """
    with _advancing:
        before = generator.position
        recipe = before.recipe if type(before) is TracedScalar else None
        if type(recipe) is tuple and recipe[0] is operator.add and type(recipe[1][1]) is int:
            start, drawn = recipe[1]
            generator.position = start + (drawn + count)
        elif count:
            generator.position = before + count
    return before


def _place(generator: CounterGenerator, shape: Shape) -> _Place:
    """Counter, stream and key of the elements of ``shape``, which are drawn."""
    size = math.prod(shape)
    position = _advance(generator, size)
    if type(value_of(position)) is not int:
        position = operator.index(position)
    counter = _number(position % _PERIOD)
    if shape:
        index = build.convert(build.reshape(build.iota((size,), 0), shape), UINT64)
        counter = build.elementwise("add", [index, counter], UINT64)
    return (
        counter,
        _number(generator.stream, _leaf_of_stream),
        _number(generator.seed, _leaf_of_seed),
    )


def _number(value: Any, leaf: Callable[[int], Node] | None = None) -> Node:
    """An integer given to the kernels, so that another one changes no plan."""
    if type(value) is TracedScalar:
        return value.node(UINT64)
    return (leaf or _leaf)(int(value))


def _leaf(value: int) -> Node:
    return Leaf(np.uint64(value), (), UINT64, scalar=True)


# One for all draws, but not one for two things that happen to be alike.
_leaf_of_seed = functools.lru_cache(maxsize=64)(_leaf)
_leaf_of_stream = functools.lru_cache(maxsize=64)(_leaf)


def _bits(name: str, place: _Place) -> Node:
    return build.elementwise(name, place, UINT64)


def _with(op: str, node: Node, number: Any) -> Node:
    return build.elementwise(op, [node, build.constant(number, node.dtype)], node.dtype)


def _fraction(bits: Node, dtype: DType) -> Node:
    """Evenly spaced numbers in [0, 1), of as many bits as ``dtype`` holds."""
    dropped = 2 ** (64 - ELEMENT_TYPES[dtype].digits)
    return _of_one(_with("bitwise_and", bits, _PERIOD - dropped), dtype)


def _of_one(bits: Node, dtype: DType) -> Node:
    """The fraction of 2**64 that ``bits`` are, by way of doubles: those vectorise everywhere."""
    return build.convert(_with("multiply", build.convert(bits, FLOAT64), 2.0**-64), dtype)


def _log(bits: Node, dtype: DType) -> Node:
    """The logarithms of numbers in (0, 1], of which the small ones have all their digits."""
    return build.elementwise("log", [_of_one(_with("bitwise_or", bits, 1), dtype)], dtype)


def _uniform(place: _Place, dtype: DType) -> Node:
    return _fraction(_bits("philox", place), dtype)


def _exponential(place: _Place, dtype: DType) -> Node:
    """The inverse of the distribution."""
    zero = build.constant(0.0, dtype)
    return build.elementwise("subtract", [zero, _log(_bits("philox", place), dtype)], dtype)


def _normal(place: _Place, dtype: DType) -> Node:
    """One of the two numbers of Box and Muller."""
    squared = _with("multiply", _log(_bits("philox", place), dtype), -2.0)
    angle = _with("multiply", _fraction(_bits("philox_rest", place), dtype), 2 * math.pi)
    parts = [build.elementwise(*part, dtype) for part in (("sqrt", [squared]), ("cos", [angle]))]
    return build.elementwise("multiply", parts, dtype)


def _floats(
    generator: CounterGenerator, kind: Callable[[_Place, DType], Node], size: Any,
    dtype: Any = FLOAT64, out: Any = None, name: str = "",
) -> Any:  # fmt: skip
    """Draws of ``kind``, an array or for no size a number; written to ``out`` if that is given."""
    wanted = np.dtype(dtype)
    if wanted not in (FLOAT32, FLOAT64):
        raise TypeError(f"Unsupported dtype {wanted!r} for {name}")
    if out is not None:
        if size is not None and shape_of(size) != out.shape:
            raise ValueError("size must match out.shape when used together")
        if out.dtype != wanted:
            raise TypeError(f"Supplied output array has wrong type. Expected {wanted}, "
                            f"got {out.dtype}")  # fmt: skip
        size = out.shape
    shape = () if size is None else shape_of(size)
    result = Array.of_node(kind(_place(generator, shape), wanted), size is None)
    return result if out is None else assign_result(out, result)
