"""CuPy's arrays of bfloat16 are CuPy's own affair: nothing of them is recorded, all else is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")
ml_dtypes = pytest.importorskip("ml_dtypes")

from fusecuda import fused  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402

cupy_host.install()
B16 = np.dtype(ml_dtypes.bfloat16)
F = np.arange(12, dtype=np.float32).reshape(3, 4) / 4


def steps(x: Any, f: Any) -> Any:
    g = f * 2 + 1
    h = g.astype(x.dtype)
    return x + x, g, h + h, f - g


@pytest.mark.skipif(int(cp.__version__.split(".")[0]) < 14, reason="it has no bfloat16")
def test_it_is_left_to_cupy() -> None:
    """In a block and in a function, which says why; other arrays are recorded beside it."""
    want = list(steps(F.astype(B16), F))
    x, f = host(F.astype(B16)), host(F)
    with fused(device="cpu") as region:
        got = steps(x, f)
    equal([seen(a) for a in got], want)
    text = region.explain(full=True)
    assert region.launches and "not recorded: cupy_add" in text and "bfloat16" not in text
    function = fused(steps, device="cpu")
    for _ in range(2):
        equal([seen(a) for a in function(x, f)], want)
    assert "CuPy computes bfloat16 itself" in function.explain()
