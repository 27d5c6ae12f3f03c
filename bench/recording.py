"""What recording costs for each operation: ``python -m bench.recording``.

Small arrays, in a body that repeats, as in a loop; a step of a wave counts its flushes and kernels
too, and a block all that it does. Blocks are strict, so that none is passed through. CuPy arrays
lie in host memory, as in the tests, so no GPU is needed; lazy arrays are measured before CuPy is
imported. NumPy's own time for the operation, done at once, stands beside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fusecuda as fc
import fusecuda.numpy as fnp

COUNT, ROUNDS = 50, 25


def cost(operation: Callable[[], Any]) -> float:
    """Microseconds for one operation: the best of several rounds inside a block."""
    best = float("inf")
    for _ in range(ROUNDS):
        with fc.fused(device="cpu", strict=True):
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
        with fc.fused(device="cpu", strict=True):
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
        "7 operations": lambda: -(((x + 1.5) * x - 0.5) * (x - 0.25) + x),
        "x.sum(axis=0)": lambda: x.sum(axis=0),
        "x[1:]": lambda: x[1:],
        "x[1:-1] += x[:1]": in_place,
    }


def blocks() -> None:
    """Print what a block of some operations takes in all, and what else may become of them."""
    print(f"{'µs for a block of':20}{'NumPy':>10}{'at once':>10}{'block':>10}{'@fused':>10}")
    for count in (1, 4, 7, 20):
        for size in (1_000, 10_000, 100_000):
            values = np.random.default_rng(0).normal(size=size)

            def chain(x: Any, count: int = count) -> Any:
                for _ in range(count):
                    x = x * 1.01 + 0.5
                    x = x - x * x * 0.001
                return x

            fused = fc.fused(chain, strict=True)

            def block(values: Any = values, chain: Any = chain) -> Any:
                with fc.fused(strict=True):
                    x = chain(fnp.asarray(values))
                return np.asarray(x)

            ways = (
                lambda chain=chain, values=values: chain(values.copy()),
                lambda chain=chain, values=values: np.asarray(chain(fnp.asarray(values))),
                block,
                lambda fused=fused, values=values: fused(values),
            )
            row = "".join(f"{best(way):10.1f}" for way in ways)
            print(f"{f'{5 * count} on {size:,}':20}{row}")


def best(call: Callable[[], Any]) -> float:
    """The fewest microseconds of a few hundred calls."""
    found = float("inf")
    for _ in range(400):
        start = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - start)
    return 1e6 * found


def main() -> None:
    """Print a table."""
    values = np.ones((4, 32))
    blocks()
    lazy = operations(fc.Array.of_array(values))
    found = {"NumPy": operations(values), "lazy": lazy}
    columns = {name: {n: cost(op) for n, op in ways.items()} for name, ways in found.items()}
    side = np.ones((64, 64))
    waves = [whole(stencil(make(side), make(side))) for make in (np.array, fc.Array.of_array)]
    try:
        from tests import cupy_host

        cupy_host.install()
        host = cupy_host.host
        columns["CuPy"] = {n: cost(op) for n, op in operations(host(values)).items()}
        waves.append(whole(stencil(host(side), host(side))))
    except ImportError:
        print("CuPy is not installed: only lazy arrays are measured")
    print(f"{'µs per operation':20}" + "".join(f"{name:>10}" for name in columns))
    for name in lazy:
        print(f"{name:20}" + "".join(f"{column[name]:10.2f}" for column in columns.values()))
    print(f"{'a step of a wave':20}" + "".join(f"{wave:10.2f}" for wave in waves))
    start = time.perf_counter()
    for _ in range(COUNT):
        with fc.fused(device="cpu"):
            pass
    print(f"{'an empty block':20}{1e6 * (time.perf_counter() - start) / COUNT:10.2f}")


if __name__ == "__main__":
    main()
