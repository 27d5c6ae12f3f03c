"""fusecuda.numpy: its functions record or compute, and it has all of NumPy's names."""

from __future__ import annotations

import copy
import inspect
import pickle
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.arrays.wrapping import first_line, is_function
from fusecuda.numpy.names import LEFT_OUT
from tests.numpy_check import assert_as_numpy, assert_same, lazily

# --- functions


@pytest.mark.usefixtures("recorded")
def test_functions_record_on_lazy_and_on_plain_arrays() -> None:
    x = np.arange(6.0).reshape(2, 3)
    a = fnp.asarray(x)
    total = lazily(lambda: fnp.sum(a * 2))
    assert float(total) == 30.0
    for data in (x, a):
        found = lazily(lambda data=data: fnp.sum(fnp.sqrt(data) * 2 + fnp.exp(data), axis=0))
        with fc.count_launches() as count:
            computed = np.asarray(found)
        assert count.total == 1, count.by_name
        expected = np.sum(np.sqrt(x) * 2 + np.exp(x), axis=0)
        np.testing.assert_allclose(computed, expected, rtol=1e-15)
    ones = np.ones((1, 3))
    found = lazily(lambda: fnp.concatenate([x, ones]))
    np.testing.assert_array_equal(np.asarray(found), np.concatenate([x, np.ones((1, 3))]))


def test_plain_data_give_lazy_arrays() -> None:
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("sin", (0.0,)), ("add", ([1, 2], 3)), ("sum", ([1, 2, 3],)), ("unique", ([3, 1, 1],)),
        ("unique_all", ([3, 1, 1],)), ("hanning", (5,)), ("diag", ([1, 2],)),
        ("split", ([1, 2], 2)),
        ("histogram", ([1, 2, 2],)), ("divmod", (7, [2, 3])), ("modf", ([1.5, -2.5],)),
        ("frexp", ([1.5, 8.0],)), ("vander", ([1, 2, 3],)), ("median", ([3.0, 1.0, 2.0],)),
        ("nonzero", ([0, 1, 2],)), ("dot", ([1, 2], [3, 4])), ("einsum", ("i,i", [1, 2], [3, 4])),
        ("atleast_2d", (3,)), ("poly", ([1, 2],)), ("interp", (1.5, [1, 2], [3, 4])),
        ("frombuffer", (b"abcd", "u1")), ("fromiter", (range(3), int)), ("logspace", (0, 2, 3)),
        ("ix_", ([0, 1], [2])), ("unravel_index", (5, (2, 3))), ("cov", ([[1, 2, 3], [1, 0, 1]],)),
        ("array_equal", ([1], [1])), ("shape", ([[1, 2]],)), ("ndim", (3,)), ("size", ([1, 2],)),
        ("array_str", (np.arange(3),)), ("result_type", (np.arange(3), 1.0)),
        ("bincount", ([1, 1],)),
        ("iscomplexobj", (np.arange(3),)), ("broadcast_shapes", ((3, 1), (1, 4))),
        ("diag_indices", (3,)),
    ]  # fmt: skip
    for name, args in cases:
        assert_as_numpy(name, *args)


def test_out_is_written_to_wherever_it_stands() -> None:
    x = np.arange(3.0)
    target = np.zeros(3)
    assert fnp.add(x, 1, target) is target
    assert target.tolist() == [1, 2, 3]
    assert fnp.multiply(x, 3, out=target) is target
    assert target.tolist() == [0, 3, 6]
    number = np.zeros(())
    fnp.sum(x, 0, None, number)
    assert number == 3
    fnp.sum(fnp.asarray(x) + 1, None, None, number)
    assert number == 6
    lazy = fnp.zeros(3)
    fnp.add(x, 1, out=lazy)
    assert lazy.tolist() == [1, 2, 3]
    fnp.fft.irfft(fnp.fft.rfft(x), 3, out=lazy)
    np.testing.assert_allclose(lazy.tolist(), x, atol=1e-15)


