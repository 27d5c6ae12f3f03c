"""Library nodes: the NumPy functions that run as they are, with the shape each one gives."""

from __future__ import annotations

import builtins
import contextlib
import functools
import operator
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import GraphError
from .dtypes import DType
from .index_map import Shape
from .node import LibraryCall, Operand

Result = tuple[Shape, DType]
_Calls = list[tuple[LibraryCall, list[Any], Any]]  # with copies of the operands and the result
_steady: ContextVar[_Calls | None] = ContextVar("steady library calls", default=None)


@contextlib.contextmanager
def steady() -> Iterator[None]:
    """Within it a call with operands of the same bits gives what the first such call gave.

    A library rounds as the memory of its operands suits it; two ways to compute one graph are
    compared without that.
    """
    token = _steady.set([] if _steady.get() is None else _steady.get())
    try:
        yield
    finally:
        _steady.reset(token)


def call(
    spec: LibraryCall, values: Sequence[Any], module: ModuleType = np, line: str | None = None
) -> Any:
    """The result of ``spec`` on ``values``, computed by ``module``; raises what it raises.

    ``module`` is NumPy, or one that has its functions on arrays of its own. Warnings name ``line``.
    """
    calls = _steady.get()
    if calls is None or module is not np:
        return _fresh(spec, values, module, line)
    for known_spec, known_values, result in calls:
        if known_spec == spec and all(map(_same_bits, known_values, values)):
            return result.copy()
    kept = [np.array(v) for v in values]
    result = _fresh(spec, values, module, line)
    calls.append((spec, kept, np.array(result)))
    return result


def _same_bits(a: Any, b: Any) -> bool:
    b = np.asarray(b)
    return (a.shape, a.dtype) == (b.shape, b.dtype) and a.tobytes() == b.tobytes()


def _fresh(spec: LibraryCall, values: Sequence[Any], module: ModuleType, line: str | None) -> Any:
    args: list[Any] = [values[a.number] if isinstance(a, Operand) else a for a in spec.args]
    if spec.name == "astype":
        return at_line(line)(args[0].astype, (np.dtype(args[1]),), {})
    if spec.name == "scatter":
        return _scattered(module, args, str(dict(spec.kwargs)["kind"]), line)
    if spec.name == "compact":
        return args[0][args[1]]
    if spec.name in RUNNING:
        running = getattr(module, RUNNING[spec.name]).accumulate
        return module.asarray(at_line(line)(running, args, dict(spec.kwargs)))
    if not known(spec.name):
        raise ValueError(f"{spec.name!r} is not a library function of the graph")
    return module.asarray(at_line(line)(getattr(module, spec.name), args, dict(spec.kwargs)))


def _scattered(module: ModuleType, args: list[Any], kind: str, line: str | None) -> Any:
    """A copy of an array to which values have been written at indices, or combined with it there.

    In order: a place that comes several times takes the last value, or all of them. NumPy goes in
    that of memory, so indices are given theirs.
    """
    old, value, *indices = args
    indices = [module.ascontiguousarray(i) for i in indices]
    new = module.array(old)
    if kind == "set":
        at_line(line)(operator.setitem, (new, tuple(indices), value), {})
    else:
        at_line(line)(getattr(module, kind).at, (new, tuple(indices), value), {})
    return new


@functools.lru_cache(maxsize=1024)
def at_line(line: str | None) -> Callable[[Callable[..., Any], Any, Any], Any]:
    """What calls a function with arguments as code at ``line``, "file:number", would.

    Python takes the file and line of a warning from the code that has called the function.
    """
    file, _, number = (line or "").rpartition(":")
    if not file or not number.isdecimal():
        return _called
    module = os.path.splitext(os.path.basename(file))[0]
    code = _called.__code__.replace(co_filename=file, co_firstlineno=int(number) - 1)
    space = {"__name__": module, "__builtins__": builtins}  # NumPy imports through them
    return types.FunctionType(code, space)


def called_at(
    code: types.CodeType, line: int, space: dict[str, Any]
) -> Callable[[Callable[..., Any], Any, Any], Any]:
    """What calls a function with arguments as ``code`` at ``line`` would, with globals ``space``.

    Records of a log, too, say where they come from.
    """
    names = {"co_filename": code.co_filename, "co_name": code.co_name}
    names |= {"co_qualname": code.co_qualname} if hasattr(code, "co_qualname") else {}
    like = _called.__code__.replace(co_firstlineno=line - 1, **names)  # type: ignore[arg-type]
    module = getattr(sys.modules.get(space.get("__name__", "")), "__dict__", {})
    return types.FunctionType(like, module if "__builtins__" in module else space)


