"""Shallow water on a rotating plane: a hill of water spreads in waves.

Currents live between the points that have heights, as on the grids of ocean models; the plane
closes on itself. Each step is a chain of shifted arrays, which fused code reads where they lie.
"""

import numpy as np
from common import Example, colours

from fusecuda import fused

GRAVITY, DEPTH, TURNING, FRICTION = 9.81, 100.0, 1e-4, 1e-6
DX = 1000.0  # metres between points
DT = 10.0  # seconds


def east(field):
    return np.roll(field, -1, axis=1)


def north(field):
    return np.roll(field, -1, axis=0)


def step(height, u, v):
    """The height above rest, and the currents to the east and to the north, ten seconds later."""
    v_at_u = 0.25 * (v + east(v) + np.roll(v, 1, axis=0) + np.roll(east(v), 1, axis=0))
    u = u + DT * (TURNING * v_at_u - GRAVITY * (east(height) - height) / DX - FRICTION * u)
    u_at_v = 0.25 * (u + north(u) + np.roll(u, 1, axis=1) + np.roll(north(u), 1, axis=1))
    v = v + DT * (-TURNING * u_at_v - GRAVITY * (north(height) - height) / DX - FRICTION * v)
    flow_u = u * (DEPTH + 0.5 * (height + east(height)))
    flow_v = v * (DEPTH + 0.5 * (height + north(height)))
    inflow = np.roll(flow_u, 1, axis=1) - flow_u + np.roll(flow_v, 1, axis=0) - flow_v
    return height + DT * inflow / DX, u, v


def hill(size):
    """A hill of water a metre high, at rest."""
    x = np.linspace(-1, 1, size)
    height = np.exp(-60 * ((x + 0.3) ** 2 + (x[:, None] - 0.2) ** 2))
    return height, np.zeros((size, size)), np.zeros((size, size))


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=1000, quick=40)
    state = tuple(run.array(field) for field in hill(run.size))
    run.compare(step, state, exact=True)

    fused_step, state = fused(step), tuple(run.array(field) for field in hill(min(run.size, 256)))
    before = float(state[0].sum())
    for _ in range(20 if run.quick else 170):
        state = fused_step(*state)
    print(f"water: {before:.9g} before, {float(state[0].sum()):.9g} after")
    run.picture(colours(state[0], -0.1, 0.2))
    run.chart()
    return run


if __name__ == "__main__":
    main()
