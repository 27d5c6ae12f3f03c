"""Functions and classes of libraries: what they draw, print and keep is as in plain code."""

from __future__ import annotations

import pytest

from tests.side_by_side import run

HEAD = """import contextlib, io
import scipy.fft, scipy.sparse.linalg
from scipy import integrate, linalg, optimize, signal, sparse, stats
from scipy.spatial.transform import Rotation
X = np.linspace(-1, 1, 30)
def square(v): return (v**2).sum()
def shown(function, *args):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        result = function(*args)
    return result, out.getvalue()
"""

PROGRAMS = {
    "functions in containers": (
        """
SOLVERS = {"direct": linalg.solve, "sparse": [sparse.linalg.spsolve]}
EYE = sparse.csc_array(np.eye(30) * 2)
@fused
def f(x, filters):
    print("solved", end="")
    y = SOLVERS["direct"](np.eye(30) * 4, filters[0](x * 3) + 1)
    return y, SOLVERS["sparse"][0](EYE, y * 8), filters[0] is signal.detrend
""",
        [f"r = shown(f, {given})" for given in ("X, [signal.detrend]", "X, [np.cumsum]")],
    ),
    "draws of a class": (
        "@fused\ndef f(x): return x[:4] * Rotation.random().as_quat()",
        ["np.random.seed(1); r = f(X), f(X)", "np.random.seed(2); r = f(X), f(X)"],
    ),
    "draws of what is given functions": (
        """
@fused
def f(x):
    found = optimize.differential_evolution(square, [(-1, 1)], maxiter=2, polish=False)
    return x * found.x
""",
        ["np.random.seed(1); r = f(X), f(X)", "np.random.seed(2); r = f(X), f(X)"],
    ),
    "draws that are begun again": (
        """
from scipy.cluster import vq
ZEROS = [0.0] * 30
@fused
def f(x):
    found = vq.kmeans2([[0.0], [1.0], [5.0], [7.0]], 2)[0]
    held = np.array(ZEROS)
    held[:] = x * 2
    return held, found
""",
        ["np.random.seed(1); r = f(X), np.random.rand()"],
    ),
    "prints": (
        "@fused\ndef f(x): return x * optimize.fmin(square, 1)[0]",
        ["r = shown(f, X)", "r = shown(f, X + 1)"],
    ),
    "settings": (
        "@fused\ndef f(x): return x * scipy.fft.get_workers()",
        [f"with scipy.fft.set_workers({n}): r = f(X)" for n in (1, 2, 3)],
    ),
    "class methods": (
        """
@fused
def f(x):
    print("spectrogram")
    return signal.ShortTimeFFT.from_window("hann", 10.0, 8, 4).spectrogram(x)
""",
        ["r = shown(f, X)", "r = shown(f, X + 1)"],
    ),
    "generators that are given": (
        """
@fused
def f(x, rng): print("draws"); return x[:4] * Rotation.random(rng=rng).as_quat()
""",
        [f"r = shown(f, X, np.random.default_rng({n}))" for n in (1, 2)],
    ),
    "names of parameters": (
        """
from scipy import ndimage
class Scaled:
    @fused
    def f(self, x): return x * 2
@fused
def f(x):
    print("begins")
    total = np.apply_over_axes(func=np.sum, a=x[None], axes=0)
    area = integrate.quad(func=lambda t: t * t, a=0, b=1)[0]
    means = ndimage.labeled_comprehension(
        input=x, labels=(x > 0).astype(int), index=np.array([1]), func=np.mean, out_dtype=float,
        default=0)
    return total * area, means, optimize.fsolve(func=lambda t: t * t - 2, x0=x[-1:])
""",
        ["r = shown(f, X)", "r = Scaled.f(self=Scaled(), x=X)"],
    ),
    "objects that hold arrays": (
        """
@fused
def f(a):
    one = signal.StateSpace(a, np.ones((2, 1)), np.ones((1, 2)), np.zeros((1, 1)))
    y = a * 2
    one.A[0, 1] = 5.0
    two = signal.StateSpace(a, np.ones((2, 1)), np.ones((1, 2)), np.zeros((1, 1)))
    z = a + y
    two.A[0, 0] = 3.0
    return y, z, a + 1, two
a = np.ones((2, 2))
""",
        ["r = f(a)", "r[-1].A[0, 0] = 7.0; r[-1].B[0] = 9.0", "a[:] = 2.0; r = f(a)"],
    ),
    "classes as values": (
        """
@fused
def f(x):
    print("solves")
    found = integrate.solve_ivp(lambda t, y: -y, (0, 1), x, method=integrate.RK45)
    turned = Rotation.from_rotvec(x[:3])
    kinds = isinstance(turned, Rotation), type(turned) is Rotation, Rotation.__module__
    return found.y[:, -1], kinds, turned.as_quat(), Rotation
""",
        ["r = shown(f, X)", "r = shown(f, X + 1)"],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_libraries(name: str) -> None:
    """Values, what is printed and what is drawn are as in plain code, in recordings and replays."""
    program, steps = PROGRAMS[name]
    run(HEAD + program, steps * 3)


def test_functions_that_c_code_calls(capfd: pytest.CaptureFixture[str]) -> None:
    """What they give are values: nothing of ours is raised in them, which C code would print."""
    program = """
@fused
def f(x): return optimize.leastsq(lambda p: p - x, x0=x * 2)[0]
"""
    run(HEAD + program, ["r = f(X)", "r = f(X + 1)"] * 2)
    assert not capfd.readouterr().err
