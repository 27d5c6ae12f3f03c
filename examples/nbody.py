"""Bodies that attract each other: all pairs by broadcasting, summed at once.

Plain NumPy makes about a dozen arrays of size n². Fused, none exists: each pair's force is computed
where the sum over the other bodies needs it.
"""

import numpy as np
from common import Example

from fusecuda import fused


def acceleration(x, y, z, mass, softening):
    """The acceleration of each body by all others, in three components."""
    dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
    square = dx * dx + dy * dy + dz * dz + softening * softening
    pull = mass / (square * np.sqrt(square))
    return np.sum(pull * dx, axis=1), np.sum(pull * dy, axis=1), np.sum(pull * dz, axis=1)


fused_acceleration = fused(acceleration)


def energy(x, y, z, vx, vy, vz, mass, softening):
    """Kinetic plus potential energy."""
    dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
    distance = np.sqrt(dx * dx + dy * dy + dz * dz + softening * softening)
    pairs = np.sum(mass[:, None] * mass / distance) - np.sum(mass * mass) / softening
    return np.sum(mass * (vx * vx + vy * vy + vz * vz)) / 2 - pairs / 2


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=1000, quick=61)
    rng = np.random.default_rng(0)
    place = run.array(rng.normal(size=(3, run.size)))
    speed = run.array(0.5 * rng.normal(size=(3, run.size)))
    mass = run.array(rng.uniform(0.5, 1.5, run.size) / run.size)
    softening, dt, steps = 0.05, 0.01, 3 if run.quick else 20
    run.compare(acceleration, (*place, mass, softening), tolerance=1e-13)
    print(f"one array of all pairs would take {8 * run.size**2:,} B")

    total = fused(energy)
    before = float(total(*place, *speed, mass, softening))
    for _ in range(steps):  # leapfrog
        speed += dt / 2 * np.stack(fused_acceleration(*place, mass, softening))
        place += dt * speed
        speed += dt / 2 * np.stack(fused_acceleration(*place, mass, softening))
    after = float(total(*place, *speed, mass, softening))
    print(f"energy {before:.6f}, after {steps} steps {after:.6f}")
    run.chart()
    return run


if __name__ == "__main__":
    main()
