"""Heat spreading over a plate: in-place updates of slices, as a lazy loop and as a fused step.

`step` overwrites the inner part of its argument, as NumPy code does. It is fused in two ways:
as a function of NumPy arrays, and without any function, by lazy arrays in a Python loop.
"""

import numpy as np
from common import check, compare

import fusecuda as fc
from fusecuda import fused


def step(u, k):
    """One explicit step of the heat equation in the memory of ``u``; the rim keeps its heat."""
    u[1:-1, 1:-1] += k * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    )


def plate(size):
    u = np.zeros((size, size))
    u[0] = 100.0
    u[size // 3 : size // 2, size // 3 : size // 2] = 500.0
    return u


fused_step = fused(step)  # writes into the NumPy array that it is given


def heat(u, k):
    """A step that gives back a new plate, to compare."""
    u = u.copy()
    step(u, k)
    return u


def main(size=1000, steps=20):
    expected = plate(size)
    for _ in range(steps):
        step(expected, 0.2)

    # A fused function: traced at the first step, replayed at all others.
    u = plate(size)
    for _ in range(steps):
        fused_step(u, 0.2)
    check("fused step", expected, u, exact=True)

    # Lazy arrays: the same loop, no function. What is pending is computed when the block is left.
    with fused() as region:
        lazy = fc.Array.of_array(plate(size))
        for _ in range(steps):
            step(lazy, 0.2)
    check("lazy loop", expected, np.asarray(lazy), exact=True)
    print(f"lazy loop: {region.launches} launches for {steps} steps")

    compare(heat, fused(heat), (expected, 0.2), exact=True)


if __name__ == "__main__":
    main()
