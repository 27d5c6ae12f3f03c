"""Impure: functions and objects of libraries that act on the world, which each replay calls again.

Printing and logging, clocks, random generators: they change something, or give another value each
time, but neither write to what they are given nor keep it. So a recording calls them where the
program does, a replay in the same order, with the arrays and numbers of that time, and what they
give is followed like the results of NumPy's functions: arrays and numbers lead on as they are,
anything else only if it is the same. Called in another way they are as opaque as other code.
"""

from __future__ import annotations

import builtins
import functools
import io
import random
import sys
import time
import types
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.array import Array
from ..arrays.opaque import StandIn, original, stand_in
from ..arrays.values import arrays_in
from ..record.numbers import NUMBERS, TracedScalar
from ..record.origin import attribute_of
from ..record.recorder import current_recorder
from ..record.structure import leaves
from .path import Environment
from .plain_values import calling

_DRAWS = frozenset((
    "beta", "betavariate", "binomial", "chisquare", "choice", "choices", "dirichlet", "expovariate",
    "exponential", "f", "gamma", "gammavariate", "gauss", "geometric", "getrandbits", "gumbel",
    "hypergeometric", "integers", "laplace", "logistic", "lognormal", "lognormvariate", "logseries",
    "multinomial", "multivariate_hypergeometric", "multivariate_normal", "negative_binomial",
    "noncentral_chisquare", "noncentral_f", "normal", "normalvariate", "pareto", "paretovariate",
    "permutation", "poisson", "power", "rand", "randint", "randn", "random", "random_sample",
    "randrange", "rayleigh", "sample", "seed", "standard_cauchy", "standard_exponential",
    "standard_gamma", "standard_normal", "standard_t", "triangular", "uniform", "vonmises",
    "vonmisesvariate", "wald", "weibull", "weibullvariate", "zipf",
))  # fmt: skip
_LOGS = frozenset(("debug", "info", "warning", "error", "critical", "log", "isEnabledFor"))
_WRITES = frozenset(("write", "flush"))
_BIT_GENERATORS = (
    *(np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64),
)
_METHODS: dict[type, frozenset[str]] = {  # of objects of exactly these types
    np.random.Generator: _DRAWS, np.random.RandomState: _DRAWS, random.Random: _DRAWS,
    **dict.fromkeys(_BIT_GENERATORS, frozenset(("jumped", "random_raw"))),
    np.random.SeedSequence: frozenset(("generate_state",)),
    io.TextIOWrapper: _WRITES, io.StringIO: _WRITES,
    warnings.catch_warnings: frozenset(("__enter__", "__exit__")),
}  # fmt: skip
_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
_FUNCTIONS = (
    *(builtins.print, np.random.seed, time.sleep),
    *(warnings.warn, warnings.catch_warnings, warnings.simplefilter, warnings.filterwarnings),
    *(np.random.default_rng, np.random.RandomState, np.random.Generator, random.Random),
    *(*_BIT_GENERATORS, np.random.SeedSequence),
    *(getattr(time, name + end) for name in _CLOCKS for end in ("", "_ns")),
)
_LOGGERS = ("Logger", "RootLogger")  # of a module that need not have been loaded
_KEEPING = ("logging", "warnings")  # handlers may keep what is logged


@dataclass(frozen=True)
class Impure:
    """A function, or a method, under its name, of what stands at a slot of the environment."""

    name: str
    function: Any = None
    slot: int = -1

    @property
    def __name__(self) -> str:
        return self.name

    def found(self, environment: Environment) -> Any:
        """What a replay calls."""
        return self.function if self.slot < 0 else getattr(environment[self.slot], self.name)


def methods_of(kind: type) -> frozenset[str]:
    """The methods of objects of ``kind`` that each replay calls again."""
    return _LOGS if _is_of_logging(kind, _LOGGERS) else _METHODS.get(kind, frozenset())


def _is_of_logging(value: Any, names: Collection[str]) -> bool:
    name = attribute_of(value, "__name__")
    known = type(name) is str and name in names
    return known and value is getattr(sys.modules.get("logging"), name, None)


def is_impure(value: Any) -> bool:
    """True for functions that each replay calls again, and for objects with such methods."""
    if methods_of(type(value)):
        return True
    names = methods_of(type(attribute_of(value, "__self__")))
    if names and isinstance(value, types.MethodType | types.BuiltinMethodType):
        return value.__name__ in names
    known = any(value is function for function in _FUNCTIONS)
    return known or _is_of_logging(value, {*_LOGS, "getLogger"})


class ImpureCalls:
    """What stands for impure functions and objects in one recording.

    ``acts`` is called before each call, ``used`` where one is called as opaque code is, and
    ``looked``, with the reason, where no replay could do so.
    """

    def __init__(
        self, acts: Callable[[], None], used: Callable[[], None], looked: Callable[[str], None]
    ) -> None:
        self.acts = acts
        self.used = used
        self.looked = looked
        self.slots: dict[int, int] = {}  # of objects, by their identity; -1 of those read by name

    def standing_for(self, value: Any, slot: int = -1) -> Any:
        """What stands for ``value``, which may have a ``slot`` in the environment."""
        methods = methods_of(type(value))
        if not methods:
            return calling(value, self._called(value, Impure(value.__name__, value)))

        self.slots[id(value)] = slot

        def method(name: str) -> Any:
            if name not in methods or not hasattr(value, name):
                return None
            found = getattr(value, name)
            return self._called(found, Impure(name, None if slot >= 0 else found, slot))

        return stand_in(value, lambda: self._opaque(type(value).__name__), method)

    def source(self, value: Any) -> Callable[[Environment], Any] | None:
        """What finds, in a replay, the object that ``value`` stands for; None for anything else."""
        if not issubclass(type(value), StandIn):
            return None
        known = original(value)
        slot = self.slots.get(id(known))
        if slot is None:
            return None
        return (lambda e: known) if slot < 0 else lambda e: e[slot]

    def _opaque(self, title: str) -> None:
        self.looked(f"it calls {title}")
        self.used()

    def _called(self, function: Any, impure: Impure) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            self.acts()
            if _fits(function, args, kwargs):
                result = current_recorder().eager(impure, args, kwargs)
                if result is not NotImplemented:
                    return result
            before = functools.partial(self._opaque, impure.name)
            return stand_in(function, before)(*args, **kwargs)

        return called


def _fits(function: Any, args: Any, kwargs: dict[str, Any]) -> bool:
    """True for arguments of a call that can be made again."""
    home = attribute_of(function, "__self__")
    module = type(home).__module__ if methods_of(type(home)) else function.__module__
    if module in _KEEPING:  # and errors that are handled are not there later
        numbers: tuple[Any, ...] = (*NUMBERS, TracedScalar, str, type(None), np.generic, type)
        if function is warnings.catch_warnings and (args or kwargs.get("record")):
            return False  # the list that it gives is filled in later
        return not (kwargs and module == "logging") and all(
            isinstance(part, numbers) or (type(part) is Array and part.is_scalar)
            for part in leaves((args, kwargs))
        )
    return kwargs.get("out") is None and not any(a.is_loose for a in arrays_in((args, kwargs)))
