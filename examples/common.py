"""What every example prints: that fused and plain NumPy agree, the launches, and the times."""

import statistics
import time

import numpy as np

import fusecuda as fc


def check(name, plain, ours, exact):
    """Say how ``ours`` agrees with ``plain``; raise AssertionError if it does not as promised.

    What + − × ÷ √ and comparisons compute is equal in every bit. Sums (another order of addition)
    and functions such as exp may differ in the last digits.
    """
    plain = plain if isinstance(plain, tuple) else (plain,)
    ours = ours if isinstance(ours, tuple) else (ours,)
    for a, b in zip(plain, ours, strict=True):
        if exact:
            np.testing.assert_array_equal(b, a)
        else:
            np.testing.assert_allclose(b, a, rtol=1e-14, atol=1e-14 * np.max(np.abs(a)))
    print(f"{name}: {'the same bits as' if exact else 'agrees to 1e-14 with'} NumPy")


def compare(function, fused_function, arguments, exact=False):
    """Run both on ``arguments``; print agreement, launches and times side by side."""
    name = function.__name__
    check(name, function(*arguments), fused_function(*arguments), exact)
    with fc.count_launches() as launches:
        fused_function(*arguments)
    numpy_time, fused_time = times(lambda: function(*arguments), lambda: fused_function(*arguments))
    count = f"{launches.total} launch{'es' * (launches.total != 1)}"
    print(f"{name}: {count}, {numpy_time / fused_time:.1f}× NumPy's speed "
          f"({1e3 * numpy_time:.3g} ms → {1e3 * fused_time:.3g} ms)")  # fmt: skip


def times(*calls, budget=1.0):
    """The median duration of each call in seconds, measured in turn for ``budget`` seconds."""
    found = [[] for _ in calls]
    end = time.perf_counter() + budget
    while len(found[0]) < 3 or (time.perf_counter() < end and len(found[0]) < 200):
        for call, durations in zip(calls, found, strict=True):
            start = time.perf_counter()
            call()
            durations.append(time.perf_counter() - start)
    return [statistics.median(durations) for durations in found]
