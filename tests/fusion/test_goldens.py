"""Goldens: the emitted C of the named programs, as one would read it.

Each golden text is also compiled and run by tests/fusion/test_launches.py, which checks its values.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fusecuda as fc
from tests.programs import PROGRAMS, Program


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_emitted_c(program: Program, golden: Callable[[str, str], None]) -> None:
    """The sources and the explanation of a program are what they were."""
    arguments = program.arguments(np.random.default_rng(0), 64, 96)
    executable = fc.lower(program.function, *arguments)
    text = executable.explain(full=True) + "\n" + "\n".join(executable.emit("c"))
    golden(f"{program.name}.c", text)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_names_and_texts_do_not_depend_on_history(program: Program) -> None:
    """Lowering twice gives the same text: nothing is numbered across kernels."""
    arguments = program.arguments(np.random.default_rng(0), 64, 96)
    texts = {"\n".join(fc.lower(program.function, *arguments).emit("c")) for _ in range(2)}
    assert len(texts) == 1
