"""Parts of NumPy's namespace that ask whose arrays they are given: `polynomial` and `testing`."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import fusecuda.numpy as fnp
from fusecuda import fused
from fusecuda.capture.arrays.array import Array

EVALUATING = {
    "polynomial": ("polyval", "polyvalfromroots"),
    "chebyshev": ("chebval",),
    "hermite": ("hermval",),
    "hermite_e": ("hermeval",),
    "laguerre": ("lagval",),
    "legendre": ("legval",),
}
PAIRS = [(basis, name) for basis, names in EVALUATING.items() for name in names]
RNG = np.random.default_rng(7)
POINTS: dict[str, Any] = {
    "row": RNG.uniform(-1, 1, 3),
    "table": RNG.uniform(-1, 1, (2, 3)),
    "0-d": np.array(0.5),
    "empty": np.zeros(0),
    "integers": np.arange(3),
    "list": [0.25, 0.5, -0.5],
    "number": 0.75,
}
COLUMNS = {"series": RNG.uniform(-1, 1, 3), "columns": RNG.uniform(-1, 1, (3, 3))}


@pytest.mark.parametrize(("basis", "name"), PAIRS)
def test_series_at_points(basis: str, name: str) -> None:
    """Coefficients of several columns are those of a series each, as for NumPy's arrays."""
    theirs = getattr(getattr(np.polynomial, basis), name)
    ours = getattr(getattr(fnp.polynomial, basis), name)
    for x in POINTS.values():
        for c in COLUMNS.values():
            for tensor in (True, False):
                given = x if type(x) in (float, list) else fnp.asarray(x)
                try:
                    want = theirs(x, c, tensor=tensor)
                except ValueError as error:
                    with pytest.raises(ValueError, match=str(error).partition("(")[0][:20]):
                        ours(given, c, tensor=tensor)
                    continue
                for got in (ours(given, c, tensor), ours(given, fnp.asarray(c), tensor=tensor)):
                    np.testing.assert_array_equal(np.asarray(got), want, strict=True)


def test_bases_are_imported_by_name() -> None:
    from fusecuda.numpy.polynomial.chebyshev import chebval

    assert pickle.loads(pickle.dumps(chebval)) is chebval is fnp.polynomial.chebyshev.chebval


@pytest.mark.parametrize("count", [2, 3])
def test_grids_of_series(count: int) -> None:
    x, y = np.linspace(-1, 1, 3), np.linspace(0, 1, 4)
    c = np.arange(3.0**count).reshape(count * (3,))
    for basis, names in EVALUATING.items():
        name = names[0].replace("val", f"grid{count}d")
        points = (x, y) if count == 2 else (x, y, x)
        want = getattr(getattr(np.polynomial, basis), name)(*points, c)
        ours = getattr(getattr(fnp.polynomial, basis), name)
        got = ours(*map(fnp.asarray, points), fnp.asarray(c))
        np.testing.assert_array_equal(np.asarray(got), want)


def test_series_within_functions() -> None:
    @fused
    def evaluated(x: Any, c: Any) -> Any:
        return np.polynomial.chebyshev.chebval(x, c) * 2.0

    x, c = POINTS["row"], COLUMNS["columns"]
    for shift in range(4):
        want = np.polynomial.chebyshev.chebval(x + shift, c) * 2.0
        np.testing.assert_array_equal(evaluated(x + shift, c), want)


def test_all_of_the_parts_is_there() -> None:
    assert set(dir(fnp.polynomial)) == {n for n in dir(np.polynomial) if not n.startswith("_")}
    for basis in EVALUATING:
        theirs, ours = getattr(np.polynomial, basis), getattr(fnp.polynomial, basis)
        assert set(dir(ours)) == {n for n in dir(theirs) if not n.startswith("_")}
        assert all(hasattr(ours, name) for name in dir(ours))
    assert fnp.polynomial.Polynomial is np.polynomial.Polynomial
    public = {name for name in np.testing.__all__ if not name.startswith("_")}
    assert set(dir(fnp.testing)) == public - {"test"}
    assert all(hasattr(fnp.testing, name) for name in dir(fnp.testing))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fnp.polynomial.legendre.nothing  # noqa: B018 - it raises


def test_what_tests_compare() -> None:
    """Numbers of NumPy's are numbers, and lazy arrays are arrays, also inside of containers."""
    x = fnp.arange(4.0)
    check = fnp.testing
    check.assert_equal(x.sum(), 6.0)
    check.assert_equal(x, [0.0, 1.0, 2.0, 3.0])
    check.assert_equal({"a": [x, 1]}, {"a": [x + 0, 1]})
    check.assert_equal(fnp.asarray(np.nan), np.nan)
    check.assert_almost_equal(x / 3, np.arange(4.0) / 3)
    check.assert_array_less(x, 4.0)
    check.assert_raises(ValueError, fnp.dot, x, x[1:])
    with pytest.raises(AssertionError, match="not equal"):
        check.assert_equal(x, x + 1)
    with check.assert_raises(ZeroDivisionError):
        raise ZeroDivisionError


class Layer:
    """As NumPy's functions, those of the namespace are no methods."""

    activation = fnp.tanh
    start = fnp.zeros
    norm = fnp.linalg.norm
    draw = fnp.random.default_rng

    def __call__(self, x: Any) -> Any:
        return self.activation(x) + self.start(len(x))


@pytest.mark.parametrize("name", ["activation", "start", "norm", "draw"])
def test_functions_are_no_methods(name: str) -> None:
    function = vars(Layer)[name]
    assert getattr(Layer, name) is getattr(Layer(), name) is function
    assert pickle.loads(pickle.dumps(function)) is copy.deepcopy(function) is function
    assert callable(function) and inspect.isroutine(function)
    assert repr(function).startswith("<function")


def test_objects_that_hold_functions() -> None:
    layer, x = Layer(), np.linspace(0.0, 1.0, 5)
    want = np.tanh(x)
    np.testing.assert_allclose(np.asarray(layer(fnp.asarray(x))), want, rtol=1e-15)
    compiled = fused(layer)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), want, rtol=1e-15)
    assert compiled.explain().startswith("Layer: replayed")


def test_views_of_a_class() -> None:
    class Own(Array):
        pass

    x = fnp.arange(3.0)
    x.view(fnp.ndarray)[1] = 7.0
    assert x.tolist() == [0.0, 7.0, 2.0]
    assert type(x.view(type=fnp.ndarray)) is Array
    with pytest.raises(TypeError, match="such as Own"):
        x.view(Own)
