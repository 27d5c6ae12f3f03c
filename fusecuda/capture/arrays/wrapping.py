"""NumPy's functions made to take plain data and to give lazy arrays."""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...graph.dtypes import is_numeric
from ..record.view import is_writeable
from .array import Array
from .gathering import DISPATCHED, gathered, takes_arrays
from .memory import in_force, new
from .table import ENTRIES, positional_names
from .values import plain

Function = Callable[..., Any]
_UFUNC_METHODS = ("accumulate", "outer", "reduce", "reduceat")  # `at` writes to its argument

# These look at arrays without computing with them, or write to one: their arguments stay as they
# are, for a copy would be in vain, or would be what is written to.
_UNLIFTED = (
    "array2string array_repr array_str common_type copyto einsum_path iscomplexobj isrealobj "
    "may_share_memory min_scalar_type ndim result_type save savetxt savez savez_compressed shape "
    "shares_memory size"
)
# These write to their first argument.
_WRITERS = "fill_diagonal place put put_along_axis putmask shuffle"


# --- data in, data out


def lift(value: Any) -> Any:
    """``value`` with every plain NumPy array in it copied into a lazy one."""
    kind = type(value)
    if kind is np.ndarray:
        return Array.of_array(value) if is_numeric(value.dtype) else value
    if kind in (list, tuple) and value and type(value[0]) in (np.ndarray, list, tuple):
        return kind(lift(v) for v in value)
    return value


def _lifted_list(value: Any) -> Any:
    """As `lift`, for what stands for one array."""
    made = gathered(value)
    return made if type(made) is Array else lift(value)


def lazy(value: Any, given: Iterable[Any] = ()) -> Any:
    """``value``, which NumPy returned, with every array and number of NumPy's in it made lazy.

    What is itself among the arguments ``given`` is the caller's and stays as it is. Arrays of
    objects stay NumPy's.
    """
    kind = type(value)
    if kind is Array:
        return value
    if kind is np.ndarray:
        if not is_numeric(value.dtype) or any(value is g for g in given):
            return value
        own = value.flags.owndata and value.flags.writeable
        return _made_lazy(value, own)
    if isinstance(value, np.generic) and is_numeric(value.dtype):
        return _made_lazy(value, own=True)
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(lazy(v, given) for v in value)
    if kind in (list, tuple):
        return kind(lazy(v, given) for v in value)
    return value


def _made_lazy(value: Any, own: bool) -> Array:
    """The lazy array of a NumPy array or scalar, whose memory is taken over if it is its own."""
    if own and in_force().at_once_below:
        return new(Array, value)  # type: ignore[no-any-return]
    if not own and any(s == 0 and n > 1 for s, n in zip(value.strides, value.shape, strict=True)):
        return _repeating(value)
    result = Array.of_array(np.asarray(value), copy=not own)
    result.is_scalar = isinstance(value, np.generic)
    return result


def _repeating(value: Any) -> Array:
    """The lazy array of one whose elements repeat, of a copy of what there is of them."""
    once = value[tuple(slice(1) if s == 0 else slice(None) for s in value.strides)]
    result: Any = np.broadcast_to(Array.of_array(np.array(once)), value.shape)
    result.writeable = is_writeable(value)
    return result  # type: ignore[no-any-return]


def stay_in_namespace(function: Function, name: str, module: str, doc: str | None) -> None:
    """Give a made function the name, module, signature and first line of NumPy's."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = first_line(doc, name)


def first_line(doc: str | None, name: str) -> str:
    """The first sentence of a NumPy docstring, behind the signature that some begin with."""
    paragraphs = [" ".join(p.split()) for p in inspect.cleandoc(doc or "").split("\n\n")]
    if len(paragraphs) > 1 and re.match(r"\w+\(", paragraphs[0]):
        paragraphs = paragraphs[1:]
    sentence = re.match(r".*?\.(?= |$)", paragraphs[0])
    return (sentence[0] if sentence else paragraphs[0]) or f"As `numpy.{name}`."


# --- functions


class Unbound(staticmethod):  # type: ignore[type-arg]  # which no Python takes at run time
    """A function that is no method of a class that has it as an attribute, as NumPy's own are."""

    def __init__(self, function: Function, module: str = "") -> None:
        super().__init__(function)
        vars(self).update(vars(function))  # the methods of a ufunc
        self.__module__ = module or function.__module__

    def __get__(self, instance: object, owner: type | None = None, /) -> Any:
        return self

    def __reduce__(self) -> str:  # by reference, as functions are
        return self.__name__

    def __repr__(self) -> str:
        return repr(self.__func__)


def made(function: Any, name: str, module: str) -> Any:
    """What a NumPy function, or an object of NumPy's that acts as one, is in our namespace."""
    if isinstance(function, np.ufunc):
        result = _ufunc(function)
    elif name in _WRITERS.split():
        result = _writer(function)
    elif isinstance(function, DISPATCHED) and module == "fusecuda.numpy":
        result = _dispatched(function, name)
    else:
        result = _computed(function)
    stay_in_namespace(result, name, module, function.__doc__)
    result.__wrapped__ = function  # type: ignore[attr-defined]  # help() shows its signature
    return Unbound(result)


