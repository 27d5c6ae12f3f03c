"""Every public callable of CuPy is exactly one of recorded, view, free, creating, flushing."""

from __future__ import annotations

import inspect
import types

import pytest

cp = pytest.importorskip("cupy")

from fusecuda.capture.cupy import callables, gates, handlers, internals, patches, ufuncs  # noqa: E402

KNOWN = internals.names(  # the functions of CuPy 13 and 14 that are flushing
    """
    allclose alltrue angle append apply_along_axis apply_over_axes argpartition argwhere
    array2string array_equal array_equiv array_repr array_str asnumpy bincount block choose
    column_stack compress convolve corrcoef correlate cov cross cumproduct cumulative_prod
    cumulative_sum delete diag diag_indices_from diagflat dstack ediff1d einsum extract
    fill_diagonal flatnonzero gradient histogram histogram2d histogramdd i0 imag in1d inner
    intersect1d iscomplex isin isneginf isposinf isreal ix_ kron lexsort median meshgrid
    msort nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanstd nanvar
    nonzero packbits partition percentile piecewise place poly polyadd polyfit polymul polysub
    polyval product put put_along_axis putmask quantile ravel_multi_index real_if_close repeat
    require resize roots save savetxt savez savez_compressed select setdiff1d
    setxor1d shares_memory sometrue sort_complex take_along_axis tensordot trapezoid trapz tril
    tril_indices_from trim_zeros triu triu_indices_from union1d unique unique_all unique_counts
    unique_inverse unique_values unpackbits unravel_index unwrap vander vdot asfarray disp
    rollaxis
    """
)


def functions() -> dict[str, types.FunctionType]:
    return {
        n: f
        for n in dir(cp)
        if isinstance(f := getattr(cp, n), types.FunctionType) and not n.startswith("_")
    }


@pytest.mark.parametrize("name", sorted(functions()))
def test_functions(name: str) -> None:
    """A new function of a new CuPy shows here: it is flushed, which is right; say so above."""
    kind = callables.class_of(name)
    sets = [handlers.RECORDED, callables.VIEW, callables.FREE, callables.CREATING]
    assert sum(name in s for s in sets) <= 1, f"{name} is in two classes"
    if kind == "flushing":
        assert name in KNOWN, f"{name} is new: flushing, unless it is given another class"


@pytest.mark.parametrize("name", sorted(n for n in dir(cp) if isinstance(getattr(cp, n), cp.ufunc)))
def test_ufuncs(name: str) -> None:
    """Ufuncs are recorded as NumPy's, or flushed."""
    known = getattr(cp, name) in ufuncs.UFUNCS
    assert known or name in ("i0", "sinc", "fix", "frexp", "bitwise_count")


def test_other_callables() -> None:
    """What is neither a function nor a ufunc is a type, has a gate, or needs no values."""
    gated = {"matmul", "RawKernel", "ReductionKernel", "flatiter"}
    for name in dir(cp):
        value = getattr(cp, name)
        if name.startswith("_") or not callable(value) or isinstance(value, types.FunctionType):
            continue
        if isinstance(value, cp.ufunc | type) or name in gated:
            continue
        assert name in callables.FREE or name in ("from_dlpack", "fromDlpack", "size"), name


@pytest.mark.parametrize("name", sorted(n for n in vars(internals.base)))
def test_methods(name: str) -> None:
    """Each attribute of the class has a stand-in, reaches a ufunc, or needs no values."""
    patches._prepare() if not patches._attributes else None
    kinds = [
        name in patches._attributes,
        name in patches._OPERATORS,
        name in patches._SKIPPED,
        name in callables.FREE_ATTRIBUTES,
    ]
    assert sum(kinds) == 1, name


@pytest.mark.parametrize("name", sorted(callables.COMPOSED))
def test_composed_functions_name_nothing_native(name: str) -> None:
    """Their bytecode, and that of CuPy's private helpers in it, reaches public functions alone."""
    if not hasattr(cp, name):
        pytest.skip("not in this CuPy")
    seen: set[str] = set()
    pending = [getattr(cp, name)]
    while pending:
        function = pending.pop()
        code = function.__code__
        if code.co_name in seen:
            continue
        seen.add(code.co_name)
        assert not {"_core", "_kernel", "fusion", "ElementwiseKernel"} & set(code.co_names), code
        for used in code.co_names:
            value = function.__globals__.get(used)
            if used.startswith("_") and isinstance(value, types.FunctionType):
                pending.append(value)


def test_recorded_functions_take_cupys_arguments() -> None:
    """Parameters that CuPy has and a handler lacks make CuPy compute, they are never ignored."""
    for name in handlers.RECORDED:
        if "." not in name and hasattr(cp, name):
            assert isinstance(getattr(cp, name), types.FunctionType) or name == "matmul", name
            if name != "matmul":
                inspect.signature(getattr(cp, name))
    assert gates._CALLED
