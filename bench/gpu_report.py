"""The device benchmark as Markdown and as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .gpu_measure import OURS

Row = Mapping[str, Any]
MIB = 1 << 20


def markdown(report: Mapping[str, Any]) -> str:
    """The whole report."""
    rows = report["rows"]
    lines = ["# GPU benchmark", ""]
    lines += [f"- {name}: {value}" for name, value in report["facts"].items()]
    lines += [
        "",
        "Figures are medians (interquartile range, number of samples), measured in one run.",
    ]
    lines += [
        "Before each sample a scratch of 256 MB is read, outside the clock. Events are recorded",
        "while a kernel holds the stream, so they show the device's time without the host's. JAX",
        "has streams of its own: it is compared by the host's clock, from the call until its end.",
        "",
    ]
    lines += checks(report["checks"])
    ceilings = ceilings_of(rows)
    lines += ["## Ceilings", "", *ceiling_table(rows), ""]
    lines += ["## Bandwidth, by CUDA events", "", *bandwidth_table(rows, ceilings), ""]
    lines += ["## Against others", "", *rival_table(rows), "", *summary(rows), ""]
    lines += ["## CUDA graphs and streams, on and off", "", *switch_table(rows), ""]
    lines += ["## Compile times", "", *compile_table(rows), ""]
    lines += ["## Host time of a warm call", "", *host_table(rows), ""]
    lines += ["## Not measured, left out or failed", "", *gaps(rows)]
    return "\n".join(lines) + "\n"


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(['---'] * len(head))}|"]
    shown = [f"| {' | '.join(cells)} |" for cells in body]
    return [*lines, *shown] if shown else ["not measured"]


def time_of(figures: Mapping[str, Any] | None) -> str:
    """A median with its interquartile range and number of samples."""
    if figures is None:
        return "–"
    return f"{1e6 * figures['median']:.1f} µs ({1e6 * figures['iqr']:.1f}, {figures['samples']})"


def size_of(row: Row) -> str:
    """The bytes of the first argument."""
    return f"{row['size'] / MIB:g} MiB"


def _section(rows: Iterable[Row], name: str) -> list[Row]:
    return sorted((r for r in rows if r["section"] == name), key=lambda r: r["size"])


# --- sections


def checks(outcomes: Mapping[str, Any]) -> list[str]:
    """What the tests and compute-sanitizer came to, with their output where they failed."""
    lines = ["## Checks", ""]
    for name, found in outcomes.items():
        text = found.get("output", [])
        last = f" ({text[-1].strip('= ')})" if len(text) == 1 else ""
        lines.append(f"- {name}: {found['outcome']}{last}")
        if len(text) > 1:
            lines += ["", "```", *text, "```", ""]
    return [*lines, ""]


def ceilings_of(rows: Iterable[Row]) -> dict[tuple[str, int], float]:
    """Bytes a second of the best hand-written kernel of each kind at each size."""
    best: dict[tuple[str, int], float] = {}
    for row in _section(rows, "ceilings"):
        for kernel in row.get("kernels", {}).values():
            key = kernel["kind"], row["size"]
            best[key] = max(best.get(key, 0.0), kernel["moved"] / kernel["median"])
    return best


def ceiling_table(rows: Iterable[Row]) -> list[str]:
    """The hand-written kernels."""
    body = [
        [name, k["kind"], size_of(row), time_of(k), f"{k['moved'] / k['median'] / 1e9:.0f}"]
        for row in _section(rows, "ceilings")
        for name, k in row.get("kernels", {}).items()
    ]
    return table(["kernel", "ceiling of", "size", "time", "GB/s"], body)


def share(row: Row, ceilings: Mapping[tuple[str, int], float], name: str = OURS) -> float | None:
    """The bandwidth that ``name`` reaches as a fraction of the ceiling, or None."""
    ceiling = ceilings.get((row.get("ceiling", ""), row["size"]))
    figures = row.get("events", {}).get(name)
    if ceiling is None or figures is None:
        return None
    return float(row["moved"] / figures["median"] / ceiling)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def bandwidth_table(rows: Iterable[Row], ceilings: Mapping[tuple[str, int], float]) -> list[str]:
    """Each fusion kind: time, bandwidth, fraction of the ceiling; CuPy beside it."""
    body = []
    for row in _section(rows, "table"):
        ours = row.get("events", {}).get(OURS)
        speed = f"{row['moved'] / ours['median'] / 1e9:.0f}" if ours else "–"
        if "unmeasured" in row:
            speed = "not measured"
        elif not ours:
            speed = "failed"
        body.append(
            [row["case"], row["dtype"], size_of(row), str(row.get("launches") or "–"),
             time_of(ours), speed, row.get("ceiling", "–"), _percent(share(row, ceilings)),
             time_of(row.get("events", {}).get("CuPy"))]
        )  # fmt: skip
    head = ["program", "dtype", "size", "launches", OURS, "GB/s", "ceiling", "of it", "CuPy"]
    return table(head, body)


def _names(rows: Iterable[Row], field: str) -> list[str]:
    """All that have figures, ours first."""
    found = dict.fromkeys(name for row in rows for name in row.get(field, {}))
    return sorted(found, key=lambda name: name != OURS)


def rival_table(rows: Iterable[Row]) -> list[str]:
    """Times by events and by the host's clock, in which also JAX takes part."""
    chosen = _section(rows, "rivals")
    events, wall = _names(chosen, "events"), _names(chosen, "wall")
    body = [
        [row["case"], row["dtype"], size_of(row),
         *(time_of(row.get("events", {}).get(name)) for name in events),
         *(time_of(row.get("wall", {}).get(name)) for name in wall)]
        for row in chosen if "wall" in row
    ]  # fmt: skip
    head = ["program", "dtype", "size", *(f"{n}, events" for n in events)]
    return table([*head, *(f"{n}, call and wait" for n in wall)], body)


