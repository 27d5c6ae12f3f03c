"""What SciPy's special functions are worth: exact values, where they are drawn, and how exact.

`BOUNDS` holds the largest error in units of the last place against mpmath, for float64; float32,
which computes in double and rounds, is within 0.51 of it everywhere. Where the value comes near 0
between arguments, as a difference does, the unit is that of `SCALE`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

from tests import vecmath_harness as harness

Array = np.ndarray[Any, Any]
mp = mpmath.mp


# --- exact values


def _inverse_erfc(y: Any) -> Any:
    """By Newton's method on log erfc."""
    if y > 1:
        return -_inverse_erfc(2 - y)
    if y > 0.5:
        return mpmath.erfinv(1 - y)
    x = mpmath.sqrt(-mpmath.log(y))
    for _ in range(60):
        value = mpmath.erfc(x)
        step = mpmath.log(value / y) * value * mpmath.sqrt(mp.pi) / 2 * mpmath.exp(x * x)
        x += step
        if abs(step) < mpmath.ldexp(x, -150):
            break
    return x


def _erfcx(x: Any) -> Any:
    if x < 1000:
        return mpmath.exp(x * x) * mpmath.erfc(x)
    z = 1 / (x * x)
    return (1 - z / 2 + 3 * z * z / 4 - 15 * z**3 / 8) / x / mpmath.sqrt(mp.pi)


def _ndtr(x: Any) -> Any:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _log_ndtr(x: Any) -> Any:
    if x >= 0:
        return mpmath.log1p(-_ndtr(-x))
    return mpmath.log(_erfcx(-x / mpmath.sqrt(2)) / 2) - x * x / 2


def _gammaln(x: Any) -> Any:
    return mpmath.loggamma(x) if x > 0 else mpmath.log(abs(mpmath.gamma(x)))


def _bessel(order: int, scaled: bool) -> Callable[[Any], Any]:
    def value(x: Any) -> Any:
        found = mpmath.besseli(order, x)
        return found * mpmath.exp(-abs(x)) if scaled else found

    return value


def _huber(delta: Any, x: Any) -> Any:
    return x * x / 2 if abs(x) <= delta else delta * (abs(x) - delta / 2)


def _inverse_erf(x: Any) -> Any:
    return mpmath.erfinv(x) if abs(x) < 0.5 else mpmath.sign(x) * _inverse_erfc(1 - abs(x))


EXACT: dict[str, Callable[..., Any]] = {
    "gammaln": _gammaln,
    "gamma": mpmath.gamma,
    "psi": mpmath.digamma,
    "erfcx": _erfcx,
    "erfinv": _inverse_erf,
    "erfcinv": _inverse_erfc,
    "ndtr": _ndtr,
    "ndtri": lambda p: -mpmath.sqrt(2) * _inverse_erfc(2 * p),
    "log_ndtr": _log_ndtr,
    "logit": lambda x: mpmath.log(x / (1 - x)),
    "log_expit": lambda x: -mpmath.log1p(mpmath.exp(-x)),
    "i0": _bessel(0, scaled=False),
    "i0e": _bessel(0, scaled=True),
    "i1": _bessel(1, scaled=False),
    "i1e": _bessel(1, scaled=True),
    "entr": lambda x: -x * mpmath.log(x),
    "exp10": lambda x: mpmath.mpf(10) ** x,
    "exprel": lambda x: mpmath.expm1(x) / x,
    "cosm1": lambda x: -2 * mpmath.sin(x / 2) ** 2,
    "xlogy": lambda x, y: x * mpmath.log(y),
    "xlog1py": lambda x, y: x * mpmath.log1p(y),
    "rel_entr": lambda x, y: x * mpmath.log(x / y),
    "kl_div": lambda x, y: x * mpmath.log(x / y) - x + y,
    "huber": _huber,
    "pseudo_huber": lambda d, x: x * x / (1 + mpmath.sqrt(1 + (x / d) ** 2)),
    "boxcox": lambda x, k: mpmath.expm1(k * mpmath.log(x)) / k,
    "boxcox1p": lambda x, k: mpmath.expm1(k * mpmath.log1p(x)) / k,
    "inv_boxcox": lambda x, k: mpmath.exp(mpmath.log1p(k * x) / k),
    "inv_boxcox1p": lambda x, k: mpmath.expm1(mpmath.log1p(k * x) / k),
}

# --- how exact

BOUNDS = {
    **dict.fromkeys(("entr", "xlogy", "xlog1py", "exprel", "log_expit"), 2.0),
    **dict.fromkeys(("exp10",), 0.51),
    **dict.fromkeys(("erfinv", "erfcinv", "rel_entr", "huber", "cosm1"), 2.5),
    **dict.fromkeys(("gamma", "pseudo_huber"), 2.5),
    **dict.fromkeys(("gammaln", "ndtri", "i0e", "i1e", "logit"), 3.5),
    **dict.fromkeys(("psi", "i0", "i1", "boxcox", "boxcox1p"), 4.0),
    **dict.fromkeys(("log_ndtr", "erfcx", "ndtr"), 4.5),
    **dict.fromkeys(("inv_boxcox", "inv_boxcox1p"), 6.0),
    "kl_div": 10.0,
}
SINGLE = 0.51

# --- where


def _flat(low: float, high: float) -> Callable[..., Array]:
    return lambda rng, count: rng.uniform(low, high, count)


def _sizes(low: float, high: float, sign: int = 1) -> Callable[..., Array]:
    """Powers of 2 with exponents from ``low`` to ``high``."""
    return lambda rng, count: sign * np.exp2(rng.uniform(low, high, count))


