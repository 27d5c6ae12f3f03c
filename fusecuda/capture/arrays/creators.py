"""What a fused function sees of NumPy's modules: functions that make arrays make lazy ones."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...graph.dtypes import is_supported
from ..record.structure import walk
from . import creation, movement
from .array import Array
from .gathering import of_lists, takes_arrays, taking_lists
from .table import ENTRIES
from .values import handed_over, plain


class _Module:
    """A module as a fused function sees it, with other things under some names."""

    def __init__(self, module: types.ModuleType, others: dict[str, Any]) -> None:
        self.__dict__.update(vars(module))
        self.__dict__.update(others)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def modules_seen(
    members: Iterable[tuple[list[Any], Sequence[tuple[str, Any]], Any]],
    makers: Iterable[types.ModuleType],
    all_lazy: bool,
) -> dict[int, Any]:
    """What stands for modules, by identity.

    Each member is a chain of modules, the steps that lead from one to the next and to the member at
    last, and what stands for that. Of ``makers`` the functions that make arrays make lazy ones,
    if ``all_lazy`` of whatever they are given.
    """
    others: dict[int, dict[str, Any]] = {}
    roots: dict[int, types.ModuleType] = {}
    for maker in makers:
        roots[id(maker)] = maker
        others[id(maker)] = dict(_standing(all_lazy))
    chains = [member for member in members if member[0]]
    for chain, steps, value in chains:
        for module in chain:
            roots[id(module)] = module
        if len(steps) == len(chain):
            others.setdefault(id(chain[-1]), {})[steps[-1][1]] = value
    made: dict[int, Any] = {}

    def view(module: types.ModuleType) -> Any:
        if id(module) not in made:
            made[id(module)] = seen = _Module(module, others.get(id(module), {}))
            for chain, steps, _ in chains:
                for outer, inner, step in zip(chain, chain[1:], steps, strict=False):
                    if outer is module:
                        seen.__dict__[step[1]] = view(inner)
        return made[id(module)]

    return {key: view(module) for key, module in roots.items()}


def seen_with(module: Any, others: dict[str, Any]) -> Any:
    """``module``, or what stands for one, with ``others`` under some of its names."""
    return _Module(module, others)


def creators(all_lazy: bool) -> dict[int, Any]:
    """What stands for NumPy's functions that make arrays, by identity."""
    known = _standing(all_lazy)
    found = {
        id(getattr(np, name)): made for name, made in known.items() if name not in taking_lists()
    }
    if all_lazy:
        found[id(np.lib.stride_tricks.as_strided)] = movement.as_strided
        found[id(np.lib.stride_tricks)] = known["lib"].stride_tricks
        found |= {id(getattr(np.fft, name)): getattr(known["fft"], name) for name in _OF_FFT}
    return found


def of_memory(function: Any) -> Any:
    """``function``, which takes the memory of arrays by the protocol of buffers."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = {k: handed_over(v) for k, v in kwargs.items()}
        return function(*map(handed_over, args), **given)

    return call


def numpys(value: Any) -> Any:
    """NumPy's function that ``value`` stands for in a fused function, else ``value``."""
    return _stood_for().get(id(value), value)


@functools.cache
def _stood_for() -> dict[int, Any]:
    every = (*_standing(False).items(), *_standing(True).items())
    return {id(made): getattr(np, name) for name, made in every}


@functools.cache
def _standing(all_lazy: bool) -> dict[str, Any]:
    """What stands for NumPy's functions that make arrays; if ``all_lazy``, of any data.

    Then with functions that take lists of lazy arrays.
    """
    convert = _numeric if all_lazy else _of_lazy
    found = {name: _numeric(getattr(creation, name), getattr(np, name)) for name in _FILLED}
    found |= {name: convert(getattr(creation, name), getattr(np, name)) for name in _CONVERTED}
    found |= ENTRIES.builders
    found["frombuffer"] = of_memory(np.frombuffer)
    if not all_lazy:
        return found
    space = ENTRIES.namespace
    found |= {name: _numeric(getattr(space, name), getattr(np, name)) for name in _COUNTED}
    tricks = _Module(np.lib.stride_tricks, {"as_strided": movement.as_strided})
    fft = {name: _numeric(getattr(space.fft, name), getattr(np.fft, name)) for name in _OF_FFT}
    found["linalg"] = _Module(np.linalg, _of_linalg())
    found["lib"] = _Module(np.lib, {"stride_tricks": tricks})
    found["fft"] = _Module(np.fft, fft)
    found |= {name: getattr(space, name) for name in _INDEXED}
    return {**taking_lists(), **found}


def _of_linalg() -> dict[str, Any]:
    taking = {name: value for name, value in vars(np.linalg).items() if takes_arrays(value)}
    return {name: of_lists(value) for name, value in taking.items()}


_COUNTED = (
    *("arange", "linspace", "logspace", "geomspace", "eye", "identity", "indices", "tri", "diag"),
    *("repeat", "tile", "hanning", "hamming", "blackman", "bartlett", "kaiser"),
)
_OF_FFT = ("fftfreq", "rfftfreq")
_INDEXED = ("mgrid", "ogrid", "r_", "c_")
_FILLED = ("zeros", "ones", "empty", "full")
_CONVERTED = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")


def _numeric(ours: Any, numpys: Any) -> Any:
    """``ours``, for the types that kernels know, else NumPy's own function."""

    @functools.wraps(numpys)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            made = ours(*args, **kwargs)
        except Exception:
            made = None  # NumPy says what is wrong
        is_ours = type(made) is Array and is_supported(made.dtype)
        holds_arrays = type(made) is np.ndarray and made.dtype.hasobject
        if holds_arrays or (is_ours and kwargs.get("order") in (None, "C", "F")):
            return made
        return numpys(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})

    return call


def _of_lazy(ours: Any, numpys: Any) -> Any:
    """``ours`` if it is given a lazy array, else NumPy's own function."""

    @functools.wraps(numpys)
    def call(*args: Any, **kwargs: Any) -> Any:
        lazy_given = any(type(part) is Array for part in walk(args[:1]))
        known = kwargs.keys() <= {"dtype", "copy", "order"} and len(args) <= 2
        if lazy_given and known and kwargs.get("order") in (None, "C", "K", "A"):
            return ours(*args, **kwargs)
        return numpys(*args, **kwargs)

    return call