def ratios(rows: Iterable[Row], field: str, rival: str) -> list[float]:
    """How many times as long as ours ``rival`` takes, for each row that has both."""
    both = (r.get(field, {}) for r in _section(rows, "rivals"))
    return [f[rival]["median"] / f[OURS]["median"] for f in both if rival in f and OURS in f]


def summary(rows: Sequence[Row]) -> list[str]:
    """Geometric means against each rival, and the worst."""
    lines = []
    for field, text in (("events", "by events"), ("wall", "call and wait")):
        for rival in _names(_section(rows, "rivals"), field)[1:]:
            found = ratios(rows, field, rival)
            if found:
                mean = math.exp(sum(map(math.log, found)) / len(found))
                shown = f"geometric mean of {len(found)}, least {min(found):.2f}"
                lines.append(f"- {rival}, {text}: {mean:.2f} times as long as {OURS} ({shown})")
    return lines


def switch_table(rows: Iterable[Row]) -> list[str]:
    """Programs of several launches: the device's time, and from the call until its end."""
    body = [
        [row["case"], size_of(row), str(row.get("launches") or "–"), name,
         time_of(row["events"].get(name)), time_of(row["wall"].get(name))]
        for row in _section(rows, "switches")
        for name in _names([row], "wall")
    ]  # fmt: skip
    return table(["program", "size", "launches", "switches", "events", "call and wait"], body)


def compile_table(rows: Iterable[Row]) -> list[str]:
    """Planning, first and second call, with an empty cache and from disk."""
    body = [
        [row["case"], state, *(time_of(phases[n]) for n in ("plan", "first call", "second call"))]
        for row in _section(rows, "compile")
        for state, phases in row.get("phases", {}).items()
    ]
    return table(["program", "kernels", "plan", "first call", "second call"], body)


def host_table(rows: Iterable[Row]) -> list[str]:
    """The host's time for one call, nothing waited for."""
    chosen = _section(rows, "host")
    names = _names(chosen, "host")
    body = [
        [row["case"], size_of(row), *(time_of(row["host"].get(name)) for name in names)]
        for row in chosen if "host" in row
    ]  # fmt: skip
    return table(["program", "size", *names], body)


def gaps(rows: Iterable[Row]) -> list[str]:
    """Every row without figures, and every contender left out, with the reason."""
    lines = [
        f"- {row['key']}: {row.get('error') or row['unmeasured']}"
        for row in rows if "error" in row or "unmeasured" in row
    ]  # fmt: skip
    for row in rows:
        lines += [f"- {row['key']}, {name}: {why}" for name, why in row.get("missing", {}).items()]
    return lines or ["- nothing"]
