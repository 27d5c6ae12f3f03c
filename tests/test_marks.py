"""Of many alike a few run by default, and each that is asked for."""

from __future__ import annotations

import pytest

from tests.conftest import PACKAGE, is_ours
from tests.marks import one_in, sample


def marked(request: pytest.FixtureRequest) -> list[pytest.Function]:
    """The items of a test with a hundred parameters."""
    items = [
        pytest.Function.from_parent(request.node.parent, name=f"test_x[{i}]", callobj=lambda: None)
        for i in range(100)
    ]
    for item in items:
        item.add_marker(one_in(5))
    return items


@pytest.mark.parametrize("asked", [False, True])
def test_a_part_of_the_parameters_runs(
    asked: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first, about one in five of all, each value of a short period; and what is asked for."""
    monkeypatch.delenv("FUSECUDA_TEST_MORE", raising=False)
    items = marked(request)
    second = items[1].nodeid
    sample(items, [second] * asked)
    run = [i for i, item in enumerate(items) if not item.get_closest_marker("slow")]
    assert run[0] == 0 and 18 <= len(run) <= 22
    assert {i % 4 for i in run} == {0, 1, 2, 3}
    assert (1 in run) == asked


def test_turns_part_what_is_left_out(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has one turn, whatever other tests there are; turns are about as long."""
    monkeypatch.delenv("FUSECUDA_TEST_MORE", raising=False)
    turns: list[set[str]] = []
    for turn in range(4):
        monkeypatch.setenv("FUSECUDA_TURN", f"{turn}/4")
        items = marked(request)
        others = {item.nodeid for item in sample(items, [])}
        turns.append({i.nodeid for i in items if i.get_closest_marker("slow")} - others)
        fewer = {item.nodeid for item in sample(marked(request)[:50], [])}
        assert fewer == {i.nodeid for i in items[:50]} & others
    assert len(set.union(*turns)) == sum(map(len, turns)) and min(map(len, turns)) >= 10


def test_more_can_be_asked_for(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many times as many; all where that is more than there are."""
    for more, least, most in (("3", 57, 63), ("9", 100, 100)):
        monkeypatch.setenv("FUSECUDA_TEST_MORE", more)
        items = marked(request)
        sample(items, [])
        assert least <= sum(not item.get_closest_marker("slow") for item in items) <= most


def test_what_is_slow_anyway_is_not_counted(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the others as many run as where there are no more, and the first of them."""
    monkeypatch.delenv("FUSECUDA_TEST_MORE", raising=False)
    items = marked(request)
    slow, others = items[:7], items[7:]
    for item in slow:
        item.add_marker(pytest.mark.slow)
    sample(items, [])
    run = [i for i, item in enumerate(others) if not item.get_closest_marker("slow")]
    assert run[0] == 0 and 17 <= len(run) <= 21
    assert all(item.get_closest_marker("slow") for item in slow)


@pytest.mark.parametrize("text", ["missing", "assert False", "1 / 0"])
def test_errors_of_our_own_are_told_from_users(text: str) -> None:
    """Names and invariants that fail within the package, nothing that a user's text raises."""
    for place, ours in ((f"{PACKAGE}/engine.py", text != "1 / 0"), ("/home/user/model.py", False)):
        with pytest.raises((NameError, AssertionError, ZeroDivisionError)) as caught:
            exec(compile(text, place, "exec"), {})
        assert is_ours(caught.value) == ours
    assert not is_ours(None)
