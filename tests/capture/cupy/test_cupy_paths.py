"""What a fused function on CuPy arrays looks at, has CuPy compute, keeps in lists, and writes."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import threading
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from fusecuda import fused  # noqa: E402
from fusecuda.capture.record.recorder import default_recorder, recorder_in_force  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture.cupy.test_cupy_calls import calls, plain  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, over, seen  # noqa: E402

cupy_host.install()
X = np.arange(1.0, 25.0).reshape(4, 6)


def test_branches_are_learned() -> None:
    """Each path is recorded once, its kernels replayed up to the look and from there."""

    def step(m: Any, x: Any, y: Any) -> Any:
        y += x
        z = y * 2
        if float(z.sum()) > 0:
            z -= 1
            return z, y
        y *= 3
        return y, z - x

    signs = (1, 1, -1, 1, -1, -1, 1)
    f = calls(step, *[(X * s, X * (s * 0.5)) for s in signs], traces=2)
    assert "replayed" in f.explain()


@pytest.mark.parametrize("look", ["float(r)", "r.item()", "r", "bool(r > 0)", "int(r)"])
def test_ways_to_look(look: str) -> None:
    space: dict[str, Any] = {}
    exec(
        "def step(m, x, n):\n"
        "    for _ in range(20):\n"
        "        x = x * 0.5 + n\n"
        "        r = abs(x - n).max() - 1\n"
        f"        if {look} <= 0: break\n"
        "    return x, r\n",
        space,
    )
    args = [(X * s, 0.25) for s in (1, 1, 30, 1, 30, 900)]
    calls(space["step"], *args, traces=3)


def test_loops_until_convergence() -> None:
    """However many rounds; those that were learned are not learned again."""

    def step(m: Any, x: Any, b: Any, tol: Any) -> Any:
        count = 0
        while True:
            new = (b - x[::-1] * 0.25) / 2
            change = m.abs(new - x).max()
            x = new
            count += 1
            if change < tol:
                return x, count

    tolerances = (1e-3, 1e-6, 1e-3, 1e-6, 1e-6)
    f = calls(step, *[(X.copy(), X + 1, t) for t in tolerances], traces=2)
    assert "replayed" in f.explain()


def test_numbers_that_are_computed_go_on() -> None:
    """A number taken of an array is an argument of what follows, and of the result."""

    def step(m: Any, x: Any) -> Any:
        norm = float(m.sqrt((x * x).sum()))
        total = x.sum().item()
        return x / norm + total, math.sqrt(norm), total * 2

    calls(step, *[(X * k,) for k in (1, 2, 3, 4)])


def test_what_cupy_computes_is_called_by_the_replay() -> None:
    """Arrays of other data, functions without a graph, in place, views."""

    def step(m: Any, x: Any, k: Any) -> Any:
        weights = m.asarray([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        y = x * weights + k
        middle = m.median(y[1:, ::2], axis=0)
        y.partition(2, axis=1)
        parts = m.split(y, 2, axis=1)
        q, r = m.linalg.qr(x.T @ x + m.eye(6) * 50)
        weights *= k
        return parts[0] - middle, q @ r, weights, y, m.unique(x > k)

    calls(step, *[(X * s, k) for s, k in ((1, 2), (2, 3), (3, 4))])


def test_shapes_that_depend_on_values() -> None:
    """A replay goes on where they are the same; each other one is a path of its own."""

    def step(m: Any, x: Any) -> Any:
        y = x * 2
        kept = y[y > 10]
        places = m.nonzero(y > 20)[0]
        return kept * 3, places + 1, len(kept)

    calls(step, *[(X + s,) for s in (0, 0, 5, 0, 5)], traces=2)


def test_small_arrays_brought_to_the_host_are_seen() -> None:
    def step(m: Any, x: Any) -> Any:
        where = x.argmax().get() if m is cp else x.argmax()
        return x * 2 if int(where) > 3 else x - 1

    calls(step, *[(x,) for x in (X, X, -X, X, -X)], traces=2)
    f = fused(lambda x: x * x.get().sum(), device="cpu")
    for k in (1, 2, 3):
        equal(seen(f(host(X * k))), X * k * (X * k).sum())
    assert "recorded anew" in f.explain()


class State(NamedTuple):
    u: Any
    v: Any


@dataclasses.dataclass
class Flow:
    state: State
    log: list[Any]
    steps: int = 0

    def step(self, m: Any, dt: float) -> float:
        u, v = self.state
        u += dt * v
        self.state = State(u, v - dt * u)
        self.steps += 1
        self.log.append(u.sum())
        return float(u.max())


def test_objects_are_changed_by_each_replay() -> None:
    """Attributes, counters and lists that are made longer; named tuples and dicts as results."""

    def run(m: Any, make: Any) -> tuple[Any, Any]:
        flow = Flow(State(make(X), make(X / 7)), [])
        step = fused(Flow.step, device="cpu") if m is cp else Flow.step
        tops = [step(flow, m, dt) for dt in (0.1, 0.1, 0.2, 0.1, 0.3)]
        return flow, (tops, getattr(step, "traces", 0))

    got, (tops, traces) = run(cp, host)
    want, (want_tops, _) = run(np, np.array)
    assert traces <= 3  # of those the first learns that the list is made longer only
    assert got.steps == 5 and len(got.log) == 5
    np.testing.assert_allclose(tops, want_tops, rtol=1e-12)
    equal(seen(got.state.u), want.state.u, 4)
    equal(seen(got.state.v), want.state.v, 4)
    equal([seen(a) for a in got.log], [np.asarray(a) for a in want.log], 4)


LOG: list[Any] = []
HOLDER = {"total": 0.0}


def test_containers_read_by_name_are_changed_by_each_replay() -> None:
    """Though they are as they were when it was recorded."""

    def step(x: Any) -> Any:
        LOG.append(1)
        HOLDER["total"] += 2.0
        HOLDER["last"] = x * 3
        return x + 1

    f = fused(step, device="cpu")
    for k in range(4):
        LOG.clear()
        equal(seen(f(host(X * k))), X * k + 1)
        assert LOG == [1]
        assert HOLDER["total"] == 2.0 * (k + 1)
        equal(seen(HOLDER["last"]), X * k * 3)
    assert f.traces <= 3


def test_nested_results() -> None:
    """Named tuples, dataclasses and dicts around new arrays."""

    def step(m: Any, x: Any) -> Any:
        y = x * 2
        return {"state": State(y, y[1:]), "flow": [Flow(State(x.sum(axis=0), None), [y], 3)]}

    f = fused(lambda x: step(cp, x), device="cpu")
    for k in (1, 2, 3):
        got = f(host(X * k))
        assert type(got["state"]) is State and type(got["flow"][0]) is Flow
        equal(seen(got["state"].v), (X * k * 2)[1:])
        equal(seen(got["flow"][0].state.u), (X * k).sum(axis=0), 4)
        assert got["flow"][0].steps == 3
    assert f.traces == 1


def test_lists_of_arrays_that_functions_take() -> None:
    """A list that is given is one that CuPy's functions take."""

    def step(m: Any, many: Any) -> Any:
        return m.stack(many).sum(axis=0) + m.concatenate(many)[:4]

    f = fused(lambda many: step(cp, many), device="cpu")
    for k in (1, 2, 3):
        given = [X * k, X + k, X]
        equal(seen(f([host(a) for a in given])), step(np, given), 4)
    assert f.traces == 1


