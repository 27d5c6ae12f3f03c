"""What recording costs for each operation: ``python -m bench.recording``.

Small arrays, in a body that repeats, as in a loop; a step of a wave counts its flushes and kernels
too. CuPy arrays lie in host memory, as in the tests, so no GPU is needed; NumPy's own time for the
operation, done at once, stands beside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fusecuda as fc

COUNT, ROUNDS = 300, 9


def cost(operation: Callable[[], Any]) -> float:
    """Microseconds for one operation: the best of several rounds inside a block."""
    best = float("inf")
    for _ in range(ROUNDS):
        with fc.fused(device="cpu"):
            operation()
            start = time.perf_counter()
            kept = [operation() for _ in range(COUNT)]
            best = min(best, time.perf_counter() - start)
            kept.clear()
    return 1e6 * best / COUNT


def whole(step: Callable[[], Any]) -> float:
    """Microseconds for one step of a loop in a block, all that it does included."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        with fc.fused(device="cpu"):
            for _ in range(COUNT):
                step()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / COUNT


def stencil(u: Any, v: Any) -> Callable[[], None]:
    """A step of a wave: 15 operations on 20 views."""

    def step() -> None:
        inner = u[1:-1, 1:-1]
        spread = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner
        v[1:-1, 1:-1] += 0.1 * spread
        u[1:-1, 1:-1] += 0.1 * v[1:-1, 1:-1]
        v[...] *= 0.999
        u[0], u[-1] = u[1], u[-2]
        u[:, 0], u[:, -1] = u[:, 1], u[:, -2]

    return step


def operations(x: Any) -> dict[str, Callable[[], Any]]:
    """A few kinds of operations on one array."""

    def in_place() -> None:
        x[1:-1] += x[:1]

    return {
        "x + x": lambda: x + x,
        "x * 2.5": lambda: x * 2.5,
        "x.sum(axis=0)": lambda: x.sum(axis=0),
        "x[1:]": lambda: x[1:],
        "x[1:-1] += x[:1]": in_place,
    }


def main() -> None:
    """Print a table."""
    values = np.ones((4, 32))
    columns = {"NumPy": operations(values), "lazy": operations(fc.Array.of_array(values))}
    try:
        from tests import cupy_host

        cupy_host.install()
        columns["CuPy"] = operations(cupy_host.host(values))
    except ImportError:
        print("CuPy is not installed: only lazy arrays are measured")
    print(f"{'µs per operation':20}" + "".join(f"{name:>10}" for name in columns))
    for name in columns["NumPy"]:
        row = "".join(f"{cost(column[name]):10.2f}" for column in columns.values())
        print(f"{name:20}{row}")
    waves = {"NumPy": np.array, "lazy": fc.Array.of_array}
    if "CuPy" in columns:
        waves["CuPy"] = cupy_host.host
    side = np.ones((64, 64))
    row = "".join(f"{whole(stencil(make(side), make(side))):10.2f}" for make in waves.values())
    print(f"{'a step of a wave':20}{row}")
    start = time.perf_counter()
    for _ in range(COUNT):
        with fc.fused(device="cpu"):
            pass
    print(f"{'an empty block':20}{1e6 * (time.perf_counter() - start) / COUNT:10.2f}")


if __name__ == "__main__":
    main()
