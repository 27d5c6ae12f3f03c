"""Trace: a profile in the format that chrome://tracing and Perfetto read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .profile import Profile

_HOST, _DEVICE = 1, 2
Samples = Sequence[tuple[float, dict[str, float]]]


def save(path: Path, profile: Profile, sensors: Samples = ()) -> None:
    """Write the trace of ``profile`` as JSON."""
    document = {"traceEvents": list(events(profile, sensors)), "displayTimeUnit": "ns"}
    path.write_text(json.dumps(document), encoding="utf-8")


def events(profile: Profile, sensors: Samples = ()) -> Iterable[dict[str, Any]]:
    """The events: names of tracks, spans on the host, launches on the device, curves."""
    device = profile.launches[0].device if profile.launches else "cpu"
    yield _named("process_name", _HOST, 0, "host")
    yield _named("process_name", _DEVICE, 0, f"device: {device}")
    for thread, name in profile.threads.items():
        yield _named("thread_name", _HOST, thread, name)
    for thread in {launch.thread for launch in profile.launches}:
        called = f"kernels of {profile.threads[thread]}" if thread in profile.threads else "stream"
        yield _named("thread_name", _DEVICE, thread, called)

    def at(seconds: float) -> float:
        return round((seconds - profile.began) * 1e6, 3)

    def complete(where: int, thread: int, name: str, begin: float, end: float) -> dict[str, Any]:
        first, last = at(begin), at(end)
        return {"ph": "X", "pid": where, "tid": thread, "name": name, "ts": first,
                "dur": round(max(last - first, 0.0), 3)}  # fmt: skip

    for span in profile.spans:
        title = f"{span.kind} {span.title}"
        yield complete(_HOST, span.thread, title, span.begin, span.end) | {"cat": span.kind}
    for launch in profile.launches:
        step = launch.step
        told = {"kind": step.kind, "bytes": step.bytes, "flops": step.flops, "lines": step.lines}
        event = complete(_DEVICE, launch.thread, step.name, launch.begin, launch.end)
        yield event | {"cat": "kernel", "args": told}
    for seconds, held in sorted(profile.memory):
        yield _curve("memory of runs", at(seconds), {"bytes": held})
    for seconds, figures in sensors:
        for name, value in figures.items():
            yield _curve(name, at(seconds), {name: value})


def _named(kind: str, where: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": where, "tid": thread, "name": kind, "args": {"name": name}}


def _curve(name: str, at: float, figures: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "C", "pid": _HOST, "tid": 0, "name": name, "ts": at, "args": figures}
