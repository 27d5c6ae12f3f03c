"""On a device: graphs have the bits of launches, and a user's own capture works or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.errors import FlushError
from tests.strategies import same_bits

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(6)


def chain(a: Any, b: Any, k: Any) -> Any:
    """Several kernels in a row, with counters, temporaries and a number."""
    c = (a * b * k).sum()
    d = (a * c).max(0)
    return (a - d).sum(1) * b, d


def lowered() -> tuple[Any, list[Any]]:
    """An executable of `chain`, and its arrays."""
    import cupy

    arrays = [cupy.asarray(RNG.normal(size=(700, 700))) for _ in range(2)]
    executable = fc.lower(chain, *[cupy.asnumpy(a) for a in arrays], 1.0, device="cuda")
    return executable, arrays


def copied(results: Any) -> list[np.ndarray]:
    import cupy

    return [cupy.asnumpy(r) for r in results]


def test_graphs_have_the_bits_of_launches() -> None:
    """Of the first call, with other numbers and other arrays, and on other streams."""
    import cupy

    executable, arrays = lowered()
    want: dict[float, Any] = {}
    for k in (1.0, 2.0):
        fresh, _ = lowered()
        want[k] = copied(fresh.run([*arrays, k]))
    kept = []
    for _ in range(3):
        for k in (1.0, 2.0):
            results = executable.run([*arrays, k])
            assert all(same_bits(a, b) for a, b in zip(copied(results), want[k], strict=True))
            kept.append(results)  # so that the next ones have other addresses
    with cupy.cuda.Stream(non_blocking=True) as stream:
        results = executable.run([*arrays, 2.0])
        stream.synchronize()
        assert all(same_bits(a, b) for a, b in zip(copied(results), want[2.0], strict=True))
    assert not executable._program.refusal, executable._program.refusal
    assert "CUDA graph: " in executable.explain() and "no CUDA graph" not in executable.explain()


def test_within_a_capture_of_the_user() -> None:
    """The graph computes again, of what is in the arguments then, whatever else runs between."""
    import cupy

    executable, arrays = lowered()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        executable.run([*arrays, 2.0])
        stream.synchronize()
        stream.begin_capture()
        results = executable.run([*arrays, 2.0])
        graph = stream.end_capture()
        for scale in (1.0, 3.0):
            arrays[0] *= scale
            want = copied(executable.run([*arrays, 2.0]))
            filled = [cupy.full((700, 700), 7.0) for _ in range(4)]  # of memory that is free
            graph.launch(stream)
            stream.synchronize()
            assert all(same_bits(a, b) for a, b in zip(copied(results), want, strict=True))
            del filled


def test_a_first_call_within_a_capture_is_refused() -> None:
    import cupy

    executable, arrays = lowered()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        try:
            with pytest.raises(FlushError, match="call it once before the capture begins"):
                executable.run([*arrays, 2.0])
        finally:
            stream.end_capture()
