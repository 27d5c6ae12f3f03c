"""Flights of regions: what was pending, and the tape that may know how it was computed before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..record.flight import Flight, Job, recording
from .step_maker import Learner
from .steps import End
from .tape import Tape


class CupyFlight(Flight):
    """A flight with the ``tape`` of its recording, ``known`` if that went so before."""

    tape: Tape | None = None
    known: End | None = None
    arguments: Sequence[Any] = ()  # for the executable that is known

    def as_before(
        self, run: Callable[[Any, Any], Sequence[Any]], keep: Callable[[Job, Any], None]
    ) -> bool:
        """True if the executable that is known has computed it, or may have written something.

        Else there are nodes in the jobs to compute them from.
        """
        end, tape = self.known, self.tape
        if end is None or tape is None:
            return False
        self.wait_for_earlier()
        assert end.executable is not None
        try:
            results = run(end.executable, self.arguments)
        except Exception as error:
            if end.executable.written:
                for job in self.jobs:
                    job.error = error
                return True
            with recording:  # nothing from before has been written to
                nodes, _ = tape.nodes(Learner(tape))
            for job, number in zip(self.jobs, end.outputs, strict=True):
                job.node = nodes[number]
            return False
        self.ran.append(end.executable)
        for job, result in zip(self.jobs, results, strict=True):
            keep(job, result)
        return True

    def end(self) -> None:
        if self.tape is not None:
            self.tape.end()
            self.tape = None
        super().end()
