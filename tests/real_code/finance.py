"""Prices and risks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, put

# --- Black-Scholes with an approximation of the normal law; Greeks in a dataclass


@dataclass
class Greeks:
    price: Any
    delta: Any
    vega: Any


def normal(x: Any) -> Any:
    t = 1 / (1 + 0.2316419 * np.abs(x))
    poly = t * (
        0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
    )
    tail = np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi) * poly
    return np.where(x >= 0, 1 - tail, tail)


def black_scholes(
    spot: Any, strike: Any, years: Any, rate: float, vol: float, call: bool = True
) -> Greeks:
    """Prices and Greeks of European options."""
    root = vol * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * vol**2) * years) / root
    d2 = d1 - root
    sign = 1 if call else -1
    discounted = strike * np.exp(-rate * years)
    price = sign * (spot * normal(sign * d1) - discounted * normal(sign * d2))
    density = np.exp(-0.5 * d1**2) / math.sqrt(2 * math.pi)
    return Greeks(price, sign * normal(sign * d1), spot * density * np.sqrt(years))


def make_options() -> list[Any]:
    rng = np.random.default_rng(0)
    n = 40_000
    return [50 + 100 * rng.random(n), 50 + 100 * rng.random(n), 0.1 + rng.random(n), 0.03, 0.2]


# --- Monte Carlo with given draws: paths, a barrier, an Asian average


class Market:
    """What everybody agrees on."""

    rate = 0.02
    days = 252

    def __init__(self, vol: float) -> None:
        self.vol = vol

    @property
    def dt(self) -> float:
        return 1 / self.days

    def paths(self, spot: float, draws: Any) -> Any:
        drift = (self.rate - 0.5 * self.vol**2) * self.dt
        return spot * np.exp(np.cumsum(drift + self.vol * math.sqrt(self.dt) * draws, axis=1))

    def price(self, spot: float, strike: float, barrier: float, draws: Any) -> dict[str, float]:
        """Prices with their standard errors."""
        s = self.paths(spot, draws)
        discount = math.exp(-self.rate * draws.shape[1] * self.dt)
        alive = s.max(axis=1) < barrier
        knocked = discount * np.where(alive, np.maximum(s[:, -1] - strike, 0), 0)
        asian = discount * np.maximum(s.mean(axis=1) - strike, 0)
        error = knocked.std(ddof=1) / np.sqrt(len(s))
        return {"knocked out": float(knocked.mean()), "asian": float(asian.mean()),
                "error": float(error)}  # fmt: skip


def make_market() -> list[Any]:
    return [Market(0.25), 100.0, 98.0, 120.0, np.random.default_rng(1).normal(size=(2000, 60))]


# --- risk of a portfolio: covariances shrunk, einsum, shares that sum to one


PORTFOLIO = SimpleNamespace(shrink=0.1, cap=0.1)


def risk(returns: Any, holdings: Any) -> dict[str, Any]:
    """Volatility and what each asset adds to it."""
    x = returns - returns.mean(axis=0)
    covariance = np.einsum("ti,tj->ij", x, x) / (len(x) - 1)
    spread = np.sqrt(np.diag(covariance))
    mean_correlation = (covariance / np.outer(spread, spread)).mean()
    target = mean_correlation * np.outer(spread, spread)
    covariance = (1 - PORTFOLIO.shrink) * covariance + PORTFOLIO.shrink * target
    share = np.minimum(np.abs(holdings) / np.abs(holdings).sum(), PORTFOLIO.cap)
    share = share / share.sum()
    vol = np.sqrt(share @ covariance @ share)
    return {"vol": vol, "parts": share * (covariance @ share) / vol, "shares": share}


def make_risk() -> list[Any]:
    rng = np.random.default_rng(2)
    return [0.01 * rng.normal(size=(500, 80)), rng.normal(size=80)]


# --- a yield curve: slopes and areas, a bump of each point


def curve(times: Any, zero: Any, bump: float = 1e-4) -> dict[str, Any]:
    """Forward rates, the value of a steady payment, and its slopes by finite differences."""
    forward = zero + times * np.gradient(zero, times)
    value = np.trapezoid(np.exp(-zero * times), times)
    sides = []
    for sign in (1, -1):
        moved = zero + sign * bump * (times > np.median(times))
        sides.append(np.trapezoid(np.exp(-moved * times), times))
    return {"forward": forward, "value": value, "slope": (sides[0] - sides[1]) / (2 * bump),
            "steepest": times[np.argmax(np.diff(zero))]}  # fmt: skip


def make_curve() -> list[Any]:
    t = np.linspace(0.01, 30, 40_000)
    return [t, 0.01 + 0.03 * (1 - np.exp(-t / 7))]


# --- the worst loss from a peak, for many strategies


def drawdown(returns: Any, cost: float = 0.0, *names: str) -> dict[str, Any]:
    """Growth, the worst fall, and how long it lasted, by column."""
    wealth = np.cumprod(1 + returns - cost, axis=0)
    peak = np.maximum.accumulate(wealth, axis=0)
    fall = 1 - wealth / peak
    last = fall.argmax(axis=0)
    first = np.array([wealth[: end + 1, i].argmax() for i, end in enumerate(last)])
    found = {"growth": wealth[-1], "worst": fall.max(axis=0), "days": last - first}
    return found | {name: fall[:, i].mean() for i, name in enumerate(names)}


def make_drawdown() -> list[Any]:
    return [0.01 * np.random.default_rng(3).normal(size=(8000, 5)), 1e-4, "slow", "fast"]


PIECES = [
    Piece(
        "Black-Scholes", "black_scholes", make_options, REPLAYED,
        (put(3, lambda r: 0.05), put(4, lambda v: 0.3), lambda a: a.append(False),
         put(1, lambda k: 100.0), put(2, lambda t: 0.5)),
    ),
    Piece(
        "Monte Carlo", "Market.price", make_market, REPLAYED,
        (put(1, lambda s: 105.0), put(3, lambda b: 1e9), lambda a: setattr(a[0], "vol", 0.4),
         lambda a: setattr(Market, "rate", 0.05), lambda a: setattr(a[0], "days", 365),
         put(4, lambda d: d[:, :30])),
    ),
    Piece(
        "risk of a portfolio", "risk", make_risk, REPLAYED,
        (lambda a: setattr(PORTFOLIO, "shrink", 0.5), put(1, lambda h: h**3),
         lambda a: globals().update(PORTFOLIO=SimpleNamespace(shrink=0.0, cap=0.02)),
         put(0, lambda r: r[:200])),
    ),
    Piece(
        "yield curve", "curve", make_curve, REPLAYED,
        (lambda a: a[1].__iadd__(0.01), lambda a: a.append(1e-3), put(0, lambda t: t**1.1),
         put(0, lambda t: t[:-1])),
    ),
    Piece(
        "drawdown", "drawdown", make_drawdown, REPLAYED,
        (put(1, lambda c: 0.001), put(0, lambda r: r[:4000]), lambda a: a.pop(),
         lambda a: a.extend("abcde")),
        steady=False,
    ),
]  # fmt: skip
