"""Programs of physics: fields on grids, particles, seawater."""

from __future__ import annotations

import math
from typing import Any

from .program import Program, square, uniform, whole


def seawater(xp: Any, s: Any, t: Any, p: Any) -> Any:
    """The density of seawater: sixty operations without a transcendental function."""
    r = xp.sqrt(s)
    water = 999.842594 + t * (6.793952e-2 + t * (-9.09529e-3 + t * (1.001685e-4 + t * (
        -1.120083e-6 + t * 6.536332e-9))))  # fmt: skip
    salt = 0.824493 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9)))
    salt = salt + r * (-5.72466e-3 + t * (1.0227e-4 + t * -1.6546e-6)) + s * 4.8314e-4
    k = 19652.21 + t * (148.4206 + t * (-2.327105 + t * (1.360477e-2 + t * -5.155288e-5)))
    k = k + s * (54.6746 + t * (-0.603459 + t * (1.09987e-2 + t * -6.167e-5)))
    k = k + s * r * (7.944e-2 + t * (1.6483e-2 + t * -5.3009e-4))
    a = 3.239908 + t * (1.43713e-3 + t * (1.16092e-4 + t * -5.77905e-7))
    a = a + s * (2.2838e-3 + t * (-1.0981e-5 + t * -1.6078e-6) + r * 1.91075e-4)
    b = 8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8)
    b = b + s * (-9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10))
    return (water + s * salt) / (1.0 - p / (k + p * (a + p * b)))


def heat(xp: Any, u: Any) -> Any:
    """One step of the heat equation on the inner points."""
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return inner + 0.2 * (around - 4.0 * inner)


def shallow_water(xp: Any, h: Any, u: Any, v: Any) -> Any:
    """One step on a ring of a plane: the currents, then the height by the new currents."""
    u = u - 0.05 * (xp.roll(h, -1, axis=1) - h) + 0.01 * v
    v = v - 0.05 * (xp.roll(h, -1, axis=0) - h) - 0.01 * u
    flow_x = u * (1.0 + 0.5 * (h + xp.roll(h, -1, axis=1)))
    flow_y = v * (1.0 + 0.5 * (h + xp.roll(h, -1, axis=0)))
    h = h - 0.05 * (flow_x - xp.roll(flow_x, 1, axis=1) + flow_y - xp.roll(flow_y, 1, axis=0))
    return h, u, v


def gray_scott(xp: Any, U: Any, V: Any) -> None:
    """One step of two reacting fields, in place."""
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    around_u = U[:-2, 1:-1] + U[1:-1, :-2] - 4.0 * u + U[1:-1, 2:] + U[2:, 1:-1]
    around_v = V[:-2, 1:-1] + V[1:-1, :-2] - 4.0 * v + V[1:-1, 2:] + V[2:, 1:-1]
    reaction = u * v * v
    u += 0.16 * around_u - reaction + 0.035 * (1.0 - u)
    v += 0.08 * around_v + reaction - 0.1 * v


def fdtd(xp: Any, ez: Any, hx: Any, hy: Any) -> None:
    """One step of Maxwell's equations in the plane, in place: the magnetic field, the electric."""
    hx -= 0.5 * (ez[:, 1:] - ez[:, :-1])
    hy += 0.5 * (ez[1:, :] - ez[:-1, :])
    ez[1:-1, 1:-1] += 0.5 * (hy[1:, 1:-1] - hy[:-1, 1:-1] - hx[1:-1, 1:] + hx[1:-1, :-1])


def lattice_boltzmann(xp: Any, f: Any) -> Any:
    """One step of nine populations on a ring of a plane: streaming, then collision."""
    ways = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
    weights = (4 / 9, *[1 / 9] * 4, *[1 / 36] * 4)
    moved = [xp.roll(f[i], way, axis=(0, 1)) for i, way in enumerate(ways)]
    rho = sum(moved[1:], moved[0])
    ux = (moved[1] - moved[3] + moved[5] - moved[6] - moved[7] + moved[8]) / rho
    uy = (moved[2] - moved[4] + moved[5] + moved[6] - moved[7] - moved[8]) / rho
    square = 1.5 * (ux * ux + uy * uy)
    after = []
    for (x, y), weight, part in zip(ways, weights, moved, strict=True):
        along = 3.0 * (x * ux + y * uy)
        rest = weight * rho * (1.0 + along + 0.5 * along * along - square)
        after.append(part - 0.6 * (part - rest))
    return xp.stack(after)


def nbody(xp: Any, x: Any, y: Any, z: Any, m: Any) -> Any:
    """The accelerations of √n bodies, of all pairs."""
    dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
    r = dx * dx + dy * dy + dz * dz + 0.01
    w = m / (r * xp.sqrt(r))
    return xp.sum(w * dx, axis=1), xp.sum(w * dy, axis=1), xp.sum(w * dz, axis=1)


def particle_deposit(xp: Any, x: Any, charge: Any, cells: Any) -> Any:
    """The charge of particles, shared by the two cells that each lies between."""
    rho = xp.zeros(cells.shape[0])
    left = xp.floor(x).astype(xp.int64)
    share = x - left
    xp.add.at(rho, left, charge * (1.0 - share))
    xp.add.at(rho, left + 1, charge * share)
    return rho + cells


