"""Heat spreading over a plate: in-place updates of slices, as a lazy loop and as a fused step.

`step` overwrites the inner part of its argument, as NumPy code does. It is fused in two ways:
as a function of NumPy arrays, and without any function, by lazy arrays in a Python loop.
"""

import numpy as np
from common import Example, colours

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


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=1000, quick=33)
    steps = 20
    expected = run.array(plate(run.size))
    for _ in range(steps):
        step(expected, 0.2)

    # A fused function: traced at the first step, replayed at all others.
    u = run.array(plate(run.size))
    for _ in range(steps):
        fused_step(u, 0.2)
    print(f"fused step: {run.check('fused step', expected, u, exact=True)}")

    # The same loop, no function. What is pending is computed when the block is left.
    with fused() as region:
        lazy = run.array(plate(run.size))
        if run.device == "cpu":  # NumPy's arrays cannot be followed from outside
            lazy = fc.Array.of_array(lazy)
        for _ in range(steps):
            step(lazy, 0.2)
    lazy = lazy if run.device == "cuda" else np.asarray(lazy)
    print(f"block: {run.check('block', expected, lazy, exact=True)}, "
          f"{region.launches} launches for {steps} steps")  # fmt: skip

    run.compare(heat, (expected, 0.2), exact=True)
    picture = run.array(plate(min(run.size, 240)))
    for _ in range(100 * steps):
        fused_step(picture, 0.2)
    run.picture(colours(picture, 0, 160))
    run.chart()
    return run


if __name__ == "__main__":
    main()
