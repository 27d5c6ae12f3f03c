"""Bodies that attract each other: all pairs by broadcasting, summed at once.

Plain NumPy makes about a dozen arrays of size n². Fused, none exists: each pair's force is computed
where the sum over the other bodies needs it.
"""

import numpy as np
from common import compare

import fusecuda as fc
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


def main(bodies=1000, steps=20):
    rng = np.random.default_rng(0)
    place, speed = rng.normal(size=(3, bodies)), 0.5 * rng.normal(size=(3, bodies))
    mass, softening, dt = rng.uniform(0.5, 1.5, bodies) / bodies, 0.05, 0.01
    compare(acceleration, fused_acceleration, (*place, mass, softening))

    peak = fc.lower(acceleration, *place, mass, softening).memory.peak_bytes
    print(f"peak memory {peak:,} B; one array of all pairs would take {8 * bodies**2:,} B")

    total = fused(energy)
    before = total(*place, *speed, mass, softening)
    for _ in range(steps):  # leapfrog
        speed += dt / 2 * np.array(fused_acceleration(*place, mass, softening))
        place += dt * speed
        speed += dt / 2 * np.array(fused_acceleration(*place, mass, softening))
    after = total(*place, *speed, mass, softening)
    print(f"energy {before:.6f}, after {steps} steps {after:.6f}")


if __name__ == "__main__":
    main()
