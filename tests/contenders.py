"""Stands for the contenders of ``bench``: asked as processes are, and answering here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fusecuda.tools.bench import peers
from fusecuda.tools.bench.peers import Way
from fusecuda.tools.bench.worker import Worker
from fusecuda.tools.programs.program import Program

Make = Callable[[Program, str, int], Way]


class Here:
    """Stands for a contender's process: the same requests, answered in this one."""

    def __init__(self, name: str, device: str, way: Make | None = None) -> None:
        peer = peers.named(name)
        self.worker = Worker(replace(peer, way=way) if way else peer, device, 1)
        self.is_alive = True

    def send(self, **request: Any) -> None:
        self.sent = json.dumps(request)

    def answer(self, limit: float = 0.0) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(json.dumps(self.worker.answer(json.loads(self.sent))))
        return answer

    def close(self) -> None:
        self.is_alive = False


def starting(**ways: Make) -> Any:
    """What starts contenders here, some of them with other ways."""
    return lambda name, device, threads: Here(name, device, ways.get(name))


def off_by(amount: float, after: int = 0) -> Make:
    """A way whose results are off by ``amount``, after so many right calls."""

    def way(program: Program, device: str, threads: int) -> Way:
        plain, calls = program.make(np), []

        def call(*args: Any) -> Any:
            calls.append(args)
            return plain(*args) + amount * (len(calls) > after)

        return Way(call)

    return way


def explained(make: Make) -> Make:
    """A way whose call says of itself what a fused function does."""

    class Call:
        def __init__(self, call: Any) -> None:
            self.call = call

        def __call__(self, *args: Any) -> Any:
            return self.call(*args)

        def explain(self) -> str:
            return "replayed"

    return lambda *what: Way(Call(make(*what).call))