def _dispatched(function: Function, name: str) -> Function:
    """A function that records, if it is one that can be, whatever arrays it is given."""
    if name in _UNLIFTED.split():

        def unlifted(*args: Any, **kwargs: Any) -> Any:
            return lazy(function(*args, **kwargs), (*args, *kwargs.values()))

        return unlifted
    names = positional_names(function)
    if names is None:
        return _computed(function)
    place = names.index("out") if "out" in names else len(names) + 1
    lifted = _lifted_list if takes_arrays(function) else lift

    def call(*args: Any, **kwargs: Any) -> Any:
        recorder = in_force()
        if (limit := recorder.at_once_below) and args:
            result = ENTRIES.function_at_once(function, args, kwargs, limit)
            if result is not NotImplemented:
                return result if type(result) is Array else lazy(result, (*args, *kwargs.values()))
        elif recorder.run is not None:
            result = ENTRIES.followed(recorder, function, args, kwargs)
            if result is not NotImplemented:
                return result
        if len(args) > place:
            kwargs = dict(zip(names[place:], args[place:], strict=False)) | kwargs
            args = args[:place]
        given = [a if type(a) is Array else lifted(a) for a in args]
        if kwargs:
            kwargs = {k: v if k == "out" else lift(v) for k, v in kwargs.items()}
        result = function(*given, **kwargs)
        return result if type(result) is Array else lazy(result, (*args, *kwargs.values()))

    return call


def _computed(function: Function) -> Function:
    """A function that NumPy computes at once."""
    dispatched = isinstance(function, DISPATCHED)

    def call(*args: Any, **kwargs: Any) -> Any:
        if dispatched and (limit := in_force().at_once_below):
            result = ENTRIES.function_at_once(function, args, kwargs, limit)
            if result is not NotImplemented:
                return lazy(result, (*args, *kwargs.values()))
        in_force().left(function)
        out = kwargs.get("out")
        if type(out) is Array:
            written = np.array(plain(out))  # of which a generator draws as many
            named = {k: plain(v) for k, v in kwargs.items()} | {"out": written}
            function(*map(plain, args), **named)
            out[...] = written
            return out
        result = function(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        return lazy(result, (*args, *kwargs.values()))

    return call


def _writer(function: Function) -> Function:
    """A function that writes to its first argument, an array of NumPy's or a lazy one."""

    def call(target: Any, /, *args: Any, **kwargs: Any) -> None:
        values = np.array(target.compute()) if type(target) is Array else target
        function(values, *map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        if values is not target:
            target[...] = values

    return call


def _ufunc(ufunc: np.ufunc) -> Function:
    """A ufunc, with its attributes and methods, whose results are lazy."""
    count = ufunc.nin

    def call(*args: Any, **kwargs: Any) -> Any:
        recorder = in_force()
        result: Any = NotImplemented
        if len(args) == count:
            if limit := recorder.at_once_below:
                result = ENTRIES.ufunc_at_once(ufunc, "__call__", args, kwargs, limit)
            elif recorder.run is not None and not kwargs:
                result = ENTRIES.recorded(recorder, ufunc, args)
        if result is not NotImplemented:
            return result
        given = [
            a if type(a) is Array or i >= count else _lifted_list(a) for i, a in enumerate(args)
        ]
        result = ufunc(*given, **kwargs)
        if type(result) is Array:
            return result
        out = kwargs.get("out", ())
        return lazy(result, (*args, *(out if isinstance(out, tuple) else (out,))))

    for name in dir(ufunc):
        if not name.startswith("_"):
            found = getattr(ufunc, name)
            setattr(call, name, _ufunc_method(found) if name in _UFUNC_METHODS else found)
    return call


def _ufunc_method(method: Function) -> Function:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [_lifted_list(a) if i < 2 else a for i, a in enumerate(args)]
        return lazy(method(*given, **kwargs), (*args, *kwargs.values()))

    return call


class Indexed:
    """An object such as `numpy.mgrid`, which makes arrays of what it is indexed with."""

    def __init__(self, builder: Any, name: str) -> None:
        self._builder = builder
        self.__name__ = name
        self.__doc__ = first_line(builder.__doc__, name)

    def __getitem__(self, key: Any) -> Any:
        known = ENTRIES.builders.get(self.__name__)
        return lazy(self._builder[plain(key)] if known is None else known[key])


# --- generators


class Drawing:
    """What stands for a random generator of NumPy's, whose own keeps the state."""

    kind: type  # NumPy's class
    _numpy: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(self._numpy, name)
        return self._drawing(found, name) if is_function(found) else found

    def _drawing(self, method: Any, name: str) -> Any:
        """A method that gives lazy arrays."""
        return made(method, name, "fusecuda.numpy.random")


DRAWING: dict[type, type] = {}  # what stands for NumPy's generators that come of nothing but bits


# --- modules


def is_function(value: Any) -> bool:
    """True for what is called to compute, not for types, constants and modules."""
    return isinstance(value, np.ufunc | DISPATCHED) or inspect.isroutine(value)


def member(source: types.ModuleType, name: str, module: str) -> Any:
    """What ``source.name`` of NumPy is in ``module`` of ours; raises AttributeError."""
    if name.startswith("_") or name not in dir(source):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    value = getattr(source, name)
    return made(value, name, module) if is_function(value) else value