def _about(center: float, low: float = -50, high: float = -3) -> Callable[..., Array]:
    """Both sides of ``center``, at distances of that many powers of 2."""

    def draw(rng: np.random.Generator, count: int) -> Array:
        signs: Array = rng.choice([-1.0, 1.0], count)
        return center + signs * np.exp2(rng.uniform(low, high, count))

    return draw


Draw = Callable[..., Array]
_TWO: Sequence[tuple[Draw, Draw]] = ((_sizes(-20, 20), _sizes(-20, 20)),)
DRAWS: dict[str, Sequence[Draw | tuple[Draw, Draw]]] = {
    "gammaln": [
        _flat(0, 3),
        _flat(3, 30),
        _sizes(-1000, 1000),
        _about(1),
        _about(2),
        _flat(-1.9, 0),
    ],
    "gamma": [_flat(0, 3), _flat(3, 171), _sizes(-1000, 2), _flat(-30, 0), _flat(-180, -150)],
    "psi": [
        _flat(0, 3),
        _flat(3, 50),
        _sizes(-900, 900),
        _about(1.4616321449683623),
        _flat(-0.4, 0),
    ],
    "erfcx": [_flat(-26, 27), _sizes(4, 900), _about(0)],
    "erfinv": [_flat(-1, 1), _sizes(-600, 0), lambda r, n: 1 - np.exp2(r.uniform(-53, -2, n))],
    "erfcinv": [_flat(0, 2), _sizes(-1074, 0), _about(1)],
    "ndtr": [_flat(-5, 5), _flat(-37.5, 0), _about(0)],
    "ndtri": [_flat(0, 1), _sizes(-1074, -1), _about(0.5)],
    "log_ndtr": [_flat(-5, 5), _flat(-38, 37), _sizes(3, 400, -1)],
    "logit": [_flat(0, 1), _sizes(-1074, -1), _about(0.5), _about(0.25), _about(0.75)],
    "log_expit": [_flat(-5, 5), _flat(-700, 700), _about(0)],
    "i0": [_flat(-8, 8), _flat(8, 713), _about(8), _about(0)],
    "i0e": [_flat(-8, 8), _flat(8, 1000), _about(8), _about(0)],
    "i1": [_flat(-8, 8), _flat(8, 713), _about(8), _about(0)],
    "i1e": [_flat(-8, 8), _flat(8, 1000), _about(8), _about(0)],
    "entr": [_sizes(-900, 900), _about(1)],
    "exp10": [_flat(-300, 300), _about(0)],
    "exprel": [_flat(-20, 20), _flat(-700, 700), _about(0)],
    "cosm1": [_flat(-20, 20), _sizes(2, 900), _about(0)],
    "xlogy": [*_TWO, (_sizes(-20, 20), _about(1))],
    "xlog1py": [*_TWO, (_sizes(-20, 20), _about(0))],
    "rel_entr": [*_TWO, (_sizes(-1, 1), _flat(0.4, 3)), (_sizes(-900, 900), _sizes(-900, 900))],
    "kl_div": [*_TWO, (_flat(0.7, 1.4), _flat(0.7, 1.4)), (_about(1, -30), _about(1, -30))],
    "huber": _TWO,
    "pseudo_huber": [*_TWO, (_sizes(-400, 400), _sizes(-400, 400))],
    "boxcox": [(_sizes(-3, 3), _flat(-1, 1)), (_about(1), _flat(-1, 1))],
    "boxcox1p": [(_sizes(-3, 3), _flat(-1, 1)), (_about(0), _flat(-1, 1))],
    "inv_boxcox": [(_flat(0, 3), _flat(0.1, 1))],
    "inv_boxcox1p": [(_flat(0, 3), _flat(0.1, 1)), (_about(0), _flat(0.1, 1))],
}


DOMAIN = {"erfinv": (-1, 1), "erfcinv": (0, 2), "ndtri": (0, 1), "logit": (0, 1)}


def draws(name: str, dtype: type, count: int, seed: int = 4) -> list[tuple[Array, ...]]:
    """Operands of ``name``, ``count`` from each place."""
    rng = np.random.default_rng(seed)
    found = []
    for drawn in DRAWS[name]:
        parts = drawn if isinstance(drawn, tuple) else (drawn,)
        with np.errstate(over="ignore", under="ignore"):
            values = [part(rng, count).astype(dtype) for part in parts]
        low, high = DOMAIN.get(name, (-np.inf, np.inf))
        fine = np.logical_and.reduce([(low < v) & (v < high) & (v != 0) for v in values])
        found.append(tuple(v[fine] for v in values))
    return found


def ulp_errors(name: str, args: tuple[Array, ...], got: Array) -> Array:
    """|got - exact| in units of the last place of the exact value."""
    info, errors = np.finfo(got.dtype), []
    with mpmath.workprec(240):
        for *values, result in zip(*(a.tolist() for a in args), got.tolist(), strict=True):
            exact = EXACT[name](*map(mpmath.mpf, values))
            _, exponent = mpmath.frexp(exact)
            place = max(int(exponent) - info.nmant - 1, info.minexp - info.nmant)
            if abs(exact) > float(info.max) or not np.isfinite(result):
                rounds = abs(exact) >= float(info.max) and np.isinf(result)
                errors.append(0.0 if rounds else np.inf)
                continue
            errors.append(float(abs(mpmath.mpf(result) - exact) / mpmath.ldexp(1, place)))
    return np.array(errors)


NAMES = (*harness.SPECIAL_UNARY, *harness.SPECIAL_BINARY)