def _called(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return function(*args, **kwargs)


def known(name: str) -> bool:
    """True if ``name`` may stand in a library node: a listed function or a NumPy ufunc."""
    return name in FUNCTIONS or isinstance(getattr(np, name, None), np.ufunc)


def is_own(name: str) -> bool:
    """True if library call ``name`` is no function of a module but what `call` makes of others."""
    return name in _OWN


RUNNING = {"cummax": "maximum", "cummin": "minimum"}  # of which ufuncs they are `accumulate`
_OWN = ("astype", "scatter", "compact", *RUNNING)  # which are methods, or operators
FUNCTIONS = frozenset({"matmul", "dot", "sort", "argsort", "cumsum", "cumprod", "copy", *_OWN})
_ORDERED = ("add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")
SCATTERS = ("set", *_ORDERED, "multiply")  # what a scatter does with what stands at its places


def matmul_result(a: Result, b: Result) -> Result:
    """Shape and dtype of ``a @ b``; raises NumPy's ValueError when the shapes do not fit."""
    (sa, da), (sb, db) = a, b
    if not sa or not sb:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    left = sa if len(sa) > 1 else (1, *sa)
    right = sb if len(sb) > 1 else (*sb, 1)
    if left[-1] != right[-2]:
        raise ValueError(
            f"matmul: shapes {sa} and {sb} do not fit: the inner extents are {left[-1]} and "
            f"{right[-2]}"
        )
    batch = np.broadcast_shapes(left[:-2], right[:-2])
    shape = batch + left[-2:-1] * (len(sa) > 1) + right[-1:] * (len(sb) > 1)
    return shape, np.matmul.resolve_dtypes((da, db, None))[-1]


def dot_result(a: Result, b: Result) -> Result:
    """Shape and dtype of ``numpy.dot(a, b)``; raises ValueError when the shapes do not fit."""
    (sa, da), (sb, db) = a, b
    dtype = np.result_type(da, db)
    if not sa or not sb:
        return np.broadcast_shapes(sa, sb), dtype
    inner = -1 if len(sb) == 1 else -2
    if sa[-1] != sb[inner]:
        raise ValueError(f"shapes {sa} and {sb} not aligned: {sa[-1]} != {sb[inner]}")
    rest = sb[:-1] if len(sb) == 1 else sb[:-2] + sb[-1:]
    return sa[:-1] + rest, dtype


class Into:
    """What computes ``spec`` into memory: C-contiguous, and none of the operands'.

    Raises GraphError for what no memory is known to hold.

    The function writes there itself where that gives the bits that it gives otherwise. Operands and
    memory are of one layout for all calls.
    """

    __slots__ = ("_args", "_function", "_kwargs", "_line", "_module", "_run", "_spec", "_writes")

    def __init__(self, spec: LibraryCall, module: ModuleType = np, line: str | None = None) -> None:
        if spec.name == "compact":
            raise GraphError("only a kernel tells where a compaction ends, and there is none")
        self._spec = spec
        self._module = module
        self._line = line
        self._run = at_line(line)
        self._function: Any = getattr(module, spec.name, None)
        self._kwargs = dict(spec.kwargs)
        in_order = spec.args == tuple(map(Operand, range(len(spec.args))))
        self._args = None if in_order else spec.args
        self._writes: bool | None = None

    def __call__(self, values: Sequence[Any], out: Any) -> None:
        """Compute the call on ``values`` into ``out``; raises what it raises."""
        if self._writes is None:
            self._writes = _writes_out(self._spec.name, values, out, self._module)
        if not self._writes or (self._module is np and _steady.get() is not None):
            out[...] = call(self._spec, values, self._module, self._line)
        elif self._spec.name == "sort":
            out[...] = values[0]
            self._run(out.sort, (), self._kwargs)
        elif self._spec.name in _COPIES:
            self._run(self._module.copyto, (out, values[0]), {"casting": "unsafe"})
        else:
            args: Any = values
            if self._args is not None:
                args = [values[a.number] if isinstance(a, Operand) else a for a in self._args]
            self._run(self._function, args, {**self._kwargs, "out": out})


_COPIES = frozenset({"copy", "astype"})


def _writes_out(name: str, values: Sequence[Any], out: Any, module: ModuleType) -> bool:
    """True if ``module``'s function ``name`` has the same bits where it writes into ``out``."""
    same_type = all(value.dtype == out.dtype for value in values)
    if not out.flags.c_contiguous:
        return False
    if name in ("sort", "copy"):
        return same_type
    if name in ("matmul", "dot"):
        return module is np or same_type
    if name in FUNCTIONS:
        return module is np and name in ("cumsum", "cumprod", "astype")
    # The order in which NumPy goes over the elements follows from how all of them lie.
    return all(value.flags.c_contiguous for value in values)
