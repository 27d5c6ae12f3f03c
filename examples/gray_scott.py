"""Two substances that diffuse and react, by Gray and Scott: spots grow and divide.

One step is a page of array code; fused, it reads both fields once and writes both once. The example
leaves an animation.
"""

import numpy as np
from common import Example, colours

from fusecuda import fused


def laplacian(f):
    """How far a field is from its surroundings, on a plane that closes on itself."""
    sides = np.roll(f, 1, 0) + np.roll(f, -1, 0) + np.roll(f, 1, 1) + np.roll(f, -1, 1)
    return sides - 4 * f


def step(u, v, feed, kill):
    """Both fields one step later."""
    reaction = u * v * v
    new_u = u + 0.16 * laplacian(u) - reaction + feed * (1 - u)
    new_v = v + 0.08 * laplacian(v) + reaction - (feed + kill) * v
    return new_u, new_v


def start(size):
    """The first substance everywhere, the second in a few small squares."""
    u, v = np.ones((size, size)), np.zeros((size, size))
    for x, y in np.random.default_rng(4).integers(0, size, (12, 2)):
        u[x : x + 6, y : y + 6], v[x : x + 6, y : y + 6] = 0.5, 0.3
    return u, v


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=1000, quick=40)
    feed, kill = 0.035, 0.0625
    u, v = (run.array(field) for field in start(run.size))
    run.compare(step, (u, v, feed, kill), exact=True)

    # Other rates are other numbers for the same kernels: nothing is recorded again.
    fused_step, frames = fused(step), []
    u, v = (run.array(field) for field in start(min(run.size, 84)))
    for moment in range(60 if run.quick else 2640):
        u, v = fused_step(u, v, feed, kill)
        if moment % (30 if run.quick else 220) == 0:
            frames.append(colours(v, 0, 0.35))
    run.picture(*frames, zoom=2)
    run.chart()
    return run


if __name__ == "__main__":
    main()
