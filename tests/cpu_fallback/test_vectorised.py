"""What gcc makes of whole kernels: each loop over elements becomes one of vectors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.cpu_fallback import texts
from tests import vecmath_harness as harness
from tests.marks import one_in

X, Y = np.random.default_rng(2).normal(size=(2, 30, 40))


def rolled(x: Any, y: Any) -> Any:
    return sum(np.roll(x * y, (i, i - 3), axis=(0, 1)) * (i + 1) for i in range(6))


def rolled_twice(x: Any, y: Any) -> Any:
    """One array is read at one place behind several tests."""
    flow = x * (1 + np.roll(y, -1, axis=1))
    return y - 0.1 * (flow - np.roll(flow, 1, axis=1)) + np.roll(flow, 1, axis=0)


def padded(x: Any, y: Any) -> Any:
    wide = np.pad(x + y, 2, constant_values=0.5)
    return wide[2:-2, 2:-2] - 0.25 * (wide[4:, 2:-2] + wide[:-4, 2:-2] + wide[2:-2, 4:])


def chosen(x: Any, y: Any) -> Any:
    return np.where(y.sum() > 0, x * 2, x + 1) + np.where(y.max() > 9, y, -y)


def joined(x: Any, y: Any) -> Any:
    return np.concatenate([x, y + 1, x - 2], axis=1)[:, 1:] * 3


def floats(x: Any, y: Any) -> Any:
    return np.roll(x.astype(np.float32), 1, 1) + np.roll(y.astype(np.float32), 2, 0)


def remainders(x: Any, y: Any) -> Any:
    return x % 1.0 + np.fmod(x, y) - x // y


def bools(x: Any, y: Any) -> Any:
    return np.where(np.where(x > y, x > 0.5, y < 1), x, 0.0)


WHOLE, OTHER = np.random.default_rng(3).integers(-99, 99, (2, 30, 40))


def integers(x: Any, y: Any) -> Any:
    i, j, k = WHOLE, OTHER, WHOLE.astype(np.uint64)
    return i % 6 + i // j - np.fmod(i, j), k // j.astype(np.uint64)


def narrow(x: Any, y: Any) -> Any:
    """Types of fewer bits than the quotients they are taken from."""
    i, j = WHOLE.astype(np.int8), OTHER.astype(np.int8)
    return i % j, i // 7, WHOLE.astype(np.uint16) % 9, i.astype(np.int32) % OTHER.astype(np.int32)


def shifted(x: Any, y: Any) -> Any:
    """A hash and its bits: each shift looks at how far it goes."""
    h = WHOLE.astype(np.uint32)
    for by, factor in (16, 0x85EBCA6B), (13, 0xC2B2AE35):
        h = (h ^ (h >> np.uint32(by))) * np.uint32(factor)
    h = h ^ (h >> np.uint32(16))
    pairs = h - ((h >> np.uint32(1)) & np.uint32(0x55555555))
    fours = (pairs & np.uint32(0x33333333)) + ((pairs >> np.uint32(2)) & np.uint32(0x33333333))
    bits = ((fours + (fours >> np.uint32(4))) & np.uint32(0x0F0F0F0F)) * np.uint32(0x01010101)
    return h >> np.uint32(3), bits >> np.uint32(24)


def casts(x: Any, y: Any) -> Any:
    """Between whole numbers of 64 bits and floats, and of bools."""
    whole, places = np.floor(x * 6).astype(np.int64), WHOLE.astype(np.uint64) >> np.uint64(3)
    signs = (x > y) * y + (y > 0).astype(np.float32)
    return x * 6 - whole, places / 2**53, WHOLE.astype(np.float32), signs, (y * y).astype(np.uint64)


def powers(x: Any, y: Any) -> Any:
    """More than one: gcc takes no second copy of such a function into a loop."""
    return abs(x) ** 1.7 + y**3 - (x * y) ** 5


def float_powers(x: Any, y: Any) -> Any:
    return powers(x.astype(np.float32), y.astype(np.float32))


def looked_up(x: Any, y: Any) -> Any:
    """Functions of floats with vector functions, also where their values are chosen from."""
    a, b = abs(x.astype(np.float32)), y.astype(np.float32)
    logs = np.log(a) - np.log2(a) * np.log10(a) + np.log1p(a)
    chosen = np.where(b > 0, np.log(a), a), np.where(a > 1, np.sin(b), 0)
    return logs, np.tanh(b) + np.arctan2(a, b), np.logaddexp2(a, b), *chosen


def less_one(x: Any, y: Any) -> Any:
    """A special function that is made of one with vector functions, which nothing else calls."""
    return fnp.special.cosm1(x) * y


def of_integers(x: Any, y: Any) -> Any:
    """Functions of floats, of what integers are as such."""
    i, j = WHOLE.astype(np.int16), OTHER.astype(np.int32)
    return np.cbrt(i), np.arctan2(j, j + 1), np.hypot(j, 3), np.logaddexp(i, i + 1)


def pixels(x: Any, y: Any) -> Any:
    """Steps of three bytes, and backwards."""
    rgb = WHOLE.astype(np.uint8).reshape(20, 20, 3)
    grey = 0.3 * rgb[..., 0] + 0.6 * rgb[..., 1] + 0.1 * rgb[..., 2]
    return grey.astype(np.uint8), rgb[:, ::-1, 1] / 255.0


def picked(x: Any, y: Any) -> Any:
    """Rows at places that are given, which may lie outside."""
    return np.take(y, WHOLE[0], axis=0) * x[0] + np.take(x, WHOLE[0] - 3, axis=0) * 0.5


def counted(x: Any, y: Any) -> Any:
    """Totals that have no order are taken by the loop itself."""
    rgb, i = WHOLE.astype(np.uint8), WHOLE.astype(np.int32)
    found = [np.any(x > y), np.all(x < 2), np.sum(x > 0), np.sum(i != 3)]
    return *found, np.sum(rgb), np.max(i), np.min(i * 3), np.sum(WHOLE), np.max(rgb)


def complexes(x: Any, y: Any) -> Any:
    z = x + 1j * y
    return np.exp(z) * y, np.sqrt(z), np.exp(1j * x), np.sqrt(z.astype(np.complex64))


def halves(x: Any, y: Any) -> Any:
    a, b = x.astype(np.float16), y.astype(np.float16)
    return a * b + a, np.sqrt(abs(a)) / b


def escaping(x: Any, y: Any) -> Any:
    """Choices by one test after another, each for both parts of a number."""
    c = x + 1j * y
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int32)
    for _ in range(6):
        inside = z.real * z.real + z.imag * z.imag <= 4.0
        z = np.where(inside, z * z + c, z)
        count = count + inside
    return count


def falling(x: Any, y: Any) -> Any:
    """Choices within choices, each by the outcome of the last one."""
    n, steps = abs(WHOLE), np.zeros(WHOLE.shape, np.int32)
    for _ in range(6):
        steps = steps + (n > 1)
        n = np.where(n > 1, np.where((n & 1) == 1, 3 * n + 1, n >> 1), n)
    return steps


PROGRAMS = (
    bools, casts, complexes, counted, escaping, falling, halves, picked, rolled, rolled_twice,
    padded, chosen, joined, floats, remainders, integers, narrow, powers, float_powers, looked_up,
    less_one, of_integers, pixels, shifted,
)  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@one_in(10)
def test_loops_over_elements(function: Callable[..., Any], tmp_path: Path) -> None:
    """All of them, for processors with AVX2 and FMA; whether this one has does not matter."""
    text, command = _compiling(function, tmp_path)
    said = harness.run([*command, "-fopt-info-vec", "-o", str(tmp_path / "kernels.so"), "-lm"])
    done = {int(n) for n in re.findall(r"kernels\.c:(\d+):.*loop vectorized", said)}
    lines = text.read_text().splitlines()
    loops = [n for n, line in enumerate(lines, 1) if lines[n - 2].strip() == "#pragma GCC ivdep"]
    assert loops and done.issuperset(loops), [lines[n - 1] for n in loops if n not in done]


def extremes(x: Any, y: Any) -> Any:
    """Of what others have given, and of what is read."""
    least = np.minimum(np.minimum(np.minimum(x + y, x), y * 2), x)
    return np.maximum(np.maximum(least, x - 1), y), np.fmin(np.fmax(least, y), x)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_extremes_are_instructions(kind: Any, tmp_path: Path) -> None:
    """No comparison of sizes with a choice behind it."""
    _, command = _compiling(lambda x, y: extremes(x.astype(kind), y.astype(kind)), tmp_path)
    code = tmp_path / "kernels.s"
    harness.run([*command, "-S", "-o", str(code)])
    found = set(re.findall(r"\bv(?:min|max|cmpn?[gl][et])p[sd]\b", code.read_text()))
    assert found == {f"v{name}p{'d' if kind is np.float64 else 's'}" for name in ("min", "max")}


def _compiling(function: Callable[..., Any], folder: Path) -> tuple[Path, list[str]]:
    """The kernels' text, and what compiles it for processors with AVX2 and FMA."""
    if not harness.is_gcc(["cc"]) or "__x86_64__" not in harness.said_by("cc", "-dM", "-E", "-"):
        pytest.skip("cc is not gcc for x86-64, whose report is read")
    sources = [source.text for source in fc.lower(function, X, Y).sources]
    text = folder / "kernels.c"
    text.write_text(texts.unit(texts.prelude(), sources, texts.epilogue()))
    flags = [f for f in harness.accepted(["cc"], harness.FLAGS) if not f.startswith("-march")]
    return text, ["cc", *flags, "-march=x86-64-v3", str(text)]


def test_totals_without_an_order_wait_in_no_buffer() -> None:
    """Those of floats do: they have the order of the tree."""
    for text in fc.lower(counted, X, Y).emit("c"):
        assert "[FC_CHUNK" not in text
        assert "fc_fold_" not in text
    (text,) = fc.lower(lambda x: x.sum(), X).emit("c")
    assert "[FC_CHUNK" in text
