"""What one writes by hand where a rival does not take the program as it stands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

try:
    from numba import prange
except ImportError:
    prange = range


# --- numexpr, with NumPy for what it has not


def _softmax(x: Any) -> Any:
    import numexpr as ne

    m = x.max(axis=1, keepdims=True)
    e = ne.evaluate("exp(x - m)", local_dict={"x": x, "m": m})
    return ne.evaluate("e / s", local_dict={"e": e, "s": e.sum(axis=1, keepdims=True)})


def _layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    import numexpr as ne

    m = x.mean(axis=1, keepdims=True)
    v = ne.evaluate("sum((x - m)**2, axis=1)", local_dict={"x": x, "m": m})[:, None] / x.shape[1]
    names = {"x": x, "m": m, "v": v, "g": gain, "b": bias}
    return ne.evaluate("g * (x - m) / sqrt(v + 1e-5) + b", local_dict=names)


def _stencil(u: Any) -> Any:
    import numexpr as ne

    names = {"n": u[:-2, 1:-1], "s": u[2:, 1:-1], "e": u[1:-1, 2:], "w": u[1:-1, :-2]}
    return ne.evaluate(
        "c + 0.2 * (s + n + e + w - 4 * c)", local_dict={**names, "c": u[1:-1, 1:-1]}
    )


def _nbody(x: Any, y: Any, z: Any, m: Any) -> Any:
    import numexpr as ne

    names = {"x": x, "y": y, "z": z, "X": x[:, None], "Y": y[:, None], "Z": z[:, None], "m": m}
    r = ne.evaluate("(x - X)**2 + (y - Y)**2 + (z - Z)**2 + 0.01", local_dict=names)
    names["w"] = ne.evaluate("m / (r * sqrt(r))", local_dict={"m": m, "r": r})
    return tuple(
        ne.evaluate(f"sum(w * ({a} - {a.upper()}), axis=1)", local_dict=names) for a in "xyz"
    )


def _hillshade(z: Any) -> Any:
    import numexpr as ne

    names = {"e": z[1:-1, 2:], "w": z[1:-1, :-2], "s": z[2:, 1:-1], "n": z[:-2, 1:-1]}
    names["x"] = ne.evaluate("(e - w) * 0.05", local_dict=names)
    names["y"] = ne.evaluate("(s - n) * 0.05", local_dict=names)
    names["t"] = ne.evaluate("arctan(sqrt(x * x + y * y))", local_dict=names)
    text = "0.7 * cos(t) + 0.7 * sin(t) * cos(2.3 - arctan2(-x, y))"
    light = ne.evaluate(f"where({text} > 0, {text}, 0.0)", local_dict=names)
    names = {"l": light, "a": light.min(), "b": light.max()}
    return ne.evaluate("(l - a) / (b - a)", local_dict=names)


NUMEXPR = {"softmax": _softmax, "layer norm": _layer_norm, "heat equation": _stencil,
           "n-body": _nbody, "hillshade": _hillshade}  # fmt: skip

# --- Numba: loops over rows in parallel


def _row_softmax(x: Any) -> Any:
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = -np.inf
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = 0.0
        for j in range(x.shape[1]):
            out[i, j] = math.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


def _row_layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    out = np.empty_like(x)
    n = x.shape[1]
    for i in prange(x.shape[0]):
        mean = 0.0
        for j in range(n):
            mean += x[i, j]
        mean /= n
        square = 0.0
        for j in range(n):
            square += (x[i, j] - mean) ** 2
        scale = 1 / math.sqrt(square / n + 1e-5)
        for j in range(n):
            out[i, j] = gain[j] * (x[i, j] - mean) * scale + bias[j]
    return out


def _loop_metrics(a: Any, b: Any) -> Any:
    square, total = 0.0, 0.0
    top = 0.0
    for i in prange(a.size):
        d = abs(a[i] - b[i])
        square += d * d
        total += d
        top = max(top, d)
    return square, total, top


def _loop_stencil(u: Any) -> Any:
    out = np.empty((u.shape[0] - 2, u.shape[1] - 2))
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            c = u[i + 1, j + 1]
            around = u[i + 2, j + 1] + u[i, j + 1] + u[i + 1, j + 2] + u[i + 1, j]
            out[i, j] = c + 0.2 * (around - 4.0 * c)
    return out


def _loop_nbody(x: Any, y: Any, z: Any, m: Any) -> Any:
    n = x.size
    ax, ay, az = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in prange(n):
        sx = sy = sz = 0.0
        for j in range(n):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            r = dx * dx + dy * dy + dz * dz + 0.01
            w = m[j] / (r * math.sqrt(r))
            sx += w * dx
            sy += w * dy
            sz += w * dz
        ax[i], ay[i], az[i] = sx, sy, sz
    return ax, ay, az


NUMBA = {"softmax": _row_softmax, "layer norm": _row_layer_norm, "three metrics": _loop_metrics,
         "heat equation": _loop_stencil, "n-body": _loop_nbody}  # fmt: skip
