# ruff: noqa: E501 - lines of generated programs, as they are written
"""Random programs of integers and bools of all widths: fused, they give NumPy's bits.

``python -m tests.programs_of_integers FIRST LAST`` runs the programs of these seeds; with
``--cuda`` on the emulator of CUDA.
"""

from __future__ import annotations

import contextlib
import random
import sys
import warnings
from typing import Any

import numpy as np

import fusecuda as fc

KINDS = ("u1", "i1", "i2", "u2", "?", "i4", "u4", "i8", "u8")
_SHAPES = ((37,), (5, 7), (64,), (3, 40), (33, 3), (2, 3, 17), (1, 50), (130, 4), (4, 1), (0, 3))
_NUMBERS = ("0", "1", "2", "3", "5", "7", "8", "10", "16", "100", "127", "128", "200", "255", "-1")
_NUMBERS = (
    *_NUMBERS,
    "-3",
    "256",
    "1000",
    "32767",
    "40000",
    "65535",
    "100000",
    "True",
    "2.5",
    "0.5",
)


class Writer:
    """Writes one function; the same ``seed`` gives the same one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pick = self.random.choice
        self.shape = self.pick(_SHAPES)
        self.names = [f"x{i}" for i in range(self.random.randint(1, 4))]
        self.kinds = [self.pick(KINDS) for _ in self.names]
        self.made = list(self.names)

    def function(self) -> str:
        """The text of a function ``f`` of the arrays."""
        arrays = self.arguments(0)
        space: dict[str, Any] = {"np": np, **dict(zip(self.names, arrays, strict=True))}
        lines = []
        for i in range(self.random.randint(2, 9)):
            text = self.working(lambda: self.array(2), space)
            space[f"t{i}"] = eval(text, space)
            lines.append(f"    t{i} = {text}")
            self.made.append(f"t{i}")
        results = [self.working(self.result, space) for _ in range(self.random.randint(1, 4))]
        head = f"def f({', '.join(self.names)}):\n"
        return head + "\n".join(lines) + f"\n    return {', '.join([*results, self.made[-1]])}\n"

    def working(self, write: Any, space: dict[str, Any]) -> str:
        """What ``write`` gives, and NumPy computes without an error."""
        while True:
            text: str = write()
            with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
                warnings.filterwarnings("error", ".*in cast")  # what NumPy leaves open
                if np.ndim(eval(text, space)) <= len(self.shape):
                    return text

    def arguments(self, seed: int) -> list[Any]:
        """Arrays for it."""
        rng = np.random.default_rng(seed)
        return [_values(rng, np.dtype(kind), self.shape) for kind in self.kinds]

    def leaf(self) -> str:
        """An array that is there."""
        if self.random.random() < 0.1:
            axis = len(self.shape) - 1
            return self.pick(
                [f"np.arange({self.shape[axis]})", f"np.uint8({self.random.randrange(256)})"]
            )
        return self.pick(self.made)

    def array(self, depth: int) -> str:
        """An expression of the shape of the arguments, or one that is broadcast to it."""
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf()
        a, b, c = (self.array(depth - 1) for _ in range(3))
        n, m = self.pick(_NUMBERS), self.pick(_NUMBERS)
        kind = self.pick(KINDS)
        last = "axis=-1, keepdims=True"
        kinds = [
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} + {n})", f"({a} * {n})",
            f"({n} - {a})", f"({a} // {n})", f"({a} % {n})", f"({a} // {b})", f"({a} % {b})",
            f"({n} // {a})", f"({n} % {a})", f"np.fmod({a}, {n})", f"({a} << {self.random.randrange(9)})",
            f"({a} >> {self.random.randrange(9)})", f"({a} >> {b})", f"({a} << {b})", f"({a} & {b})",
            f"({a} | {b})", f"({a} ^ {b})", f"({a} & {n})", f"({a} | {n})", f"(~{a})", f"(-{a})",
            f"np.abs({a})", f"np.sign({a})", f"np.square({a})", f"np.clip({a}, {n}, {m})",
            f"np.minimum({a}, {b})", f"np.maximum({a}, {n})", f"np.minimum({a}, {n})", f"({a} > {n})",
            f"({a} <= {b})", f"({a} == {n})", f"({a} != {b})", f"np.where({a} > {n}, {b}, {c})",
            f"np.where({a}, {b}, {n})", f"np.where({a} < {b}, {n}, {m})", f"np.logical_and({a}, {b})",
            f"np.logical_xor({a}, {n})", f"({a} > {n}) * {b}", f"({a} - {b} * {n})",
            f"({a} * {b} + {c} * {n})", f"({a} * {n} + 128 >> 8)", f"({a}.sum({last}) + {b})",
            f"({a}.max({last}) - {b})", f"({a}.argmax({last}) * {b})", f"(({a} + {b} + 1) // 2)",
            f"({a}.min() + {b})", f"np.cumsum({a}, axis=-1)", f"np.roll({a}, 1)", f"{a}[..., ::-1]",
            f"divmod({a}, {b})[{self.random.randrange(2)}]", f"np.left_shift(1, {a} % 8)",
            f"np.gcd({a}, {n})", f"np.bitwise_count({a})", f"({a} ** 2)", f"np.invert({a} > {b})",
        ]  # fmt: skip
        if self.random.random() < 0.3:
            return f"({self.pick(kinds)}).astype('{kind}')"
        return f"{a}.astype('{kind}')" if self.random.random() < 0.15 else self.pick(kinds)

    def result(self) -> str:
        """What is returned."""
        a, b, n = self.array(1), self.array(1), self.pick(_NUMBERS)
        axis = self.random.randrange(len(self.shape))
        kind = self.pick([k for k in KINDS if k != "?"])
        return self.pick(
            [
                a, a, f"{a}.sum()", f"{a}.sum(axis={axis})", f"{a}.sum(axis=0)", f"{a}.sum(axis=-1)",
                f"np.mean({a}, axis={axis})", f"{a}.max(axis={axis})", f"{a}.argmax(axis={axis})",
                f"{a}.argmin()", f"{a}.min(axis=-1)", f"({a} > {n}).any(axis={axis})", f"{a}.prod(axis=0)",
                f"({a} == {b}).all()", f"np.count_nonzero({a} > {n})", f"({a} > {n}).sum(axis=0)",
                f"np.bincount(({a} % 7).ravel().astype('i8') & 7, minlength=9)", f"{a}.sum(dtype='{kind}')",
                f"{a}.sum(axis=0, dtype='{kind}')", f"np.cumsum({a}.ravel())", f"({a} * {b}).sum(axis=0)",
                f"({a} * {b}).sum()", f"np.add.reduce({a}, axis=0)", f"{a}.mean()", f"np.ptp({a}, axis=0)",
                f"np.bitwise_xor.reduce({a}, axis=-1)", f"np.dot({a}.ravel(), {a}.ravel())",
                f"np.sort({a}, axis=-1)", f"{a}.T + 1", f"{a}.reshape(-1)[::2] * 3", f"np.diff({a}, axis=-1)",
                f"np.sum({a}, axis=0) // {max(self.shape[0], 1)}", f"np.average({a}, axis=0)",
                f"np.array([1, 2, 3])[{a} % 3]", f"np.concatenate([{a}, {a}])", f"{a}.all(axis=0)",
                f"np.median({a}, axis=-1)", f"{a}.var(axis=0)", f"({a} > {n}).mean(axis=0)",
            ]
        )  # fmt: skip


def _values(rng: Any, kind: Any, shape: tuple[int, ...]) -> Any:
    """All values of a type, small ones, or those at the ends of its range."""
    if kind.kind == "b":
        return rng.random(shape) < rng.choice([0.1, 0.5, 1.0])
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    how = rng.integers(4)
    if how == 0:
        return rng.integers(0, 9, shape).astype(kind)
    if how == 1:
        ends = [low, low + 1, 0, 1, 2, high - 1, high, high // 2]
        return rng.choice(np.array(ends, kind), shape)
    values = rng.integers(low, high, shape, kind, endpoint=True)
    if how == 2 and len(shape) > 1:
        return np.ascontiguousarray(values.swapaxes(0, 1)).swapaxes(0, 1)
    return values


def _same(a: Any, b: Any) -> bool:
    """True for the same bits, but for the last ones of floating-point numbers."""
    if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        return np.allclose(a, b, rtol=1e-5 if a.itemsize < 8 else 1e-12, atol=0, equal_nan=True)
    return np.array_equal(a, b)


def outcome(function: Any, arguments: list[Any]) -> Any:
    """What a call gives, or its error."""
    try:
        with warnings.catch_warnings(action="ignore"):
            warnings.filterwarnings("error", ".*in cast")
            return function(*[a.copy("K") for a in arguments])
    except Exception as error:
        return type(error).__name__, str(error)


def failure(seed: int, make: Any = None) -> str:
    """What the fused function of ``seed`` does otherwise, or an empty string."""
    writer = Writer(seed)
    text = writer.function()
    space: dict[str, Any] = {"np": np}
    exec(compile(text, f"<program {seed}>", "exec"), space)
    fused = (make or fc.fused)(space["f"])
    for turn in (0, 1, 2):
        arguments = writer.arguments(seed + turn * 1000003)
        plain = outcome(space["f"], arguments)
        if isinstance(plain[0], str) and plain[0] == "RuntimeWarning":
            continue
        ours = outcome(fused, arguments)
        if isinstance(plain[0], str) or isinstance(ours[0], str):
            same = (
                plain == ours if isinstance(plain[0], str) and isinstance(ours[0], str) else False
            )
            where = "an error"
        else:
            bad = [i for i, (p, o) in enumerate(zip(plain, ours, strict=True)) if not _same(p, o)]
            same, where = not bad, f"results {bad}"
            plain, ours = ([r[i] for i in bad] for r in (plain, ours))
        if not same:
            kinds = ", ".join(f"{n}: {k}" for n, k in zip(writer.names, writer.kinds, strict=True))
            return f"{text}{kinds} {writer.shape}, turn {turn}, {where}\n{plain}\n{ours}"
    return ""


def main(first: int, last: int) -> None:
    """Print the failures among the programs of these seeds."""
    for seed in range(first, last):
        print("seed", seed, file=sys.stderr, flush=True)
        if why := failure(seed):
            print(f"=== seed {seed}\n{why[:3000]}", flush=True)


if __name__ == "__main__":
    from fusecuda.capture.record.budget import Budget
    from fusecuda.capture.record.rest import Trial

    Trial.wants_plain = property(lambda trial: False)  # type: ignore[assignment,method-assign]
    Budget.FIRST = float("inf")
    main(int(sys.argv[1]), int(sys.argv[2]))
