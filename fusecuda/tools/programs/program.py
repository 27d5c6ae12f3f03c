"""What a program is, and how its arguments are drawn."""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

SIZES = (1_000, 100_000, 10_000_000)  # small, medium, large: elements of the largest argument
_NUMBERS = itertools.count()  # of the modules that functions are made in


@dataclass(frozen=True)
class Program:
    """A function of an array module and of arguments, with the least that it has to cost.

    ``arguments(n)`` draws arguments whose largest has about ``n`` elements. ``minimum`` is the
    number of launches that no plan can go below, for the reason ``why``: what stays on the way in
    caches is free, a kernel may wait for all of its threads, library calls count one each.
    ``passes`` are further passes over memory that cannot be avoided, as bytes from the arguments;
    every argument is read once anyway, every result and what is ``written`` is written once.
    ``unseen`` are launches of NumPy's own that no hook sees: draws of random numbers, choices by a
    mask. ``above`` says why there are more launches than the minimum today, and is empty where
    there are not. Results are NumPy's bits, or, as ``rtol`` says, within that share of the largest
    element.
    """

    name: str
    function: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]
    minimum: int = 1
    why: str = "one pass"
    above: str = ""
    rtol: float = 0.0
    written: tuple[int, ...] = ()
    unseen: int = 0
    passes: Callable[..., int] | None = None
    sizes: tuple[int, ...] = SIZES

    def make(self, xp: Any) -> Callable[..., Any]:
        """The function of the arguments alone, in which ``xp`` is a global name.

        Its text is the program's own, so that compilers of Python functions take it as well. It
        has a module to itself, which can be imported by its name, as `torch.compile` does to look
        up globals; the name is outside of this package, so that its lines count as the user's.
        """
        (definition,) = ast.parse(inspect.getsource(self.function)).body
        assert isinstance(definition, ast.FunctionDef)
        assert definition.args.args[0].arg == "xp"
        del definition.args.args[0]
        ast.increment_lineno(definition, self.function.__code__.co_firstlineno - 1)
        code = compile(ast.Module([definition], []), inspect.getfile(self.function), "exec")
        module = types.ModuleType(f"program_{next(_NUMBERS)}_{definition.name}")
        vars(module).update({**self.function.__globals__, "xp": xp, "__name__": module.__name__})
        exec(code, vars(module))
        sys.modules[module.__name__] = module
        made = vars(module)[definition.name]
        assert isinstance(made, types.FunctionType)
        return made

    def least_bytes(self, arguments: Any, results: Any) -> int:
        """The bytes that have to move: arguments, results, what is written, unavoidable passes."""
        moved: int = sum(a.nbytes for a in arrays_in((arguments, results)))
        moved += sum(a.nbytes for i in self.written for a in arrays_in(arguments[i]))
        return moved + (self.passes(*arguments) if self.passes else 0)


def arrays_in(value: Any) -> list[Any]:
    """The arrays in tuples and lists, each once."""
    if isinstance(value, tuple | list):
        found = [a for v in value for a in arrays_in(v)]
        return list({id(a): a for a in found}.values())
    return [value] if isinstance(value, numpy.ndarray) else []


# --- how arguments are drawn


def uniform(low: float, high: float, *shape: int) -> Any:
    """Random numbers, the same at each call."""
    return numpy.random.default_rng(7).uniform(low, high, shape)


def whole(low: int, high: int, *shape: int) -> Any:
    """Random integers from ``low`` to below ``high``, the same at each call."""
    return numpy.random.default_rng(8).integers(low, high, shape)


def square(n: int, aspect: float = 1.0) -> tuple[int, int]:
    """The shape of about ``n`` elements in rows and columns."""
    rows = max(4, round(math.sqrt(n * aspect)))
    return rows, max(4, n // rows)


def vectors(n: int, count: int) -> tuple[Any, ...]:
    """``count`` arrays of ``n`` numbers from 0 to 1."""
    return tuple(uniform(0, 1, count, n))


def rows_of_1000(n: int) -> tuple[Any, ...]:
    """One array of rows of a thousand."""
    return (uniform(-4, 4, max(1, n // 1000), 1000),)
