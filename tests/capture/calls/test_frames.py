"""Blocks in frames: variables with and without a value, loops, closures, calls and ways out."""

from __future__ import annotations

import pytest

from fusecuda.capture.calls import block_sites
from fusecuda.capture.record.rest import Trial
from tests import programs_of_frames
from tests.fuzz_calls import failure
from tests.marks import one_in
from tests.side_by_side import run


@pytest.fixture(autouse=True)
def always_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No measurement decides that a block is left as it is."""
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))
    block_sites.sites.clear()


def test_variables_without_a_value_are_no_globals() -> None:
    """A function's own variable has an error of its own, whatever the module calls by its name."""
    program = """
G = np.arange(6.0)
LOG = []
def f(a, late, abs=abs):
    for i in range(6):
        with block():
            r = a + 1
            b = a * G if i > 3 or late else a
        if i == 4:
            G = b
    return r, b
"""
    run(program, ["x = np.arange(6.0)", "r = f(x, True)", "r = f(x, False)", "r = f(x, True)"])


def test_variables_of_functions_around_without_a_value() -> None:
    """The error of one of a function around tells so."""
    program = """
H = np.ones(6)
LOG = []
def f(a):
    def inner():
        for i in range(6):
            try:
                with block():
                    b = a + 1
                    print(end='')
                    c = b * H
            except NameError as error:
                LOG.append(str(error))
        return b
    r = inner()
    H = a
    return r, inner()
"""
    run(program, ["x = np.arange(6.0)", "r = f(x)", "r = f(x)"])


def test_a_global_beside_a_comprehension_of_its_name() -> None:
    """Where a comprehension has a variable of a name, the global of that name is read beside it."""
    program = """
G = np.arange(6.0)
def f(a):
    for i in range(6):
        every = [G for G in (1, 2)]
        with block():
            b = a * G + every[0]
    return b
"""
    run(program, ["x = np.arange(6.0)", "r = f(x)", "r = f(x)"])


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.filterwarnings("ignore")
@one_in(16)
def test_random_frames(seed: int) -> None:
    """Random functions with blocks do what they do without them."""
    program, steps = programs_of_frames.written(seed)
    assert not failure(program, steps), program