def test_functions_that_write_do_so_to_lazy_and_plain_arrays() -> None:
    calls: dict[str, tuple[Any, ...]] = {
        "put": ([0, 2], [7, 8]), "place": (np.array([True, False, True]), [5]),
        "putmask": (np.array([True, False, True]), 4), "copyto": (np.ones(3),),
        "put_along_axis": (np.array([1]), 9, 0),
    }  # fmt: skip
    for name, args in calls.items():
        expected = np.arange(3.0)
        getattr(np, name)(expected, *args)
        plain, lazy = np.arange(3.0), fnp.arange(3.0)
        getattr(fnp, name)(plain, *args)
        getattr(fnp, name)(lazy, *args)
        assert plain.tolist() == lazy.tolist() == expected.tolist(), name
    square = fnp.zeros((2, 2))
    fnp.fill_diagonal(square, 3)
    assert square.tolist() == [[3, 0], [0, 3]]


def test_results_do_not_share_the_callers_memory() -> None:
    x = np.arange(4.0)
    for make in (fnp.asarray_chkfinite, fnp.require, fnp.real, fnp.frombuffer, fnp.ravel, fnp.diag):
        a = make(x)
        before = np.array(a)
        if type(a) is not np.ndarray:
            x += 1
            np.testing.assert_array_equal(np.asarray(a), before)
    assert fnp.shares_memory(x, x[1:])


def test_methods_of_ufuncs() -> None:
    x = np.arange(1.0, 5.0)
    for data in (x, fnp.asarray(x)):
        assert_same(fnp.add.reduce(data), np.add.reduce(x))
        assert_same(fnp.multiply.accumulate(data), np.multiply.accumulate(x))
        assert_same(fnp.subtract.outer(data, data), np.subtract.outer(x, x))
        assert_same(fnp.add.reduceat(data, [0, 2]), np.add.reduceat(x, [0, 2]))
    target = np.zeros(3)
    fnp.add.at(target, [0, 0, 1], 1)
    assert target.tolist() == [2, 1, 0]
    assert (fnp.add.nin, fnp.add.nout, fnp.add.identity) == (2, 1, 0)
    assert fnp.add.__name__ == "add"


def test_index_builders() -> None:
    assert_same(fnp.mgrid[0:3, 0:2], np.mgrid[0:3, 0:2])
    assert_same(fnp.ogrid[0:3, 0:2], np.ogrid[0:3, 0:2])
    assert_same(fnp.r_[1:4, 0], np.r_[1:4, 0])
    assert_same(fnp.c_[fnp.arange(3), np.arange(3)], np.c_[np.arange(3), np.arange(3)])
    assert fnp.s_[1:3] == np.s_[1:3]


def test_linalg_fft_random() -> None:
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    for data in (x, fnp.asarray(x), x.tolist()):
        assert_same(fnp.linalg.inv(data), np.linalg.inv(x))
        assert_same(fnp.linalg.det(data), np.linalg.det(x))
        assert_same(fnp.linalg.eigh(data), tuple(np.linalg.eigh(x)))
        assert fnp.linalg.eigh(data).eigenvalues.shape == (2,)
        assert_same(fnp.fft.fft2(data), np.fft.fft2(x))
    with pytest.raises(fnp.linalg.LinAlgError):
        fnp.linalg.inv(np.zeros((2, 2)))
    assert_same(fnp.linalg.matmul(x, x), x @ x)
    assert_same(fnp.fft.fftfreq(5), np.fft.fftfreq(5))
    drawn = fnp.random.default_rng(3).normal(size=4)
    assert_same(drawn, np.random.default_rng(3).normal(size=4))
    np.random.seed(4)  # noqa: NPY002 - the old functions are there, too
    expected = np.random.rand(3)  # noqa: NPY002
    fnp.random.seed(4)
    assert_same(fnp.random.rand(3), expected)
    generator = fnp.random.default_rng(5)
    shuffled = fnp.arange(10)
    generator.shuffle(shuffled)
    assert sorted(shuffled.tolist()) == list(range(10))
    assert fnp.random.default_rng(generator) is generator
    assert len(generator.spawn(2)) == 2


