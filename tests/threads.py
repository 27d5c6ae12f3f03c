"""Threads that are held up, and threads that give way as often as they can."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from fusecuda.capture.record import flight, plans
from fusecuda.engine import Executable

PATIENCE = 60  # seconds, after which a test fails that would else hang
Started = tuple[threading.Thread, list[Any]]


class Gate:
    """Holds up one thread that goes through it, until it is opened."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.opened = threading.Event()
        self.held: threading.Thread | None = None

    def hold(self) -> None:
        if threading.current_thread() is self.held:
            self.arrived.set()
            assert self.opened.wait(PATIENCE)


def gate_before(name: str, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A gate before kernels ("run"), the compiler ("_compile") or the planner ("build")."""
    gate = Gate()
    owner: Any = plans if name == "build" else Executable
    original = getattr(owner, name)

    def slow(*args: Any) -> Any:
        gate.hold()
        return original(*args)

    monkeypatch.setattr(owner, name, slow)
    plans.forget()
    return gate


@pytest.fixture(name="gate", params=["run", "_compile", "build"])
def gates(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """A gate of each kind."""
    made = gate_before(request.param, monkeypatch)
    yield made
    made.opened.set()


def delays(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Let plans and kernels take now and then longer, before and after their work."""
    draw = random.Random(seed).random

    def delayed(original: Callable[..., Any]) -> Callable[..., Any]:
        def slow(*args: Any) -> Any:
            for call in (original, None):
                if draw() < 0.3:
                    time.sleep(draw() * 0.003)
                if call is not None:
                    result = call(*args)
            return result

        return slow

    at: list[tuple[Any, str]] = [(Executable, "run"), (Executable, "_compile"), (plans, "build")]
    for owner, name in at:
        monkeypatch.setattr(owner, name, delayed(getattr(owner, name)))
    plans.forget()


def started(work: Callable[[], Any], gate: Gate | None = None) -> Started:
    """A thread that works, until it is held up, and what it comes to."""
    found: list[Any] = []

    def body() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=body, daemon=True)
    if gate is not None:
        gate.held = thread
    thread.start()
    if gate is not None:
        assert gate.arrived.wait(PATIENCE), found
    return thread, found


def ended(thread: threading.Thread, found: list[Any]) -> Any:
    """What the work of a thread has come to; fails if it hangs."""
    thread.join(10 * PATIENCE)
    assert not thread.is_alive(), "the thread hangs"
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def settled(*threads: Started) -> None:
    """Return when each of the threads has ended or waits for what another one computes."""
    end = time.monotonic() + PATIENCE
    for thread, found in threads:
        while thread.is_alive() and thread.ident not in flight._waiting:
            assert time.monotonic() < end, found
            thread.join(0.001)


def in_time(work: Callable[[], Any]) -> Any:
    """What ``work`` returns in a thread of its own; fails if it hangs."""
    thread, found = started(work)
    thread.join(PATIENCE)
    return ended(thread, found) if found else pytest.fail("the thread hangs")


def at_once(works: Iterable[Callable[[], Any]]) -> None:
    """Each in a thread of its own, which gives way as often as it can; all end before one fails."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [started(work) for work in works]
        for thread, _ in threads:
            thread.join(10 * PATIENCE)
        for thread in threads:
            ended(*thread)
    finally:
        sys.setswitchinterval(interval)
    assert not flight._flights and not flight._waiting
