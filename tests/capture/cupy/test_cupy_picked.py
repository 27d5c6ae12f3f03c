"""What masks pick of CuPy's arrays: by kernels of ours, the C back end's and emulated CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

import fusecuda as fc  # noqa: E402
from fusecuda import fused  # noqa: E402
from fusecuda.back_ends import BACK_ENDS, add_back_end  # noqa: E402
from fusecuda.capture.cupy.memory import SPACES  # noqa: E402
from fusecuda.options import DEVICES  # noqa: E402
from tests import cupy_host, emulated, emulator  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402

cupy_host.install()
X = np.random.default_rng(3).normal(size=(300, 4))


@pytest.fixture(params=["cpu", "emulated"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device on which CuPy's arrays over host memory are computed."""
    if request.param == "cpu":
        yield "cpu"
        return
    if not emulator.available():
        pytest.skip("needs a C++ compiler")
    add_back_end("emulated", emulated.back_end(emulated.EmulatedDevice()), on_host=False)
    SPACES["emulated"] = SPACES["cpu"]
    yield "emulated"
    del BACK_ENDS["emulated"], SPACES["emulated"], DEVICES["emulated"]


def picks(m: Any, x: Any, k: Any) -> Any:
    """Elements, rows and places; of what is computed for it alone, and written in between."""
    y = x * k
    first = y[y > 1]
    rows = y[y[:, 0] > 0]
    y[:, 1] = 0
    i, j = m.nonzero(y > 1)
    flat = m.flatnonzero(y < 0)
    return first * 2, rows - 1, i + j, flat, m.compress(y[:, 2] > 0, y, 0), m.extract(y > 0, x)


def test_in_a_block(device: str) -> None:
    """As NumPy has it, whatever is pending."""
    for k in (1.0, 2.0):
        with fused(device=device) as region:
            results = picks(cp, host(X), k)
        for got, want in zip(results, picks(np, X, k), strict=True):
            assert type(got) is cp.ndarray
            equal(seen(got), want)
        assert "compact" in region.explain()


def test_in_a_function(device: str) -> None:
    """A replay goes on where the extents are the same; another one is a path of its own."""
    function = fused(picks, device=device)
    totals = []
    for k in (1.0, 2.0, 2.0, 1.0, -1.0, 1.0):
        with fc.count_launches() as launches:
            results = function(cp, host(X), k)
        for got, want in zip(results, picks(np, X, k), strict=True):
            equal(seen(got), want)
        totals.append(launches.total)
    assert totals[2:4] == totals[5:] * 2
    assert "replayed" in function.explain()


def test_none_all_and_errors(device: str) -> None:
    """Nothing, everything, and what fails on its way there."""
    with fused(device=device):
        a = host(X) * 2
        none, every, methods = a[a > 100], a[a < 100], (a > 100).nonzero()
    assert none.shape == (0,) and every.shape == (1200,)
    assert len(methods) == 2 and methods[0].shape == (0,)
    equal(seen(every), (X * 2).ravel())
    with pytest.raises(IndexError), fused(device=device):
        a[host(np.ones(7, bool))]


def test_picks_in_a_loop(device: str) -> None:
    """What is picked is picked from again, until nothing is left."""

    @fused(device=device)
    def halved(x: Any) -> Any:
        turns = 0
        while len(x) > 10:
            x = x[x > x.mean()]
            turns += 1
        return x, turns

    for _ in range(3):
        got, turns = halved(host(X[:, 0]))
        want = X[:, 0]
        for _ in range(turns):
            want = want[want > want.mean()]
        equal(seen(got), want)
        assert len(want) <= 10
