"""The rivals: each turns a program into a call on given inputs, or into None if it cannot.

A rival that is not installed takes no part. All run on the same number of threads.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from fusecuda import fused
from fusecuda.tools.bench.expressions import Namespace, written

from . import loops
from .programs import Program

Call = Callable[[], Any]
Rival = Callable[[Program, tuple[Any, ...]], Call | None]


def by_fusecuda(program: Program, inputs: tuple[Any, ...]) -> Call:
    """The program under `fused`."""
    function = fused(program.make(numpy))
    return lambda: function(*inputs)


def by_numpy(program: Program, inputs: tuple[Any, ...]) -> Call:
    """The program as it stands."""
    function = program.make(numpy)
    return lambda: function(*inputs)


def available(threads: int) -> dict[str, Rival]:
    """All rivals that are installed, fusecuda and NumPy first."""
    rivals: dict[str, Rival] = {"fusecuda": by_fusecuda, "NumPy": by_numpy}
    for name, make in (("numexpr", _numexpr), ("Numba", _numba), ("JAX", _jax)):
        try:
            rivals[name] = make(threads)
        except ImportError:
            continue
    return rivals


def versions(names: list[str]) -> dict[str, str]:
    """The version of each rival in ``names``."""
    import importlib

    return {n: importlib.import_module(n.lower()).__version__ for n in names}


# --- numexpr: expressions as texts, written by running the program on names

_TEXTS = Namespace({"sqrt", "exp", "log", "abs", "where", "sum"})
_ONE_EXPRESSION = ("chain of 12", "Black-Scholes", "seawater density", "sum of x + y z")


def _numexpr(threads: int) -> Rival:
    import numexpr as ne

    ne.set_num_threads(threads)

    def rival(program: Program, inputs: tuple[Any, ...]) -> Call | None:
        if program.name in loops.NUMEXPR:
            function = loops.NUMEXPR[program.name]
            return lambda: function(*inputs)
        if program.name not in _ONE_EXPRESSION:
            return None
        names, texts, single = written(program.make(_TEXTS), len(inputs))
        space = dict(zip(names, inputs, strict=True))
        if single:
            return lambda: ne.evaluate(texts[0], local_dict=space, global_dict={})
        return lambda: tuple(ne.evaluate(t, local_dict=space, global_dict={}) for t in texts)

    return rival


# --- Numba: loops by hand where there are some, else the program itself, in parallel


def _numba(threads: int) -> Rival:
    import numba

    warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))

    @functools.cache
    def compiled(program: Program) -> Any:
        function = loops.NUMBA.get(program.name) or program.make(numpy)
        return numba.njit(parallel=True)(function)

    def rival(program: Program, inputs: tuple[Any, ...]) -> Call | None:
        function = compiled(program)
        return lambda: function(*inputs)

    return rival


# --- JAX


def _jax(threads: int) -> Rival:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")

    def rival(program: Program, inputs: tuple[Any, ...]) -> Call | None:
        function = jax.jit(program.make(jax.numpy))
        arrays = tuple(map(jax.numpy.asarray, inputs))
        return lambda: jax.block_until_ready(function(*arrays))

    return rival