def quaternion_rotation(xp: Any, q: Any, v: Any) -> Any:
    """Points, each turned by its own quaternion."""
    w, axis = q[:, :1], q[:, 1:]
    t = 2.0 * xp.cross(axis, v)
    return v + w * t + xp.cross(axis, t)


def upwind(xp: Any, f: Any, u: Any) -> Any:
    """One step of a wind that carries a field around a ring."""
    behind, ahead = f - xp.roll(f, 1, axis=1), xp.roll(f, -1, axis=1) - f
    return f - 0.1 * u * xp.where(u > 0.0, behind, ahead)


def lennard_jones(xp: Any, x: Any) -> Any:
    """The energy of all pairs of particles that are near."""
    d = x[:, None, :] - x[None, :, :]
    square = xp.sum(d * d, axis=2)
    near = (square < 0.25) & (square > 0.0)
    six = (0.01 / xp.where(near, square, 1.0)) ** 3
    return 2.0 * xp.sum(xp.where(near, six * six - six, 0.0))


def triangle_normals(xp: Any, points: Any, corners: Any) -> Any:
    """The unit normals of a mesh, and its area."""
    a, b, c = points[corners[:, 0]], points[corners[:, 1]], points[corners[:, 2]]
    normal = xp.cross(b - a, c - a)
    size = xp.sqrt(xp.sum(normal * normal, axis=1, keepdims=True))
    return normal / size, 0.5 * xp.sum(size)


def chain(xp: Any, x: Any, y: Any) -> Any:
    """Twelve elementwise operations."""
    a = x * 2.0 + y
    b = (a - x) * (a + y) * 0.5
    return xp.sqrt(xp.abs(b * b + a) + 1.0) / (y + 3.0) - x


def _fields(n: int, count: int) -> tuple[Any, ...]:
    rows, columns = square(n)
    return tuple(uniform(0, 0.2, count, rows, columns))


def _waves(n: int) -> tuple[Any, ...]:
    rows, columns = square(n)
    fields = uniform(-1, 1, 3, rows, columns)
    return fields[0], fields[1][:, 1:].copy(), fields[2][1:].copy()


def _bodies(n: int) -> tuple[Any, ...]:
    count = max(4, round(math.sqrt(n)))
    return (*uniform(-1, 1, 3, count), uniform(0.5, 1, count))


def _mesh(n: int) -> tuple[Any, ...]:
    points = uniform(-1, 1, max(8, n // 6), 3)
    first = whole(0, len(points), max(4, n // 3))
    return points, ((first[:, None] + [0, 1, 3]) % len(points)).astype("i4")


def _turns(n: int) -> tuple[Any, ...]:
    return uniform(-1, 1, max(1, n // 4), 4), uniform(-1, 1, max(1, n // 4), 3)


def _particles(n: int) -> tuple[Any, ...]:
    cells = max(4, n // 10)
    return uniform(0, cells - 1, n), uniform(0.5, 1, n), uniform(0, 1, cells)


WINDOWS = "what a stencil reads of another is stored: no window of rows rolls along yet"

PROGRAMS = (
    Program("chain of 12", chain, lambda n: tuple(uniform(0, 1, 2, n))),
    Program("seawater density", seawater,
            lambda n: (uniform(0, 42, n), uniform(-2, 40, n), uniform(0, 1000, n))),
    Program("heat equation", heat, lambda n: _fields(n, 1),
            why="one pass: the rows around a point stay in cache"),
    Program("shallow water", shallow_water, lambda n: _fields(n, 3),
            why="one pass: the new currents around a point stay in cache",
            above=WINDOWS),
    Program("Gray-Scott", gray_scott, lambda n: _fields(n, 2), written=(0, 1),
            why="one pass: a ring of new rows stays in cache until the old ones have been read"),
    Program("FDTD", fdtd, _waves, minimum=2, written=(0, 1, 2),
            why="the electric field needs the new magnetic field around it, in place",
            above="the two magnetic fields have other shapes: kernels do not share a launch yet",
            passes=lambda ez, hx, hy: ez.nbytes + hx.nbytes + hy.nbytes),
    Program("lattice Boltzmann", lattice_boltzmann,
            lambda n: (uniform(0.9, 1.1, 9, *square(max(1, n // 9))),)),
    Program("n-body", nbody, _bodies, rtol=1e-13,
            why="one pass over the pairs, of which nothing is stored"),
    Program("quaternion rotation", quaternion_rotation, _turns),
    Program("upwind transport", upwind, lambda n: tuple(uniform(-1, 1, 2, *square(n)))),
    Program("Lennard-Jones energy", lennard_jones,
            lambda n: (uniform(0, 1, max(4, round(math.sqrt(n))), 3),), rtol=1e-12,
            why="one pass over the pairs, of which nothing is stored"),
    Program("triangle normals", triangle_normals, _mesh, rtol=1e-13),
    Program("particle deposit", particle_deposit, _particles, rtol=1e-13,
            why="one pass over the particles, all sums in cache",
            above="what goes to the left is added before what goes to the right"),
)  # fmt: skip
