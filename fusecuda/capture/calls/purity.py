"""Purity: which functions, types and modules neither keep state nor look at the world."""

from __future__ import annotations

import builtins
import contextlib
import datetime
import functools
import inspect
import json
import os
import re
import sys
import textwrap
import types
from typing import Any

import numpy as np

from ..arrays.wrapping import Unbound
from ..record.origin import attribute_of, is_users, module_of
from .places import Wrapper

_PURE_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        *("abs", "all", "any", "bool", "bytes", "callable", "chr", "complex", "dict", "divmod"),
        *("enumerate", "filter", "float", "frozenset", "getattr", "hasattr", "hash", "int"),
        *("isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next"),
        *("object", "ord", "pow", "property", "range", "repr", "reversed", "round", "set"),
        *("setattr", "slice", "sorted", "staticmethod", "classmethod", "str", "sum", "super"),
        *("tuple", "type", "zip", "__build_class__", "format", "delattr"),
    )
)
_SEES_CALLER = (
    *(globals, locals, vars, dir, eval, exec),
    *(sys._getframe, inspect.currentframe, inspect.stack),
)
_PURE_MODULES = (
    *("math", "cmath", "operator", "functools", "itertools", "typing", "collections", "enum"),
    *("dataclasses", "numbers", "string", "fractions", "abc", "_operator", "_functools", "copy"),
    *("bisect", "_bisect", "heapq", "_heapq"),
    *("_collections", "_collections_abc", "numpy", "scipy.special", "fusecuda.numpy", "cupy"),
    *("fusecuda.capture.arrays.wrapping", "fusecuda.capture.arrays.creation"),
    *("fusecuda.capture.arrays.ranges", "fusecuda.capture.arrays.counters"),
    "fusecuda.numpy.special",
)
_IMPURE = (
    *("numpy.random", "numpy.testing", "numpy.ctypeslib"),
    *("fusecuda.numpy.random", "fusecuda.numpy.testing"),
    *("cupy.random", "cupy.cuda", "cupy.testing", "copy.deepcopy"),
)
_NUMPY_STATE = frozenset(
    getattr(np, name)
    for name in (
        *(
            "seterr",
            "geterr",
            "seterrcall",
            "geterrcall",
            "setbufsize",
            "getbufsize",
            "save",
            "savez",
        ),
        *("savetxt", "savez_compressed", "load", "loadtxt", "genfromtxt", "fromfile", "memmap"),
        "set_printoptions",
        *("vectorize", "frompyfunc", "errstate", "printoptions", "nditer", "nested_iters"),
    )
)
_PURE_MANAGERS = (
    *(contextlib.suppress, contextlib.nullcontext, contextlib.closing, contextlib.ExitStack),
    type(contextlib.contextmanager(iter)(())),  # what runs a generator of the user's
)
_OF_TEXTS = frozenset((  # which refuse lazy arrays, and the numbers that are followed
    *(re.compile, re.escape, re.findall, re.fullmatch, re.match, re.search, re.split, re.sub),
    *(json.loads, json.dumps, textwrap.dedent, textwrap.indent, textwrap.fill, textwrap.wrap),
    *(os.path.basename, os.path.dirname, os.path.join, os.path.splitext),
))  # fmt: skip
_NOT_WITHOUT_EFFECT = frozenset({"lru_cache", "cache", "singledispatch", "errstate"})
_VOLATILE_MODULES = ("numpy.random", "time", "random", "builtins", "datetime", "_random")
_OF_CLASSES = ("typing", "dataclasses")  # what annotations and class definitions leave behind
_LIBRARIES = ("scipy", "statistics")  # of functions that compute
_OF_FILES = ("scipy.io", "scipy.datasets")
_ACTING = frozenset(("rng", "random_state", "seed", "disp", "iprint", "verbose", "callback"))
_GRIDS = (type(np.mgrid), type(np.ogrid))
_PURE_TYPES = (types.GenericAlias, re.Pattern, type(np.s_), type(np.r_), type(np.c_), *_GRIDS)
_PLAIN_CLASSES = (types.SimpleNamespace, datetime.timedelta, datetime.timezone)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, Unbound, type, type(np.sum))
_ARRAYS = ("numpy", "fusecuda.numpy", "cupy")
CREATORS = frozenset((
    *("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "copy"),
    *("r_", "c_", "mgrid", "ogrid", "zeros", "ones", "empty", "full", "frombuffer"),
))  # fmt: skip
SHOWING_CODE = frozenset((  # what shows of a function that another stands for it
    *("__code__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__"),
    *("getfullargspec", "getsource", "getsourcelines", "getclosurevars"),
))  # fmt: skip


def is_module_of_arrays(value: Any) -> bool:
    """True for the modules of NumPy and its kin themselves, which have `random` as a part."""
    return isinstance(value, types.ModuleType) and value.__name__ in _ARRAYS


def is_pure(value: Any) -> bool:
    """True for functions, types and modules that neither keep state nor look at the world."""
    kind = type(value)
    if kind is types.ModuleType:
        return value.__name__ in _PURE_MODULES or value.__name__.startswith("numpy.linalg")
    if issubclass(kind, np.ufunc) or module_of(kind) in _OF_CLASSES or kind in _PURE_TYPES:
        return True
    if (module_of(kind), kind.__name__) == ("cupy._core._kernel", "ufunc"):
        return True
    if any(value is plain for plain in _PLAIN_CLASSES):
        return True
    if not issubclass(kind, _FUNCTIONS) or value in _NUMPY_STATE:
        return False
    known = value in _PURE_BUILTINS or value in _PURE_MANAGERS or value in _OF_TEXTS
    return known or _is_of_pure_module(value)


def _is_of_pure_module(value: Any) -> bool:
    if issubclass(type(value), type) and issubclass(value, BaseException | np.generic):
        return not is_users(module_of(value))
    if getattr(value, "__name__", "") in _NOT_WITHOUT_EFFECT or is_drawing(value):
        return False
    module = module_of(value)
    if isinstance(value, types.FunctionType) and _within(module, _LIBRARIES):
        return False  # Python code that takes arrays apart: called between kernels
    return _within(module, _PURE_MODULES) and not _within(module, _IMPURE)


@functools.lru_cache(maxsize=4096)
def _within(module: str, modules: tuple[str, ...]) -> bool:
    return any(module == m or module.startswith(m + ".") for m in modules)


def is_drawing(value: Any) -> bool:
    """True for what belongs to a random generator."""
    home = attribute_of(value, "__self__")
    owner = module_of(type(home)) if home is not None else ""
    return owner.startswith(("numpy.random", "random", "cupy.random"))


def is_library(value: Any) -> bool:
    """True for functions and types of libraries that compute, and seldom do anything else."""
    module = module_of(value)
    if not _within(module, _LIBRARIES):
        return False
    return isinstance(value, _FUNCTIONS) and "random" not in module and "rvs" not in str(value)


@functools.lru_cache(maxsize=1024)
def may_act(value: Any) -> bool:
    """True for functions of libraries that may draw, print, or look at files, as they say."""
    if _within(module_of(value), _OF_FILES) or attribute_of(value, "__name__") == "random":
        return True
    try:
        return not _ACTING.isdisjoint(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return False


def is_followed(value: Any) -> bool:
    """True for functions whose code is read: the user's own."""
    if isinstance(value, Wrapper):
        inner = value.function
        return not value.head and (is_followed(inner) or is_pure(inner))
    return (
        isinstance(value, types.FunctionType)
        and not is_pure(value)
        and is_users(value.__module__ if value.__module__ in sys.modules else None)
    )


def builtins_of(value: Any) -> bool:
    """True for functions that look at the world but take lazy arrays as any others."""
    if not isinstance(value, types.BuiltinFunctionType | types.MethodType | type):
        return False
    if isinstance(value, type):
        return value.__module__ in ("builtins", "datetime", "random")
    home = value.__module__ or getattr(value.__self__, "__module__", None) or ""
    bound = module_of(type(value.__self__))
    return home in _VOLATILE_MODULES or bound.startswith(_VOLATILE_MODULES)


def sees_caller(value: Any) -> bool:
    """True for functions whose result depends on where they are called."""
    return any(value is seeing for seeing in _SEES_CALLER)
