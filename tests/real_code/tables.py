"""Tables of measurements: groups, ranks, masks, gaps, dates, names."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tests.real_code.piece import ANEW, REPLAYED, UNFUSED, Piece, put


def measurements(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).gamma(2.0, 3.0, n)


# --- group statistics by bincount, as a dataclass


@dataclass
class Groups:
    count: Any
    mean: Any
    deviation: Any
    largest: int


def group_statistics(values: Any, group: Any, count: int) -> Groups:
    """Mean and deviation of each group."""
    n = np.bincount(group, minlength=count)
    safe = np.maximum(n, 1)
    mean = np.bincount(group, weights=values, minlength=count) / safe
    squares = np.bincount(group, weights=(values - mean[group]) ** 2, minlength=count)
    return Groups(n, mean, np.sqrt(squares / safe), int(n.argmax()))


def make_groups() -> list[Any]:
    return [measurements(60_000), np.random.default_rng(1).integers(0, 50, 60_000), 50]


# --- outliers: percentiles, a fence, both tails counted


def winsorise(x: Any, low: float = 1, high: float = 99, *, axis: int | None = None) -> Any:
    """Values within the percentiles, standardised, and how many were outside."""
    a, b = np.percentile(x, [low, high], axis=axis, keepdims=axis is not None)
    outside = (x < a).sum() + (x > b).sum()
    y = np.clip(x, a, b)
    return (y - y.mean(axis=axis, keepdims=True)) / y.std(axis=axis, keepdims=True), outside


# --- ranks with ties, and Spearman's correlation


def ranks(x: Any) -> Any:
    order = np.argsort(x, kind="stable")
    place = np.empty(len(x))
    place[order] = np.arange(1, len(x) + 1)
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    return np.bincount(inverse, weights=place)[inverse] / counts[inverse]


def spearman(x: Any, y: Any) -> float:
    a, b = ranks(x), ranks(y)
    a -= a.mean()
    b -= b.mean()
    return float((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()))


def make_spearman() -> list[Any]:
    x = np.round(measurements(20_000), 1)
    return [x, np.round(x + measurements(20_000, 5), 1)]


# --- gaps: NaN replaced in place, smoothed by cumulated sums


def fill_gaps(series: Any, width: int = 25) -> dict[str, Any]:
    """Counts of what was missing; the series is mended in place."""
    missing = np.isnan(series)
    middle = np.nanmean(series)
    np.nan_to_num(series, copy=False, nan=middle, posinf=1e6)
    total = np.cumsum(np.pad(series, (1, 0)))
    smooth = (total[width:] - total[:-width]) / width
    share = missing.mean()
    return {"smooth": smooth, "missing": int(missing.sum()), "share": round(share, 3),
            "middle": middle.item()}  # fmt: skip


def make_gaps() -> list[Any]:
    x = measurements(50_000)
    x[::97] = np.nan
    return [x]


# --- names: masks from an array of strings


def revenue(amount: Any, region: Any, rates: dict[str, float]) -> dict[str, Any]:
    """What each region earns, and everything in one currency."""
    converted = np.zeros_like(amount)
    totals = {}
    for name, rate in rates.items():
        mine = region == name
        converted[mine] = amount[mine] * rate
        totals[name] = (np.where(mine, amount, 0) * rate).sum()
    return {"totals": totals, "converted": converted, "north": (region == "north").sum()}


def make_revenue() -> list[Any]:
    region = np.random.default_rng(2).choice(np.array(["north", "south", "west"]), 40_000)
    return [measurements(40_000), region, {"north": 1.0, "south": 0.5}]


# --- codes: strings and days as plain arguments, compared with constants


def surcharge(price: Any, code: Any, day: Any) -> Any:
    """Prices with what is added for express parcels and for those before the new year."""
    factor = np.where(code == "express", 1.5, 1.0) * np.where(code != "free", 1.0, 0.0)
    late = (day >= np.datetime64("2025-01-01")) | (price == None)  # noqa: E711 - some do
    return price * factor + 2.5 * ~late


def make_surcharge() -> list[Any]:
    code = np.random.default_rng(3).choice(np.array(["express", "slow", "free"]), 40_000)
    return [measurements(40_000), code, np.datetime64("2024-12-01") + np.arange(40_000) % 60]


# --- dates: masks and differences of days


def monthly(values: Any, days: Any, since: Any) -> tuple[Any, Any, Any]:
    """Means by month, the days since a date, and weights that fade with age."""
    month = days.astype("datetime64[M]").astype(int) % 12
    late = days >= np.datetime64(since)
    age = (days.max() - days) / np.timedelta64(1, "D")
    weight = np.where(late, np.exp2(-age / 30), 0)
    sums = np.bincount(month, weights=values * weight, minlength=12)
    return sums, (days - days[0])[late], weight.sum()


def make_monthly() -> list[Any]:
    days = np.datetime64("2024-01-01") + np.arange(40_000) % 700
    return [measurements(40_000), days, datetime.date(2024, 6, 1)]


# --- a report: blocks by split, an outer table, a nested dict with texts and plain numbers


@dataclass(frozen=True)
class Line:
    block: int
    mean: float
    spread: float


def report(x: Any, blocks: int) -> dict[str, Any]:
    """Figures that can go to JSON."""
    lines = []
    for i, part in enumerate(np.split(x, blocks)):
        middle = part.mean()
        lines.append(Line(i, round(float(middle), 6), (part - middle).std().item()))
    means = np.array([line.mean for line in lines])
    table = np.outer(means, 1 / means)
    best = max(lines, key=lambda line: line.mean)
    return {
        "lines": [asdict(line) for line in lines],
        "table": table.round(4).tolist(),
        "best": best.block,
        "text": f"{len(lines)} blocks, best {best.mean:.4f}",
    }


PIECES = [
    Piece(
        "group statistics", "group_statistics", make_groups, REPLAYED,
        (lambda a: a[0].__imul__(2), put(2, lambda n: 60), put(1, lambda g: g % 7),
         put(1, lambda g: g - 5)),
    ),
    Piece(
        "outliers", "winsorise", lambda: [measurements(60_000).reshape(300, 200), None], REPLAYED,
        (put(1, lambda axis: 0), put(1, lambda axis: 1), put(0, lambda x: -x)),
        keywords=("axis",),
    ),
    Piece(
        "ranks", "spearman", make_spearman, ANEW,
        (put(1, lambda y: y[::-1]), put(0, lambda x: -x), put(0, lambda x: x[:-1])),
    ),
    Piece(
        "gaps", "fill_gaps", make_gaps, REPLAYED,
        (lambda a: a[0].__setitem__(slice(None, None, 50), np.nan), lambda a: a.append(9),
         lambda a: a[0].__setitem__(3, np.inf), put(0, lambda x: x[:1000])),
    ),
    Piece(
        "names of regions", "revenue", make_revenue, UNFUSED,
        (lambda a: a[2].update(west=2.0), lambda a: a[2].pop("north"),
         lambda a: a[1].__setitem__(slice(0, 100), "south")),
    ),
    Piece(
        "codes and days", "surcharge", make_surcharge, UNFUSED,
        (lambda a: a[1].__setitem__(slice(0, 500), "express"), put(0, lambda x: 2 * x),
         put(2, lambda d: d + np.timedelta64(20, "D"))),
    ),
    Piece(
        "dates", "monthly", make_monthly, UNFUSED,
        (put(2, lambda d: datetime.date(2025, 1, 1)), put(1, lambda d: d + np.timedelta64(40, "D")),
         put(2, lambda d: "not a date")),
    ),
    Piece(
        "report of blocks", "report", lambda: [measurements(60_000), 6], REPLAYED,
        (put(0, lambda x: x * 2), put(1, lambda n: 4), put(1, lambda n: 7)), steady=False,
    ),
]  # fmt: skip
