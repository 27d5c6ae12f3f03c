"""On a device: every ufunc of CuPy's gives CuPy's own bits, at every type, over special values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.strategies import same_bits

cupy = pytest.importorskip("cupy")
scipy_special = pytest.importorskip("cupyx.scipy.special")
spaces = pytest.importorskip("fusecuda.capture.cupy.memory")

pytestmark = pytest.mark.gpu
COUNT = 500


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No block is passed through, though all of them are one statement, and the arrays tiny."""
    monkeypatch.setattr(spaces.CudaSpace, "is_cupys_own", False)


def ufuncs() -> dict[str, Any]:
    """Each ufunc by its name."""
    found: dict[str, Any] = {}
    for space in (cupy,):
        for name, value in sorted(vars(space).items()):
            if isinstance(value, cupy.ufunc) and value not in found.values():
                found[f"special.{name}" if name in found else name] = value
    return found


UFUNCS = ufuncs()


def operand(char: str, rng: np.random.Generator) -> np.ndarray:
    """Numbers of every size, and the special ones; of integers also the ends."""
    dtype = np.dtype(char)
    if dtype.kind == "c":
        part = operand("f" if char == "F" else "d", rng)
        other = rng.permutation(part)
        return (part + 1j * other).astype(dtype)
    if dtype.kind == "b":
        return rng.random(COUNT) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        ends = [info.min, info.max, 0, 1, info.max // 2, 7]
        some = rng.integers(max(info.min, -20), min(info.max, 20), COUNT - len(ends))
        return np.concatenate([np.array(ends, dtype), some.astype(dtype)])
    info = np.finfo(dtype)
    special = [0.0, -0.0, 1, -1, 0.5, np.inf, -np.inf, np.nan, info.max, info.tiny, info.eps]
    numbers = rng.normal(size=COUNT - len(special)) * 10.0 ** rng.integers(
        -3, 3, COUNT - len(special)
    )
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(special), numbers]).astype(dtype)


def signatures(ufunc: Any) -> Iterator[str]:
    """Operand types that CuPy has a loop for."""
    for signature in ufunc.types:
        operands, _, _ = signature.partition("->")
        if set(operands) <= set("?bBhHiIlLqQefdFD"):
            yield operands


@pytest.mark.parametrize("name", UFUNCS)
def test_a_block_gives_cupys_bits(name: str) -> None:
    """All types of a ufunc in one block."""
    ufunc = UFUNCS[name]
    rng = np.random.default_rng(11)
    given = {}
    for chars in signatures(ufunc):
        pairs = [operand(c, rng) for c in chars]
        if len(pairs) > 1:
            pairs = [rng.permutation(p) for p in pairs]
        given[chars] = [cupy.asarray(p) for p in pairs]
    wanted: dict[str, Any] = {}
    for chars in list(given):
        try:
            wanted[chars] = ufunc(*given[chars])
        except (TypeError, ValueError, cupy.cuda.compiler.CompileException):
            del given[chars]  # some loops of complex numbers do not compile
    with fc.fused():
        found = {chars: ufunc(*arrays) for chars, arrays in given.items()}
    wrong = [
        difference(chars, given[chars], want, got)
        for chars, result in wanted.items()
        for want, got in zip(several(result), several(found[chars]), strict=True)
        if not same_bits(cupy.asnumpy(want), cupy.asnumpy(got))
    ]
    assert not wrong, "\n".join(wrong)


def several(value: Any) -> tuple[Any, ...]:
    """One or more results."""
    return value if isinstance(value, tuple) else (value,)


def difference(chars: str, operands: list[Any], want: Any, got: Any) -> str:
    """How many elements differ, and the first few."""
    a, b = cupy.asnumpy(want), cupy.asnumpy(got)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{chars}: {b.dtype}{b.shape}, not {a.dtype}{a.shape}"
    size = a.dtype.itemsize
    differs = (a.view(np.uint8).reshape(-1, size) != b.view(np.uint8).reshape(-1, size)).any(1)
    differs &= ~((a != a) & (b != b))
    places = np.flatnonzero(differs)
    first = [
        f"({', '.join(repr(cupy.asnumpy(o)[i].item()) for o in operands)}): {b[i]!r}, not {a[i]!r}"
        for i in itertools.islice(places, 3)
    ]
    return f"{chars}: {len(places)} of {len(a)}: {'; '.join(first)}"
