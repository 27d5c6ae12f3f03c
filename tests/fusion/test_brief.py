"""`explain` on one screen: the user's lines, repeats once, reasons by what caused them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import fusecuda as fc
from fusecuda.fusion.brief import size, source

HERE = Path(__file__).name
X = np.linspace(0, 1, 64 * 64).reshape(64, 64)


def network(x: np.ndarray, w: np.ndarray) -> Any:
    spread = x.std(axis=1, keepdims=True)
    h = x / (spread + 1.0)
    for _ in range(10):
        h = np.tanh(h @ w) + h
    return h, np.sort(h, axis=0)


def at(offset: int) -> str:
    return f"{HERE}:{network.__code__.co_firstlineno + offset}  "


def test_it_tells_the_hottest_first_in_the_users_lines() -> None:
    fused = fc.fused(strict=True)(network)
    fused(X, X)
    lines = fused.explain().splitlines()
    assert len(lines) < 30
    assert "in 22 launches (11 of libraries)" in lines[1], lines[1]
    assert lines[3].split()[1:4] == ["10", "×", "matmul"]
    assert lines[4].strip() == f"{at(4)}h = np.tanh(h @ w) + h"
    shares = [
        int(s.split("%")[0]) for line in lines if (s := line.strip()).split(" ")[0][-1:] == "%"
    ]
    assert shares == sorted(shares, reverse=True) and len(shares) == 4
    assert any(f"{at(1)}spread = x.std" in line for line in lines)


def test_reasons_stand_under_the_call_that_caused_them_with_their_bytes() -> None:
    text = fc.lower(network, X, X).explain()
    _, _, reasons = text.partition("what keeps them apart, by the bytes it costs:\n")
    first, why = reasons.splitlines()[:2]
    array = 2 * X.nbytes  # written and read again; the last is a result
    assert first.strip() == f"{size(19 * array)}  {at(4)}h = np.tanh(h @ w) + h", reasons
    assert "matmul float64[64, 64] is stored" in why and "(10 times)" in why


def test_full_tells_every_step() -> None:
    exe = fc.lower(network, X, X)
    full = exe.explain(full=True)
    assert full.count("matmul (library)") == 10
    assert len(exe.explain().splitlines()) < len(full.splitlines())


def test_a_plan_of_many_kinds_stays_on_one_screen() -> None:
    def many(x: np.ndarray) -> Any:
        return [np.sort(np.sin(x[:n] * n), axis=0) for n in range(2, 40)]

    text = fc.lower(many, X).explain()
    assert len(text.splitlines()) <= 40
    assert "launches more" in text


def test_two_places_of_one_graph_share_a_plan() -> None:
    """Lines are told, but no condition of a plan within a function."""
    from fusecuda.capture.record import plans

    def both(x: np.ndarray, first: bool) -> Any:
        if first:
            return np.sqrt(x) * 2.5
        return np.sqrt(x) * 2.5

    plans.forget()
    fc.lower(both, X, True)
    known = len(plans._plans)
    fc.lower(both, X, False)
    assert len(plans._plans) == known == 1


def test_words() -> None:
    assert [size(n) for n in (0, 999, 1000, 99_951, 1_234_567, 5e9)] == [
        "0 B", "999 B", "1 kB", "100 kB", "1.23 MB", "5 GB",
    ]  # fmt: skip
    assert source("?") == "?" and source("/no/such/file.py:3") == "file.py:3"
