"""Side by side: one program run twice, with fused functions and with plain ones, and compared.

A program is text. It is executed in two spaces, in which ``fused`` is `fusecuda.fused` and what
gives a function back as it is. Then steps are executed, each in both; after each, exceptions, all
variables, the objects behind them, and which of them are one object have to be the same.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import linecache
import math
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fusecuda as fc

_numbers = itertools.count()
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)


class DifferenceError(AssertionError):
    """What a fused function has done otherwise than the plain one."""


class Spaces:
    """The two spaces of a program; the fused ``functions`` and ``blocks`` that it has made."""

    def __init__(self, program: str) -> None:
        self.functions: list[fc.FusedFunction[..., Any]] = []
        self.blocks: list[Any] = []
        name = f"<program {next(_numbers)}>"
        linecache.cache[name] = (len(program), None, program.splitlines(True), name)
        code = compile(program, name, "exec")
        sys.modules.setdefault("side_by_side_program", types.ModuleType("side_by_side_program"))
        self.plain: dict[str, Any] = {"__name__": "side_by_side_program", "fused": _given_back}
        self.fused: dict[str, Any] = {"__name__": "side_by_side_program", "fused": self._made}
        for space in (self.plain, self.fused):
            space["np"] = np
            space["block"] = contextlib.nullcontext if space is self.plain else self._block
            exec(code, space)

    def _made(self, function: Any = None, **options: Any) -> Any:
        if function is None:
            return lambda given: self._made(given, **options)
        self.functions.append(fc.fused(function, **options))
        return self.functions[-1]

    def _block(self) -> Any:
        self.blocks.append(fc.fused())
        return self.blocks[-1]

    def step(self, text: str) -> None:
        """Execute ``text`` in both; raises DifferenceError."""
        code = compile(text, "<step>", "exec")
        errors = [_raised(code, space) for space in (self.plain, self.fused)]
        try:
            if _title(type(errors[0])) != _title(type(errors[1])) or str(errors[0]) != str(
                errors[1]
            ):
                _differ("", f"raised {errors[0]!r}", f"raised {errors[1]!r}")
            Comparison().same("", _own(self.plain), _own(self.fused))
        except DifferenceError as difference:
            why = "; ".join(f.explain().splitlines()[0] for f in self.functions)
            raise DifferenceError(f"after {text!r}: {difference}\n{why}") from errors[1]


def run(program: str, steps: Sequence[str]) -> Spaces:
    """The spaces after all ``steps``; raises DifferenceError."""
    spaces = Spaces(program)
    for text in steps:
        spaces.step(text)
    return spaces


def _given_back(function: Any = None, **options: Any) -> Any:
    return (lambda given: given) if function is None else function


def _raised(code: types.CodeType, space: dict[str, Any]) -> Exception | None:
    try:
        exec(code, space)
    except Exception as error:
        return error
    return None


def _own(space: dict[str, Any]) -> dict[str, Any]:
    left_out = ("fused", "block", "np", "__builtins__", "__warningregistry__")
    return {k: v for k, v in space.items() if k not in left_out}


def _differ(where: str, plain: Any, fused: Any) -> None:
    raise DifferenceError(f"{where or 'all'}: plain {plain}, fused {fused}")


class Comparison:
    """Walks two structures at once."""

    def __init__(self) -> None:
        self._pairs: dict[int, int] = {}
        self._back: dict[int, int] = {}
        self._arrays: list[tuple[str, Any, Any]] = []
        self._seen: set[int] = set()
        self._kept: list[Any] = []

    def same(self, where: str, a: Any, b: Any) -> None:
        """Raise DifferenceError unless ``b`` is as ``a``."""
        if isinstance(b, fc.FusedFunction):
            return
        if _title(type(a)) != _title(type(b)):
            _differ(where, f"a {_title(type(a))} {a!r:.80}", f"a {_title(type(b))} {b!r:.80}")
        if isinstance(a, (*_CODE, property, staticmethod, classmethod)):
            if isinstance(a, type) and a.__module__ == "side_by_side_program":
                self._class(where, a, b)
            elif isinstance(a, types.FunctionType):
                self.same(f"{where}.__defaults__", a.__defaults__, b.__defaults__)
            return
        if isinstance(a, float | complex | np.inexact):
            if not close(a, b):
                _differ(where, repr(a), repr(b))
            return
        if isinstance(a, int | str | bytes | np.generic | np.dtype | None | slice | range):
            if a != b:
                _differ(where, repr(a), repr(b))
            return
        if type(a) not in (tuple, frozenset, np.ndarray):
            self._kept.append((a, b))  # so that no identity is used again
            known = self._pairs.setdefault(id(a), id(b)) == id(b)
            if not (self._back.setdefault(id(b), id(a)) == id(a) and known):
                _differ(where, "an object of its own or shared", "otherwise")
            if id(a) in self._seen:
                return
            self._seen.add(id(a))
        self._inside(where, a, b)

    def _class(self, where: str, a: type, b: type) -> None:
        names = {n for n in vars(a) if not n.startswith("__")}
        if names != {n for n in vars(b) if not n.startswith("__")}:
            _differ(where, sorted(names), sorted(n for n in vars(b) if not n.startswith("__")))
        if id(a) in self._seen:
            return
        self._seen.add(id(a))
        for name in sorted(names):
            if not isinstance(vars(a)[name], types.MemberDescriptorType):
                self.same(f"{where}.{name}", vars(a)[name], vars(b)[name])

    def _inside(self, where: str, a: Any, b: Any) -> None:
        if isinstance(a, np.ndarray):
            self._array(where, a, b)
            return
        if isinstance(a, dict):
            if list(map(repr, a)) != list(map(repr, b)):
                _differ(where, f"keys {list(a)}", f"keys {list(b)}")
            if [_title(type(k)) for k in a] != [_title(type(k)) for k in b]:
                _differ(where, f"keys {list(map(type, a))}", f"keys {list(map(type, b))}")
            for (k, v), w in zip(a.items(), b.values(), strict=True):
                self.same(f"{where}[{k!r}]", v, w)
        elif isinstance(a, set | frozenset):
            if a != b or sorted(map(_typed, a)) != sorted(map(_typed, b)):
                _differ(where, a, b)
        elif isinstance(a, list | tuple | collections.deque):
            if len(a) != len(b):
                _differ(where, f"length {len(a)}", f"length {len(b)}")
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                self.same(f"{where}[{i}]", x, y)
        if isinstance(a, types.MethodType):
            self.same(f"{where}.__self__", a.__self__, b.__self__)
            return
        for name in dir(a) if "__slots__" in dir(type(a)) else ():
            if isinstance(getattr(type(a), name, None), types.MemberDescriptorType):
                missing = object()
                x, y = getattr(a, name, missing), getattr(b, name, missing)
                if (x is missing) != (y is missing):
                    _differ(f"{where}.{name}", x is not missing, y is not missing)
                if x is not missing:
                    self.same(f"{where}.{name}", x, y)
        if type(a).__dictoffset__:
            x, y = (object.__getattribute__(v, "__dict__") for v in (a, b))
            self.same(f"{where}.__dict__", dict(x), dict(y))

    def _array(self, where: str, a: Any, b: Any) -> None:
        if (a.dtype, a.shape, a.flags.writeable) != (b.dtype, b.shape, b.flags.writeable):
            _differ(
                where, (a.dtype, a.shape, a.flags.writeable), (b.dtype, b.shape, b.flags.writeable)
            )
        if not all(map(close, a.ravel().tolist(), b.ravel().tolist())):
            _differ(where, a, b)
        for other, x, y in self._arrays:
            if np.shares_memory(x, a) != np.shares_memory(y, b):
                _differ(where, f"shares {other}: {np.shares_memory(x, a)}", np.shares_memory(y, b))
        self._arrays.append((where, a, b))


def close(a: Any, b: Any) -> bool:
    """True for equal numbers, but for the last digits; the signs of zeros tell them apart."""
    if isinstance(a, complex | np.complexfloating):
        return close(a.real, b.real) and close(a.imag, b.imag)
    if isinstance(a, float | np.floating):
        a, b = float(a), float(b)
        if a == 0 and b == 0:
            return math.copysign(1, a) == math.copysign(1, b)
        return (
            a == b
            or (math.isnan(a) and math.isnan(b))
            or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
        )
    return bool(a == b)


def _title(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _typed(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


Check = Callable[[str, Sequence[str]], Spaces]
