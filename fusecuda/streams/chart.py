"""Charts: a timeline as text and as SVG: lanes, what waits for what, and times if there are any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..words import counted
from .timeline import RECORD, RUN, WAIT, Timeline

BEGIN = -1  # as a step: what came before the call
Times = Sequence[tuple[float, float]]  # start and end of each step, microseconds
_WIDTH, _LEFT, _TOP, _LANE, _BAR = 900, 70, 26, 46, 26
_LETTER = 6.4
_STYLE = (
    "text{font:11px ui-monospace,monospace;fill:currentColor}"
    "rect{stroke:none}.loop{fill:#2f6fde}.reduction{fill:#b4580f}.library{fill:#5b6472}"
    "rect+text{fill:#fff}path{fill:none;stroke:currentColor;opacity:.6}"
    "line{stroke:currentColor;opacity:.25}"
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One step: where it runs, the steps whose events its lane waits for before, and when."""

    step: int
    lane: int
    name: str
    kind: str
    waits: tuple[int, ...]
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """What `Executable.timeline` shows; ``str()`` gives text, `svg` a drawing.

    ``ends`` are the steps that the user's stream waits for at the end.
    """

    title: str
    bars: tuple[Bar, ...]
    ends: tuple[int, ...]
    lanes: int
    events: int
    note: str

    @property
    def entries(self) -> list[dict[str, Any]]:
        """One dictionary for each step: its lane, name, the steps that it waits for, and times.

        Among those is the one before it on its lane; times are microseconds, or None.
        """
        found: list[dict[str, Any]] = []
        last: dict[int, int] = {}
        for bar in self.bars:
            waits = [s for s in bar.waits if s != BEGIN]
            waits += [last[bar.lane]] if bar.lane in last else []
            last[bar.lane] = bar.step
            entry = {"step": bar.step, "lane": bar.lane, "name": bar.name, "waits": sorted(waits)}
            found.append(entry | {"start": bar.start, "end": bar.end})
        return found

    def __str__(self) -> str:
        end = max((b.end for b in self.bars if b.end is not None), default=None)
        lasts = "" if end is None else f", {end:,.1f} µs"
        size = (
            f"{counted(len(self.bars), 'step')} on {counted(self.lanes, 'lane')}, "
            f"{counted(self.events, 'event')}{lasts}"
        )
        lines = [f"{self.title}: {size}"]
        lines += [f"  {self.note}"] if self.note else []
        for bar in self.bars:
            when = ""
            if bar.start is not None and bar.end is not None:
                when = f"{bar.start:9,.1f} {bar.end - bar.start:8,.1f} µs  "
            waits = f"  waits for {_named(bar.waits)}" if bar.waits else ""
            lines.append(f"  lane {bar.lane}  {when}{bar.step:3} {bar.name}{waits}")
        lines += [f"  lane 0  waits for {_named(self.ends)} at the end"] if self.ends else []
        return "\n".join(lines) + "\n"

    def svg(self) -> str:
        """SVG text: a row for each lane, bars as long as steps take, waits as curves."""
        known = all(b.start is not None for b in self.bars) and bool(self.bars)
        spans = {
            b.step: (b.start or 0.0, b.end or 0.0) if known else (float(i), i + 1.0)
            for i, b in enumerate(self.bars)
        }
        end = max((e for _, e in spans.values()), default=1.0) or 1.0
        scale = (_WIDTH - _LEFT - 10) / end
        place = {b.step: _Place(b, *spans[b.step], scale) for b in self.bars}
        height = _TOP + self.lanes * _LANE + 20
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" role="img" aria-label="timeline of {escape(self.title)}">',
            f"<style>{_STYLE}</style>",
            f'<text x="4" y="14">{escape(self.title)}: {escape(self.note)}</text>',
        ]
        parts += [_lane_svg(lane) for lane in range(self.lanes)]
        parts += [place[b.step].svg() for b in self.bars]
        parts += [
            place[s].wait_svg(place[b.step]) for b in self.bars for s in b.waits if s != BEGIN
        ]
        if known:
            parts.append(f'<text x="{_LEFT}" y="{height - 6}">0</text>')
            at, text = _WIDTH - 10, f"{end:,.1f} µs"
            parts.append(f'<text x="{at}" y="{height - 6}" text-anchor="end">{text}</text>')
        return "\n".join([*parts, "</svg>"])

    def _repr_svg_(self) -> str:
        return self.svg()


class _Place:
    """Where a bar is drawn."""

    def __init__(self, bar: Bar, start: float, end: float, scale: float) -> None:
        self.bar = bar
        self.left = _LEFT + start * scale
        self.width = max(1.0, (end - start) * scale - 1)
        self.top = _TOP + bar.lane * _LANE

    def svg(self) -> str:
        bar = self.bar
        kind = bar.kind if bar.kind in ("loop", "library") else "reduction"
        told = f"{bar.step} {bar.name}, lane {bar.lane}"
        if bar.start is not None and bar.end is not None:
            told += f", {bar.start:.1f} to {bar.end:.1f} µs"
        shown = f"{bar.step} {bar.name}"[: max(0, int((self.width - 6) / _LETTER))]
        return (
            f'<g><title>{escape(told)}</title><rect class="{kind}" x="{self.left:.1f}" '
            f'y="{self.top}" width="{self.width:.1f}" height="{_BAR}" rx="3"/>'
            f'<text x="{self.left + 4:.1f}" y="{self.top + 17}">{escape(shown)}</text></g>'
        )

    def wait_svg(self, then: _Place) -> str:
        """The curve from the end of this bar to the start of ``then``."""
        x, y = self.left + self.width, self.top + _BAR / 2
        to, down = then.left, then.top + _BAR / 2
        bend = max(8.0, (to - x) / 2)
        return f'<path d="M{x:.1f} {y}C{x + bend:.1f} {y} {to - bend:.1f} {down} {to:.1f} {down}"/>'


def chart(
    title: str,
    timeline: Timeline,
    labels: Sequence[tuple[str, str]],
    times: Times | None,
    note: str,
) -> Chart:
    """The chart of ``timeline``, whose steps have ``labels``: name and kind."""
    bars: list[Bar] = []
    marks: dict[int, int] = {}  # event -> the step that it marks the end of
    last: dict[int, int] = {}
    waited: dict[int, list[int]] = {}
    for kind, lane, number in timeline.commands:
        if kind == RECORD:
            marks[number] = last.get(lane, BEGIN)
        elif kind == WAIT:
            waited.setdefault(lane, []).append(marks[number])
        elif kind == RUN:
            last[lane] = number
            when = times[number] if times else (None, None)
            bars.append(Bar(number, lane, *labels[number], tuple(waited.pop(lane, ())), *when))
    ends = tuple(waited.get(0, ()))
    return Chart(title, tuple(bars), ends, timeline.lanes, timeline.events, note)


def _lane_svg(lane: int) -> str:
    middle = _TOP + lane * _LANE + _BAR / 2
    return (
        f'<text x="4" y="{middle + 4}">lane {lane}</text>'
        f'<line x1="{_LEFT}" y1="{middle}" x2="{_WIDTH - 10}" y2="{middle}"/>'
    )


def _named(steps: Sequence[int]) -> str:
    return ", ".join("the beginning" if s == BEGIN else str(s) for s in sorted(steps))