@pytest.mark.parametrize("name", ["random", "standard_normal", "permuted", "standard_gamma"])
def test_generators_fill_what_they_are_given(name: str) -> None:
    """Each element of ``out`` is drawn, of its type; what cannot be written to stays."""
    found: list[Any] = []
    for space in (fnp, np):
        rng, out = space.random.default_rng(7), space.zeros((2, 3))
        first = {"permuted": (space.arange(6.0).reshape(2, 3),), "standard_gamma": (2.0,)}
        assert getattr(rng, name)(*first.get(name, ()), out=out) is out
        found += [out, rng.random()]
        with pytest.raises(TypeError):
            getattr(rng, name)(*first.get(name, ()), out=space.zeros((2, 3), dtype="i4"))
    assert_same(found[0], found[2])
    assert found[1] == found[3]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda rng: pickle.loads(pickle.dumps(rng))]
)
def test_methods_of_generators_are_made_once(copied: Any) -> None:
    rng, numpys = fnp.random.default_rng(7), np.random.default_rng(7)
    assert rng.normal is rng.normal
    assert_same(rng.normal(size=3), numpys.normal(size=3))
    other, others = copied(rng), copied(numpys)
    for drawing, wanted in ((other, others), (rng, numpys), (other, others)):
        assert_same(drawing.normal(size=3), wanted.normal(size=3))


def test_files(tmp_path: Path) -> None:
    a = fnp.arange(4) * 2
    fnp.save(tmp_path / "a.npy", a)
    assert_same(fnp.load(tmp_path / "a.npy"), np.arange(4) * 2)
    fnp.savetxt(tmp_path / "a.txt", a)
    assert_same(fnp.loadtxt(tmp_path / "a.txt"), np.arange(4) * 2.0)


# --- names


def test_every_public_name_of_numpy_is_here_or_left_out() -> None:
    public = {name for name in dir(np) if not name.startswith("_")}
    assert set(LEFT_OUT) <= public, f"LEFT_OUT has {set(LEFT_OUT) - public}, which NumPy has not"
    missing = {n for n in public - LEFT_OUT.keys() if not hasattr(fnp, n)}
    assert not missing
    assert public - LEFT_OUT.keys() <= set(dir(fnp)) == set(fnp.__all__)
    assert len(LEFT_OUT) <= 20
    for name, reason in LEFT_OUT.items():
        assert reason
        with pytest.raises(AttributeError, match=r"fusecuda\.numpy has no"):
            getattr(fnp, name)


@pytest.mark.parametrize("module", ["linalg", "fft", "random"])
def test_every_public_name_of_the_submodules_is_here(module: str) -> None:
    theirs, ours = getattr(np, module), getattr(fnp, module)
    names = set(theirs.__all__) - {"test"}
    assert names <= set(ours.__all__) == set(dir(ours))
    assert all(hasattr(ours, name) for name in names)
    assert not hasattr(ours, "no_such_name")


def test_types_and_constants_are_numpys() -> None:
    for name in fnp.__all__:
        value = getattr(np, name, ...)
        if isinstance(value, float | type | np.dtype | types.NoneType) and name not in (
            "finfo", "iinfo", "ndarray"
        ):  # fmt: skip
            assert getattr(fnp, name) is value or value != value, name
    assert fnp.ndarray is fc.Array
    assert isinstance(fnp.zeros(3), fnp.ndarray)


def test_functions_carry_names_and_docs() -> None:
    for name in fnp.__all__:
        value = getattr(fnp, name)
        if not is_function(getattr(np, name, None)):
            continue
        assert value.__doc__, name
        assert "\n\n\n" not in value.__doc__
        if hasattr(value, "__wrapped__"):
            assert value.__name__ == name
            assert value.__module__ == "fusecuda.numpy"
    assert fnp.sum.__doc__ == "Sum of array elements over a given axis."
    assert fnp.add.__doc__ == "Add arguments element-wise."
    assert "axis" in inspect.signature(fnp.sum).parameters
    assert first_line(None, "f") == "As `numpy.f`."


def test_names_that_numpy_has_not_are_attribute_errors() -> None:
    for name in ("no_such_name", "_core", "float", "__wrapped__"):
        with pytest.raises(AttributeError):
            getattr(fnp, name)


def test_recorded_in_a_fused_function() -> None:
    @fc.fused
    def f(x: Any) -> Any:
        return fnp.sum(x * fnp.arange(x.shape[0]) + fnp.ones(x.shape[0]))

    x = np.arange(5.0)
    assert f(x) == f(x) == np.sum(x * np.arange(5) + 1)
