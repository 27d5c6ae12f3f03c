"""Nothing behind an error of an element is done, and it is the one that NumPy raises."""

from __future__ import annotations

import pytest

import fusecuda as fc
from fusecuda.executable import Executable
from tests.side_by_side import run

HEAD = """import contextlib, io
def shown(function, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try: result = function(*args)
        except Exception as raised: result = type(raised), str(raised)
    return result, out.getvalue(), args
@fused
def f(x, i, l, rng):
    {before}
    a = {fails}
    {effect}
    {behind}
    return a
"""
FAILS = {
    "an index": "x[i] * 2",
    "of an axis": "np.stack([x, x])[:, i]",
    "taken": "np.take(x, i) + 1",
    "a power": "(i + 1) ** (4 - i)",
}
EFFECTS = {
    "printed": "print(1)",
    "drawn": "l.append(rng.random())",
    "an opaque call": "print(l)",
}
BEHIND = {
    "nothing": "pass",
    "an update": "x[1:] = 3",
    "another error": "raise ValueError('mine')",
    "of shapes": "x + np.ones(x.size + 1)",
    "of another index": "x[[77]] = 1",
    "a look": "l.append(float(x.sum()))",
}


@pytest.mark.parametrize("fails", FAILS)
@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("before", ["x += 1", "x += 1; print(0); x += 2"])
def test_effects_behind_an_error_are_not_had(fails: str, effect: str, before: str) -> None:
    """However the function goes on, in the first call and in a replay; updates before it are."""
    for behind in BEHIND.values():
        program = HEAD.format(
            before=before, fails=FAILS[fails], effect=EFFECTS[effect], behind=behind
        )
        given = "np.arange(5.0), np.array([0, {}]), [], np.random.default_rng(3)"
        for lasts in ((9, 9, 3, 9), (3, 3, 9, 3)):
            run(program, [f"r = shown(f, {given.format(last)})" for last in lasts])


@pytest.mark.parametrize("fails", FAILS)
@pytest.mark.parametrize("effect", EFFECTS)
def test_nor_where_there_are_no_kernels(
    fails: str, effect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter overwrites nothing before its error, which is told as that of a kernel."""
    monkeypatch.setattr(Executable, "run", Executable._interpret)
    monkeypatch.setattr(Executable, "run_checked", lambda *_: None)
    for behind in ("an update", "a look"):
        program = HEAD.format(
            before="x += 1", fails=FAILS[fails], effect=EFFECTS[effect], behind=BEHIND[behind]
        )
        given = "np.arange(5.0), np.array([0, {}]), [], np.random.default_rng(3)"
        run(program, [f"r = shown(f, {given.format(last)})" for last in (9, 3, 9, 3)])


@pytest.mark.parametrize(("index", "kernels"), [("i % 3", 1), ("i", 2)])
def test_what_cannot_fail_waits_for_no_effect(index: str, kernels: int) -> None:
    """Draws part no kernels but where an error may come."""
    program = f"""
@fused
def f(x, i, rng):
    y = np.exp(x)[{index}]
    return y * rng.random() + x[:4]
"""
    call = "r = f(np.ones(5), np.arange(4), np.random.default_rng(1))"
    spaces = run(program, [call] * 2)
    with fc.count_launches() as counted:
        spaces.step(call)
    assert sum(name.startswith("loop") for name in counted.by_name) == kernels


@pytest.mark.parametrize("index", ["i", "i[0]", "i.max()", "(i, i)", "slice(None), i", "i + 1"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 2)])
def test_the_index_that_an_error_names(index: str, shape: tuple[int, ...]) -> None:
    """It is the one that there is, also of an axis that has no elements."""
    program = f"""
@fused
def f(x, i):
    print(end="")
    try:
        if x.shape[0] > 2: x[{index}] = 3
        return x[{index}]
    except IndexError as error: return str(error)
"""
    run(program, [f"r = f(np.ones({shape}), np.array([{k}, 4]))" for k in (3, 3, 5, 3)])


@pytest.mark.parametrize("key", ["x > 1", "(x > 1) & (x < 3)", "np.isin(x, [1, 3])"])
def test_the_places_of_a_mask_that_an_error_counts(key: str) -> None:
    """There are as many as the mask has, also where a replay goes on."""
    program = f"""
@fused
def f(x, k):
    if x.sum() > k: return 0
    try: x[{key}] = np.arange(7)
    except ValueError as error: return str(error)
"""
    run(program, [f"r = f(np.arange(4) % {n}, {k})" for n, k in ((4, 0), (4, 9), (3, 9), (2, 9))])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2,)])
def test_an_array_that_is_given_twice_is_one(shape: tuple[int, ...]) -> None:
    """Also where it has no elements."""
    program = f"""
@fused
def f(a, b, c): a += 1; return a is b, b is c, a, b
x, y = np.ones({shape}), np.ones({shape})
"""
    calls = ["r = f(x, x, y)", "r = f(x, y, y)", "r = f(x, y, x)", "r = f(x, x, x)"]
    run(program, calls * 2)
