"""Programs that are exported, and how a C function is called with their arguments."""

from __future__ import annotations

import ctypes
import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fusecuda.graph.dtypes import ELEMENT_TYPES

NDArray = np.ndarray[Any, Any]


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def diffuse(u: Any, dt: float, dx: float) -> Any:
    u[1:-1] += dt * (u[2:] - 2.0 * u[1:-1] + u[:-2]) / dx**2
    return u


def several(x: Any, w: Any) -> Any:
    w -= 0.1 * x
    return {"sum": x.sum(axis=0), "back": (x[::-1].T, w * w), "x": x}


def steps(x: Any, n: int) -> Any:
    """Of several kernels: a reduction over all, and what needs it."""
    return (x - x.mean()) / x.std() + n, np.cumsum(x)


def picked(x: Any, at: Any) -> Any:
    return x[at] * 2


def stacked(parts: Any) -> Any:
    return np.concatenate([parts["a"], parts["b"][0]]) + 1


def counted(a: Any, flags: Any, n: int) -> Any:
    return np.where(flags, a + n, -a), flags.sum(), (a > 3) & flags


def half(x: Any, s: float) -> Any:
    return x * s + np.float16(1.5), x.sum()


def brief(x: Any, n: int) -> Any:
    return x * n - x / 3, x.sum(), np.where(x > n, x, 1)


def turned(z: Any) -> Any:
    return np.exp(z) * 1j, z.conj().sum()


def made(x: Any) -> Any:
    return np.zeros(3) + x, np.full((2, 2), x)


def scaled(z: Any, s: float, n: int) -> Any:
    return z * s - n


def mixed(x: Any, a: float, n: int, f: Any) -> Any:
    return x * (a / (n * 2) + n * 2) + f - abs(a)


def random(shape: Any, dtype: str = "f8") -> NDArray:
    values = np.random.default_rng(7).standard_normal(shape) * 3
    return (values + 1j * values[::-1] if dtype[0] == "c" else values).astype(dtype)


def has_bfloat16() -> bool:
    """True if NumPy has bfloat16, which fusecuda has asked for."""
    return any(dtype.name == "bfloat16" for dtype in ELEMENT_TYPES)


@dataclass
class Program:
    """A function with arguments for it, and the names of C parameters that are its results."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


def flat(value: Any) -> list[Any]:
    """The arrays and numbers in arguments or results, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [part for one in value for part in flat(one)]
    return [value]


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: copied(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def c_argument(value: Any) -> Any:
    """As ctypes passes it."""
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, int):
        return ctypes.c_int64(value)
    return ctypes.c_float(value) if isinstance(value, np.float32) else ctypes.c_double(value)


def busy(x: Any, at: Any, a: float, n: int) -> Any:
    """All that a host's function may have to do: numbers, temporaries, an element's error."""
    s = (x / (x.mean() * (abs(a) ** 3 / n + n * 2)))[at]
    at += 1
    return s + s.mean(), np.float16(0.5) * s.astype("f2")


def total(names: Sequence[str]) -> Callable[..., Any]:
    """A function with arguments of these names, which gives their sum."""
    listed = ", ".join(names)
    made: Callable[..., Any] = eval(f"lambda {listed}: sum(({listed},))")
    return made


def argument_names(text: str) -> list[str]:
    """The words of ``text`` that Python takes for an argument."""
    words = sorted(set(re.findall(r"[A-Za-z_]\w*", text)))
    return [w for w in words if not keyword.iskeyword(w)]


def every_second(names: Sequence[str], first: int) -> list[Any]:
    """An argument for each name: an array for every second one from ``first``, else a number."""
    return [np.full(4, i) * 1.0 if i % 2 == first else i * 0.5 for i, _ in enumerate(names)]
