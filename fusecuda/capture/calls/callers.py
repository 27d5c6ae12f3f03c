"""Callers: code that finds out where it is called from, and other code, that blocks are given."""

from __future__ import annotations

import types
import warnings
from typing import Any

import numpy as np

from ..record.origin import module_of
from .places import Wrapper
from .reads import Reads

CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type, np.ufunc, Wrapper)


def looks_at_callers(reads: Reads) -> str:
    """What the body calls that names the line and the function it is called by, if anything."""
    for _, value in reads.stand_ins.values():
        if value is warnings.warn or is_logging(value):
            return "it logs or warns"
    return ""


def is_logging(value: Any) -> bool:
    """True for loggers, their methods, and the functions of their module."""
    if type(value) is types.MethodType:
        value = value.__self__
    return "logging" in (type(value).__module__, type(value) in CODE and module_of(value))


def is_namespace(value: Any) -> bool:
    """True for the namespace of lazy arrays and its functions."""
    name = value.__name__ if isinstance(value, types.ModuleType) else module_of(value)
    return bool(name.startswith("fusecuda."))