def test_memory_that_is_given_out_is_no_replay() -> None:
    """Whoever looks at where arrays lie sees those of each call."""
    places = []
    f = fused(lambda x: (places.append((x * 2).data.ptr), x + 1)[1], device="cpu")
    for k in (1, 2, 3, 4):
        equal(seen(f(host(X * k))), X * k + 1)
    assert len(places) == 4
    assert "recorded anew" in f.explain()


def test_views_of_arguments_after_a_look() -> None:
    """Parts of an argument are read and written where it lies, before and after a look."""

    def step(m: Any, x: Any, y: Any) -> Any:
        x[1:] += y[:-1]
        if x.sum() > 0:
            x[::2, 1:4] *= 2
        left = x[:, :3]
        if left.max() > 3:
            left += 1
        return left * 2

    f = calls(step, *[(X * s, X * s) for s in (1, 1, -1, 1, -1)], traces=2)
    assert "replayed" in f.explain()


def test_arguments_that_are_parts_of_larger_arrays() -> None:
    """Their memory is known by itself, whatever lies around it, before and after a look."""

    def step(m: Any, x: Any) -> Any:
        x += 1
        if x.max() > 0:
            x *= 2
        return x.sum(axis=0)

    f = fused(lambda x: step(cp, x), device="cpu")
    for k in (1, 2, 3):
        ours, theirs = host(np.pad(X * k, 2)), np.pad(X * k, 2)
        got, want = f(ours[2:-2, 2:-2]), step(np, theirs[2:-2, 2:-2])
        equal(seen(got), want, 4)
        equal(seen(ours), theirs, 4)
    assert f.traces == 1


