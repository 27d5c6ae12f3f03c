"""Trace: a profile in the format that chrome://tracing and Perfetto read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .profile import Profile

_HOST = 1  # its number among the processes; those of devices follow
Samples = Sequence[tuple[float, dict[str, float]]]


def save(path: Path, profile: Profile, sensors: Samples = ()) -> None:
    """Write the trace of ``profile`` as JSON, an event a line."""
    lines = ",\n".join(json.dumps(event) for event in events(profile, sensors))
    path.write_text(f'{{"displayTimeUnit": "ns", "traceEvents": [\n{lines}\n]}}\n', "utf-8")


def events(profile: Profile, sensors: Samples = ()) -> Iterable[dict[str, Any]]:
    """The events: names of tracks, spans on the host, launches on the device, curves."""
    yield _named("process_name", _HOST, _HOST, "host")
    for thread, name in profile.threads.items():
        yield _named("thread_name", _HOST, thread, name)
    used = dict.fromkeys(launch.device for launch in profile.launches)
    devices = {device: number for number, device in enumerate(used, _HOST + 1)}
    for device, number in devices.items():
        yield _named("process_name", number, number, f"device: {device}")
    tracks = {(devices[launch.device], launch.thread) for launch in profile.launches}
    for number, thread in sorted(tracks):
        called = f"kernels of {profile.threads[thread]}" if thread else "stream"
        yield _named("thread_name", number, thread or number, called)

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
        number = devices[launch.device]  # a stream's thread is the main one: 0 is the idle one
        event = complete(number, launch.thread or number, step.name, launch.begin, launch.end)
        yield event | {"cat": "kernel", "args": told}
    held = 0
    for seconds, change in sorted(profile.memory):
        held += change
        yield _curve("memory of runs", at(seconds), {"bytes": held})
    for seconds, figures in sensors:
        for name, value in figures.items():
            yield _curve(name, at(seconds), {name: value})


def _named(kind: str, where: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": where, "tid": thread, "name": kind, "args": {"name": name}}


def _curve(name: str, at: float, figures: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "C", "pid": _HOST, "tid": _HOST, "name": name, "ts": at, "args": figures}
