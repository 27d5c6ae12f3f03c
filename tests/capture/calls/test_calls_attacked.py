"""Programs that fused functions once got wrong: each runs side by side with its plain twin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacked import constants, containers, hidden, numpys, objects, reached, variables
from tests.fuzz_calls import failure, written
from tests.marks import one_in
from tests.side_by_side import run


@pytest.fixture(autouse=True)
def no_trials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Calls are replayed, however fast the plain ones are."""
    monkeypatch.setattr("fusecuda.capture.record.rest.Trial.wants_plain", property(lambda s: False))
    monkeypatch.setattr("fusecuda.capture.record.rest.Trial.took", lambda *args, **kwargs: None)
    return


PROGRAMS = {
    **objects.PROGRAMS,
    **variables.PROGRAMS,
    **containers.PROGRAMS,
    **reached.PROGRAMS,
    **constants.PROGRAMS,
    **hidden.PROGRAMS,
    **numpys.PROGRAMS,
}


@pytest.mark.parametrize("name", PROGRAMS)
@one_in(18)
def test_is_as_plain(name: str) -> None:
    """Results, arguments, globals and objects are those of the plain function after each call."""
    program, steps = PROGRAMS[name]
    texts: list[str] = []
    for line in steps.strip().splitlines():
        count, _, text = line.partition(" ") if line.startswith("*") else ("*1", "", line)
        texts += [text] * int(count[1:])
    run(program, texts)


@pytest.mark.parametrize("first", range(0, 40, 5))
@pytest.mark.filterwarnings("ignore")
@one_in(32)
def test_random_programs(first: int) -> None:
    """Random programs are as plain ones are."""
    for seed in range(first, first + 5):
        assert not failure(*written(seed)), seed


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1300, 100))
@pytest.mark.filterwarnings("ignore")
def test_many_random_programs(first: int) -> None:
    """More of them."""
    for seed in range(first, first + 100):
        assert not failure(*written(seed)), seed