def test_an_error_is_raised_by_each_call() -> None:
    """What CuPy raises, and what the function makes of it."""

    def step(m: Any, x: Any) -> Any:
        y = x * 2
        try:
            return m.linalg.cholesky(y)
        except np.linalg.LinAlgError:
            return y - 1

    good, bad = np.eye(4) * 2, -np.eye(4)
    for turn in ((good, bad, good, bad), (bad, good, bad)):
        f = fused(lambda x: step(cp, x), device="cpu")
        for x in turn:
            equal(plain(f(host(x))), step(np, x.copy()), 4)


def test_where_arguments_lie_does_not_tell_them_apart() -> None:
    """A path that goes on knows them, whichever has the lower address this time."""

    def step(m: Any, x: Any, y: Any) -> Any:
        x += y
        if x.sum() > 0:
            return x - y
        return y * 2 - x

    f = fused(lambda x, y: step(cp, x, y), device="cpu")
    for turn, sign in enumerate((1, -1, 1, 1, -1, -1)):
        memory = np.zeros((2, *X.shape))
        low, high = memory if turn % 2 else memory[::-1]
        low[...], high[...] = X * sign, X * (sign * 3)
        x, y = low.copy(), high.copy()
        equal(seen(f(over(low), over(high))), step(np, x, y), 4)
        equal(low, x, 4)
    assert f.traces == 2


def test_what_is_pending_elsewhere_of_an_object_comes_first() -> None:
    """A block has written to an array that an object holds; a replay sees that."""
    f = fused(Flow.step, device="cpu")
    flow, want = Flow(State(host(X), host(X)), []), Flow(State(X.copy(), X.copy()), [])
    for _ in range(3):
        f(flow, cp, 0.1)
        want.step(np, 0.1)
    u = flow.state.u
    with fused(device="cpu") as region:
        u *= 2
        with outside():
            f(flow, cp, 0.1)
        assert region.launches <= 1
    want.state.u[...] *= 2
    want.step(np, 0.1)
    equal(seen(flow.state.u), want.state.u, 4)
    assert f.traces <= 3


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """As another context, which no block records."""
    token = recorder_in_force.set(default_recorder)
    try:
        yield
    finally:
        recorder_in_force.reset(token)


def test_what_is_not_needed_is_given_up() -> None:
    """A long path holds what is alive, not all that it has computed; in a replay too."""

    class Counted(cupy_host.HostSpace):
        made: ClassVar[list[weakref.ref[Any]]] = []
        most = 0

        def run(self, executable: Any, arrays: Any, device: int) -> list[Any]:
            results = super().run(executable, arrays, device)
            self.made.extend(weakref.ref(r) for r in results if r is not None)
            Counted.most = max(Counted.most, sum(r() is not None for r in self.made))
            return results

    def step(m: Any, x: Any) -> Any:
        for _ in range(40):
            x = x * 0.5 + 1
            if x.max() > 1e9:
                return None
        return x

    spaces = cupy_host.spaces.SPACES
    before, spaces["cpu"] = spaces["cpu"], Counted()
    try:
        calls(step, *[(X * k,) for k in (1, 2, 3)])
    finally:
        spaces["cpu"] = before
    assert len(Counted.made) > 100
    assert Counted.most < 10


def test_threads_have_paths_of_their_own() -> None:
    """Each records and replays its own calls of one function."""

    def step(m: Any, x: Any) -> Any:
        y = x * 2 + 1
        for k in range(3):
            if float(y.sum()) > 1000 * k:
                y += m.asarray([k] * 6)
        return y, y[1:].sum(axis=0)

    f = fused(lambda x: step(cp, x), device="cpu")
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for k in range(25):
                x = X * ((number * 7 + k) % 11)
                equal([seen(a) for a in f(host(x))], list(step(np, x.copy())), 4)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults[0]


BASE = host(np.arange(12.0))
PART, PARAMETERS = BASE[2:8], {"w": host(np.ones(6)), "k": 2.0}


def test_parts_of_arrays_and_containers_read_by_name() -> None:
    """Before and after a look; what they hold now."""

    def step(x: Any) -> Any:
        PART[...] += x
        if PART.sum() > 0:
            PARAMETERS["w"] *= PARAMETERS["k"]
        return PART * PARAMETERS["w"]

    f = fused(step, device="cpu")
    base, w = np.arange(12.0), np.ones(6)
    for k in (1, 2, 3):
        base[2:8] += X[0] * k
        w *= 2
        equal(seen(f(host(X[0] * k))), base[2:8] * w)
        equal(seen(BASE), base)
        equal(seen(PARAMETERS["w"]), w)
    assert f.traces == 1, f.explain()
