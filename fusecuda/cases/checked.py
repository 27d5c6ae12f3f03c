"""Checked programs: some calls are computed a second time, by the interpreter, and compared.

The interpreter has the kernels' bits, so any difference is a fault of a pass, a plan or a kernel.
Arguments are copied before the call. A library's functions are called once, for both ways: what
they round, or draw, is no difference. What was recorded of a function is taken as it is.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..cpu_fallback.interpreted import KERNELS
from ..graph.interpret import CUPY, Meaning, interpret
from ..graph.library import steady
from ..graph.node import Graph
from ..options import dump_folder
from .case import Case, digest, on_host, write_inputs
from .compare import first_difference

Native = Callable[..., list[Any]]


def meaning_of(device: str) -> Meaning:
    """What operations mean on ``device``, as the interpreter computes them."""
    return CUPY if device == "cuda" else KERNELS


def results_of(graph: Graph, results: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """All results of a run, those too that have overwritten an argument."""
    targets = [graph.target(i) for i in range(len(graph.outputs))]
    return [
        result if target is None else arguments[target]
        for result, target in zip(results, targets, strict=True)
    ]


class Checked:
    """A program of which the first and then a share of the calls are compared."""

    def __init__(self, program: Native, case: Case) -> None:
        self.program = program
        self.case = case
        self._share = case.options.check
        self._count = itertools.count()
        self._reported = False

    def __call__(self, arguments: Sequence[Any], lap: Any = None) -> list[Any]:
        """What the program gives; a difference is warned of once."""
        n = next(self._count)
        chosen = math.ceil((n + 1) * self._share) > math.ceil(n * self._share)
        if not chosen or self._reported:
            return self.program(arguments, lap)
        kept = [on_host(a) for a in arguments]
        with steady():
            results = self.program(arguments, lap)
            self._compare(kept, arguments, results)
        return results

    def _compare(
        self, inputs: Sequence[Any], arguments: Sequence[Any], results: Sequence[Any]
    ) -> None:
        graph, device = self.case.graph, self.case.options.device
        try:
            expected = interpret(graph, inputs, meaning_of(device))
        except (IndexError, ValueError):  # of an element that the kernels need not compute
            return
        found = [np.asarray(on_host(r)) for r in results_of(graph, results, arguments)]
        difference = first_difference(graph, found, expected, exact=device == "cpu")
        if difference is None:
            return
        self._reported = True
        path = self._dump(inputs)
        warnings.warn(
            f"{graph.name}: fused and unfused results differ: {difference}; "
            f"look closer with: python -m fusecuda replay --check {path}",
            RuntimeWarning,
            stacklevel=_levels_to_user(),
        )

    def _dump(self, inputs: Sequence[Any]) -> Path:
        folder = Path(dump_folder() or tempfile.mkdtemp(prefix="fusecuda-check-"))
        folder.mkdir(parents=True, exist_ok=True)
        case = replace(self.case, inputs=inputs)
        path = (
            folder / f"{case.graph.name}_{digest(np.frombuffer(case.text.encode(), np.uint8))}.hlo"
        )
        case.write(path)
        return path


def _levels_to_user() -> int:
    """How far above the caller of this function the frames of the user's begin."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    return level


_OURS = (os.path.dirname(os.path.dirname(__file__)) + os.sep, "<fusecuda")


class Kept:
    """A program whose first arguments are written beside the dump of its graph."""

    def __init__(self, program: Native, graph: Graph, path: Path) -> None:
        self.program = program
        self.graph = graph
        self.path = path
        self._first = itertools.count()

    def __call__(self, arguments: Sequence[Any], lap: Any = None) -> list[Any]:
        """What the program gives."""
        if next(self._first):
            return self.program(arguments, lap)
        inputs = [on_host(a) for a in arguments]
        found: list[str] = []
        try:
            results = self.program(arguments, lap)
            found = [digest(on_host(r)) for r in results_of(self.graph, results, arguments)]
        finally:  # what fails is wanted most
            write_inputs(self.path, self.graph, inputs, found)
        return results
