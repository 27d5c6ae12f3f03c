"""Shallow water on a rotating plane: a wave over a ridge, with many in-place slice updates."""

import sys

import cupy as cp
import numpy as np

GRAVITY = 9.81
CORIOLIS = 1e-4
DRAG = 1e-6
SPACING = 5e3


class Basin:
    """Depth, surface height and velocities on a staggered grid."""

    def __init__(self, rows, columns):
        self.shape = (rows, columns)
        y = cp.linspace(-1.0, 1.0, rows)[:, None]
        x = cp.linspace(-1.0, 1.0, columns)[None, :]
        self.depth = 4000.0 - 1500.0 * cp.exp(-25.0 * (x - 0.2) ** 2) * (1.0 + 0.2 * y)
        self.height = cp.exp(-40.0 * ((x + 0.4) ** 2 + (y - 0.1) ** 2))
        self.u = cp.zeros((rows, columns + 1))
        self.v = cp.zeros((rows + 1, columns))
        self.tracer = cp.where(x * y > 0, 1.0, 0.25) + cp.zeros((rows, columns))
        self.wet = cp.ones((rows, columns), dtype=bool)
        self.wet[:2, :2] = False
        self.wet[-3:, -4:] = False

    def time_step(self):
        """A stable step for the fastest wave."""
        return 0.3 * SPACING / float(cp.sqrt(GRAVITY * self.depth).max())


def faces(field, axis):
    """Values between neighbours along an axis."""
    if axis == 1:
        return 0.5 * (field[:, 1:] + field[:, :-1])
    return 0.5 * (field[1:] + field[:-1])


def push_velocities(basin, dt):
    """Pressure, rotation and friction."""
    h, u, v = basin.height, basin.u, basin.v
    v_at_u = 0.25 * (v[:-1, 1:] + v[1:, 1:] + v[:-1, :-1] + v[1:, :-1])
    u_at_v = 0.25 * (u[1:, :-1] + u[1:, 1:] + u[:-1, :-1] + u[:-1, 1:])
    u[:, 1:-1] += dt * (CORIOLIS * v_at_u - GRAVITY * (h[:, 1:] - h[:, :-1]) / SPACING)
    v[1:-1] += dt * (-CORIOLIS * u_at_v - GRAVITY * (h[1:] - h[:-1]) / SPACING)
    u *= 1.0 - dt * DRAG
    v *= 1.0 - dt * DRAG
    u[:, 0] = 0.0
    u[:, -1] = 0.0
    v[0] = 0.0
    v[-1] = 0.0


def move_surface(basin, dt):
    """Continuity: what flows through the faces raises and lowers the surface."""
    flux_x = cp.zeros_like(basin.u)
    flux_y = cp.zeros_like(basin.v)
    flux_x[:, 1:-1] = basin.u[:, 1:-1] * faces(basin.depth, 1)
    flux_y[1:-1] = basin.v[1:-1] * faces(basin.depth, 0)
    divergence = (flux_x[:, 1:] - flux_x[:, :-1] + flux_y[1:] - flux_y[:-1]) / SPACING
    basin.height -= dt * divergence
    basin.height[~basin.wet] = 0.0


def carry_tracer(basin, dt):
    """First-order upwind transport, in place."""
    t = basin.tracer
    u = 0.5 * (basin.u[:, 1:] + basin.u[:, :-1])
    v = 0.5 * (basin.v[1:] + basin.v[:-1])
    dx = cp.zeros_like(t)
    dy = cp.zeros_like(t)
    dx[:, 1:-1] = cp.where(u[:, 1:-1] > 0, t[:, 1:-1] - t[:, :-2], t[:, 2:] - t[:, 1:-1])
    dy[1:-1] = cp.where(v[1:-1] > 0, t[1:-1] - t[:-2], t[2:] - t[1:-1])
    t -= dt / SPACING * (u * dx + v * dy) * 1e3
    t[1:-1, 1:-1] += 0.05 * (
        t[2:, 1:-1] + t[:-2, 1:-1] + t[1:-1, 2:] + t[1:-1, :-2] - 4.0 * t[1:-1, 1:-1]
    )
    cp.clip(t, 0.0, 1.0, out=t)


def energy(basin):
    """Potential and kinetic energy per unit of mass."""
    potential = 0.5 * GRAVITY * (basin.height**2).sum()
    kinetic = 0.5 * (faces(basin.u, 1) ** 2 + faces(basin.v, 0) ** 2).sum()
    return potential, kinetic


def main(rows=40, columns=48, steps=60):
    """Run, with a look at the energy now and then."""
    basin = Basin(rows, columns)
    dt = basin.time_step()
    history = []
    for step in range(steps):
        push_velocities(basin, dt)
        move_surface(basin, dt)
        carry_tracer(basin, dt)
        if step % 20 == 19:
            potential, kinetic = energy(basin)
            history.append((float(potential), float(kinetic)))
            print(f"step {step + 1}: {history[-1][0]:.9e} {history[-1][1]:.9e}")
    print(f"highest {float(basin.height.max()):.9f}, tracer {float(basin.tracer.mean()):.9f}")
    names = ("height", "u", "v", "tracer")
    return {name: np.array(cp.asnumpy(getattr(basin, name))) for name in names}


if __name__ == "__main__":
    results = main(*map(int, sys.argv[1:]))
