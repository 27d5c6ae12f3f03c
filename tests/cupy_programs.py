"""Random programs in CuPy's style, run under capture, on host memory or a device, and by NumPy."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.cupy.region import CupyRegion
from tests.capture.calls.test_programs import DTYPES, NAMES, SLICES, Writer
from tests.capture_check import equal
from tests.cupy_host import host, over, seen


def cut(v: Any) -> Any:
    """Bring values back among small integers; exact in every dtype."""
    return (np if isinstance(v, np.ndarray | np.generic) else cupy).remainder(v, v.dtype.type(64))


class CupyWriter(Writer):
    """Adds what CuPy code does besides: 0-d views, `get`, drops, temporaries that are views."""

    def statement(self) -> str:
        a, b = self.name(), self.name()
        k = int(self.rng.integers(0, 5))
        other = (
            f"v = {a}[1]; w = v[::-1]; {a} = {b}; v[...] = {k}",
            f"w = {a}.T; {a}[0] += {k}; {b} = cut({b} + w.T)",
            f"w = {a} + {b}; w[1:] -= w[:-1]; w = cut(w)",
            f"v = {a}[1, 1:2]; v += {k}; {a}[...] = cut({a})",
            f"seen.append({a}.mean(axis=0)); del v" if False else f"seen.append({a}.mean(axis=0))",
            f"w = np.stack([{a}, {b}]); {a}[...] = cut(w.max(axis=0))",
            f"{a}[1:, 1:] = {b}[:-1, :-1]",
            f"{a} = {a}.reshape(2, 6).T.reshape(3, 4)",
            f"{a}[...] = cut({b}.T.reshape(3, 4))",
            f"w = {a}.ravel(); w[::3] = {k}",
            f"{a} = cut({a} @ {b}.T @ {a}) if {a}.dtype == {b}.dtype else {a}",
        )
        return str(self.pick(*other)) if self.rng.integers(3) == 0 else super().statement()


def no_faults(self: Any, waiting: Any, error: BaseException) -> None:
    """Stands in for a recorder's search for the array that a fault concerns: there are none."""
    raise error


def to_numpy(value: Any, device: str = "cpu") -> Any:
    """``value`` with NumPy's arrays for CuPy's, which must all be plain."""
    if isinstance(value, cupy.ndarray):
        assert type(value) is cupy.ndarray, "not computed"
        return seen(value) if device == "cpu" else cupy.asnumpy(value)
    if type(value) in (list, tuple):
        return [to_numpy(v, device) for v in value]
    return value


def run_seed(seed: int, device: str = "cpu") -> None:
    """A program, the same with more statements, and both again, on other values each time.

    What is recorded is known from the second time on; the longer one leaves what is known.
    """
    length = int(np.random.default_rng(seed).integers(3, 16))
    for turn, longer in enumerate((0, 0, 2, 0, 2)):
        _run(seed, length + longer, turn, device)


def _run(seed: int, length: int, turn: int, device: str) -> None:
    """One program on NumPy arrays, and on CuPy arrays inside a block."""
    writer = CupyWriter(seed)
    source = writer.program(length)
    source = source.replace("np.array(", "np.copy(")
    dtypes = [writer.pick(*DTYPES) for _ in NAMES] if seed % 2 else [DTYPES[seed // 2 % 2]] * 4
    rng = np.random.default_rng((seed, turn))
    given = [rng.integers(0, 20, (3, 4)).astype(t) for _, t in zip(NAMES, dtypes, strict=False)]
    wanted_args = [v.copy() for v in given]
    programs = []
    for module in (np, cupy):
        space: dict[str, Any] = {"np": module, "S": SLICES, "cut": cut}
        exec(source, space)
        programs.append(space["program"])
    patch = pytest.MonkeyPatch()
    wanted = programs[0](*wanted_args)
    try:
        patch.setattr(CupyRegion, "_compute_apart", no_faults)
        arrays = [host(v) if device == "cpu" else cupy.asarray(v) for v in given]
        with fc.fused(device=device):
            got = programs[1](*arrays)
        equal(to_numpy(got, device), [np.asarray(w) for w in wanted])
        equal(to_numpy(arrays, device), wanted_args)
    except Exception as error:
        error.add_note(f"seed {seed}, turn {turn}, dtypes {dtypes}:\n{source}")
        raise
    finally:
        patch.undo()


def arranged(kind: str, values: list[Any]) -> list[Any]:
    """The values as NumPy arrays that lie in memory in some way, perhaps in one another's.

    Not in columns: NumPy's results then do so too, and other reshapes are views.
    """
    if kind == "strided":
        return [np.repeat(v, 2, axis=1)[:, ::2] for v in values]
    if kind == "overlapping" and len({v.dtype for v in values[:2]}) == 1:
        base = np.concatenate([values[0], values[1]])
        return [base[:3], base[1:4], *(v.copy() for v in values[2:])]
    if kind == "same":
        first = values[0].copy()
        return [first, *(v.copy() for v in values[1:3]), first]
    return [v.copy() for v in values]


def same_places(arrays: list[Any], device: str = "cpu") -> list[Any]:
    """CuPy arrays that lie as NumPy's ``arrays`` do, over copies of their memory."""
    bases = {id(b): b for a in arrays for b in (a if a.base is None else a.base,)}
    copies = {key: np.array(b, order="K") for key, b in bases.items()}
    if device != "cpu":
        copies = {key: cupy.asarray(b.reshape(-1, order="A")) for key, b in copies.items()}
    found: dict[int, Any] = {}
    for a in arrays:
        base = a if a.base is None else a.base
        offset = a.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        copy = copies[id(base)]
        if device == "cpu":
            view = over(
                np.ndarray(a.shape, a.dtype, copy.reshape(-1, order="A"), offset, a.strides)
            )
        else:
            view = cupy.ndarray(a.shape, a.dtype, copy.data + offset, a.strides)
        found.setdefault(id(a), view)
    return [found[id(a)] for a in arrays]


def run_call_seed(seed: int, device: str = "cpu") -> int:
    """One program as a fused function, called on arrays of several layouts; its recordings."""
    writer = CupyWriter(seed)
    source = writer.program(int(writer.rng.integers(2, 10)))
    source = source.replace("np.array(", "np.copy(").replace("(a, b, c, d)", "(a, b, c, d, k)", 1)
    source = source.replace("return", "a[0] = a[1] * k; return", 1)
    dtypes = [writer.pick(*DTYPES) for _ in NAMES]
    programs = []
    for module in (np, cupy):
        space: dict[str, Any] = {"np": module, "S": SLICES, "cut": cut}
        exec(source, space)
        programs.append(space["program"])
    function = fc.fused(programs[1], device=device)
    rng = np.random.default_rng(seed)
    kinds = ("plain", str(rng.choice(["strided", "overlapping", "same"])))
    patch = pytest.MonkeyPatch()
    try:
        patch.setattr(CupyRegion, "_compute_apart", no_faults)
        for turn in range(5):
            values = [rng.integers(0, 20, (3, 4)).astype(t) for t in dtypes]
            theirs = arranged(kinds[turn % 2], values)
            ours = same_places(theirs, device)
            k = int(rng.integers(0, 4))
            got, want = function(*ours, k), programs[0](*theirs, k)
            equal(to_numpy(got, device), [np.asarray(w) for w in want])
            equal(to_numpy(ours, device), theirs)
    except Exception as error:
        error.add_note(f"seed {seed}, dtypes {dtypes}, {kinds}, call {turn}:\n{source}")
        raise
    finally:
        patch.undo()
    return function.traces
