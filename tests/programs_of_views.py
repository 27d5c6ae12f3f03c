"""Random functions of arrays, drawn while they are executed: views of views, and writes to them.

Each statement is tried on NumPy's arrays before it is taken, so the functions work on arrays of any
shape, on parts of their arguments and on what masks pick; they branch and loop on values, append to
lists and return views of what they were given. All values are multiples of 1/4 below 64, of which
sums are exact: what a fused function gives and leaves has the bits of the plain one's.
"""

from __future__ import annotations

import itertools
import linecache
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.capture_check import outcome, same_outcome, twin

DTYPES = ("f8", "f8", "f8", "f4", "i8", "i4", "u1", "?")
SHAPES = ((4, 6), (5,), (2, 3, 4), (1, 5), (3, 1, 4), (0, 3), (6, 6), (3, 33))
_LARGEST = 2000  # elements
_REFUSED = (
    *(ValueError, TypeError, IndexError, KeyError, NameError, SyntaxError),
    *(ArithmeticError, AttributeError),
)
_numbers = itertools.count()


class UnfitError(Exception):
    """There is nothing to draw of the kind that was asked for."""


def cut(v: Any) -> Any:
    """``v`` brought back among small numbers; exact in every dtype."""
    return v if v.dtype.kind == "b" else np.remainder(v, v.dtype.type(64))


def laid(values: Any, how: str) -> Any:
    """``values`` in another layout: turned, backwards, with gaps, or behind another element."""
    if how == "F" or not values.ndim:
        return values.copy(how if how == "F" else "C")
    if how == "back":
        return np.ascontiguousarray(values[..., ::-1])[..., ::-1]
    room = np.zeros((*values.shape[:-1], 2 * values.shape[-1] + 1), values.dtype)
    shown = room[..., 1 : 1 + values.shape[-1]] if how == "part" else room[..., :-1:2]
    shown[...] = values
    return values.copy() if how == "C" else shown


class Function:
    """A function drawn from ``seed``: its ``text``, which defines `f`, and arguments for it."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        self.pick = self.random.choice
        shape = self.pick(SHAPES)
        self.shapes = [shape, *(self.pick([shape, shape, shape[-1:], ()]) for _ in range(2))]
        self.dtypes = [self.pick(DTYPES), self.pick(DTYPES), self.pick(DTYPES)]
        if self.random.random() < 0.5:
            self.dtypes[1:] = self.dtypes[:1] * 2
        self.lines: list[str] = []
        self.space = self.begun()
        wanted = self.random.randint(4, 14)
        for _ in range(6 * wanted):
            if len(self.lines) < wanted:
                self.statement()
        names = [k for k in self.space if k[0] in "tvs" and k[1:].isdigit()]
        some = self.random.sample(names, min(len(names), self.random.randint(1, 5)))
        result = ", ".join([*some, *self.random.sample(["a", "b.T", "c", "found", "n"], 2)])
        lines = ["def f(a, b, c, n, found):", *_indented(self.lines), f"    return [{result}]"]
        self.text = "\n".join(lines) + "\n"

    # --- arguments

    def arguments(self, turn: int = 0, layout: str = "C") -> list[Any]:
        """Arguments of the same kinds each time; other values at other turns."""
        rng = np.random.default_rng((self.seed, turn))
        made = [self._values(rng, d, s) for d, s in zip(self.dtypes, self.shapes, strict=True)]
        found = [self._values(rng, "f8", self.shapes[0]), self._values(rng, "i8", (4,))]
        return [*(laid(m, layout) for m in made), 2, found]

    def _values(self, rng: np.random.Generator, dtype: str, shape: Any) -> Any:
        low = 0 if dtype in ("u1", "?") else -9
        values = rng.integers(low, 10, shape)
        if dtype == "?":
            return np.asarray(values > 4)
        return np.asarray(values / 4 if dtype[0] == "f" else values, dtype)

    def calls(self) -> Iterator[list[Any]]:
        """Arguments alike, of other values, in other layouts, and that are views of each other."""
        for turn in (0, 0, 1, 2, 3):
            yield self.arguments(turn)
        first, *others = self.arguments(4)
        yield [first, *others[:3], [first[...], *others[3][1:]]]
        kind = first.shape, first.dtype
        same = [i for i in (0, 1) if (others[i].shape, others[i].dtype) == kind]
        for shown in (first, first[::-1] if first.ndim else first):
            for i in same[:1]:
                yield [first.copy(), *others[:i], shown, *others[i + 1 :]]
        if same:
            room = np.resize(first, first.size + 1)
            room[:] = cut(np.arange(room.size)).astype(room.dtype)
            parts = [room[:-1].reshape(first.shape), room[1:].reshape(first.shape)]
            yield [parts[0], *others[: same[0]], parts[1], *others[same[0] + 1 :]]
        for layout in ("F", "back", "part", "gaps"):
            yield self.arguments(5, layout)
        yield self.arguments(6)

    # --- drawing

    def begun(self) -> dict[str, Any]:
        """The variables of a call that begins."""
        names = ("a", "b", "c", "n", "found")
        return {"np": np, "cut": cut, **dict(zip(names, twin(self.arguments()), strict=True))}

    def value(self, text: str) -> Any:
        """What ``text`` is worth here."""
        return eval(text, self.space)

    def array(self, fits: Callable[[Any], bool] = lambda v: True) -> str:
        """Text of a view of a variable, or of an array in the list."""
        names = [k for k, v in self.space.items() if isinstance(v, np.ndarray)]
        names += ["found[0]", "found[-1]"]
        for _ in range(8):
            text = self.view(self.pick(names))
            if fits(self.value(text)):
                return text
        raise UnfitError

    def view(self, text: str) -> str:
        """Text of a view of what ``text`` is, or that itself."""
        for _ in range(self.pick([0, 0, 1, 1, 2, 3])):
            v = self.value(text)
            other = self.pick(self.views(text, v))
            try:
                shown = self.value(other)
            except _REFUSED:
                continue
            if isinstance(shown, np.ndarray) and shown.size <= _LARGEST and shown.ndim < 5:
                text = other
        return text

    def views(self, t: str, v: Any) -> list[str]:
        """Texts of views, some of which may not fit."""
        axes = list(range(v.ndim))
        self.random.shuffle(axes)
        kinds = [":", "::-1", "::2", "1:", ":-1", "1:-1", "-2:", "1::2", "None, :", "0", "-1"]
        slices = ", ".join(self.pick(kinds) for _ in range(v.ndim))
        sizes = [d for d in range(1, 40) if v.size and v.size % d == 0]
        return [
            *[f"{t}[{slices or '...'}]"] * 5, f"{t}.T", f"{t}.transpose({tuple(axes)})",
            f"{t}.reshape({self.pick(sizes or [1])}, -1)", f"{t}.reshape(-1)", f"{t}.ravel()",
            f"{t}.ravel('F')", f"{t}[None]", f"{t}[..., None]", f"{t}.diagonal()", f"np.flip({t})",
            f"np.broadcast_to({t}, {(2, *v.shape)})", f"np.squeeze({t})", f"{t}.real",
            f"np.split({t}, [1])[1]", f"np.ascontiguousarray({t})", f"np.asarray({t})",
            f"np.lib.stride_tricks.sliding_window_view({t}, 2, -1)", f"np.asarray({t}, order='C')",
        ]  # fmt: skip

    def partner(self, t: str) -> str:
        """Text of what goes with ``t``, element by element."""
        v = self.value(t)
        if self.random.random() < 0.3:
            return "True" if v.dtype.kind == "b" else self.pick(["2", "1", "n", "3"])
        return self.array(lambda w: _goes_with(v, w))

    def expression(self) -> str:
        """Text of what is made of arrays."""
        t = self.array()
        p, v = self.partner(t), self.value(t)
        along = self.random.randrange(v.ndim) if v.ndim else 0
        axis = self.pick([f"axis={along}", f"axis={along}, keepdims=True", "axis=None"])
        rows = f"where=np.arange({v.shape[-1] if v.ndim else 1}) % 2 == 0"
        return self.pick([
            *[f"cut({t} + {p})", f"cut({t} - {p})", f"cut({t} * 2)"] * 2,
            f"np.maximum({t}, {p}) + 0", f"np.where({t} > 1, {t}, {p})", f"{t} > {p}",
            f"{t} == {p}", f"np.clip({t}, 1, 3) + 0",
            *[f"cut(np.asarray(np.sum({t}, {axis})))", f"np.max({t}, {axis}) + 0"] * 2,
            f"cut(np.asarray(np.sum({t}, {axis}, {rows})))", f"np.any({t}, {axis})",
            f"np.argmax({t}, {axis})", f"cut(np.cumsum({t}, axis={along}))", f"{t}.copy()",
            f"np.concatenate([{t}, {t}[:1]])", f"np.stack([{t}, {t}], axis={along})",
            f"np.roll({t}, 1, {along})", f"np.sort({t}, axis={along})", f"np.pad({t}, 1)",
            f"{t}[[0, -1]]", f"{t}[{t} > 1]", f"cut({t}[{t} > 1] + 1)", f"np.zeros_like({t})",
            "np.arange(4.0)", "np.array([1.5, 2.5, 0.25])", f"np.repeat({t}, 2, {along})",
            f"cut({t}.astype('i8'))", f"cut({t}.astype('f8'))", f"np.take({t}, [0, -1], {along})",
            f"cut(abs({t}) // 2)", f"np.flatnonzero({t} > 1)", f"{t} * 0.5 > {p}",
        ])  # fmt: skip

    def write(self) -> str:
        """Text of a write to a view."""
        t = self.array(lambda v: v.flags.writeable and not _repeats(v))
        p, v = self.partner(t), self.value(t)
        whole = t if t.endswith("]") else f"{t}[...]"
        e = self.pick([p, p, self.array(lambda w: _goes_with(v, w)), f"{t}.copy()[None]"])
        if v.dtype.kind in "iub" and np.asarray(self.value(e)).dtype.kind == "f":
            raise UnfitError
        k = "True" if v.dtype.kind == "b" else self.pick(["0", "2", "n"])
        written = self.pick([
            f"{whole} = {e}", f"np.copyto({t}, {e})", f"np.copyto({t}, {e}, where={t} == {t})",
            f"{t}[{t} > 1] = {k}", f"{t}[{t} > 1] = {t}[{t} > 1][::-1]", f"{t}[[0, -1]] = {k}",
            f"{t}.fill({k})", f"{t}.sort()", f"{t}[1:] = {t}[:-1]",
            f"np.add.at({t}, [0, -1, 0], {k})",
            f"{whole} {'|' if v.dtype.kind == 'b' else '+'}= {e}", f"np.putmask({t}, {t} > 1, {k})",
            f"np.add({t}, {e}, out={t})", f"np.add({t}, {e}, out={t}, where={t} > 1)",
        ])  # fmt: skip
        return f"{written}; {whole} = cut({t})"

    def other(self) -> str:
        """Text of a statement about numbers and the list."""
        t = self.array(lambda v: v.size > 0 and v.ndim > 0)
        number = f"s{len(self.space)}"
        return self.pick([
            f"found.append({t})", f"found.append({self.expression()})", "found[0] = found[-1]",
            f"{number} = float({t}.max())", f"{number} = len({t}[{t} > 1])", "n = n % 3 + 1",
            f"{number} = {t}[{t} > 1].shape[0]", f"{number} = {t}.argmax()",
            f"{number} = {t}.min()",
        ])  # fmt: skip

    def simple(self) -> str:
        """Text of one statement."""
        kind = self.random.random()
        if kind < 0.4:
            return f"t{len(self.space)} = {self.expression()}"
        if kind < 0.5:
            return f"v{len(self.space)} = {self.array()}"
        return self.write() if kind < 0.85 else self.other()

    def statement(self) -> None:
        """Draw one more, and take it if it works from the beginning on."""
        try:
            text = self.simple()
            if self.random.random() < 0.2:
                t = self.array(lambda v: v.size > 0 and v.ndim > 0)
                heads = [
                    f"if {t}.max() > 1:", f"if ({t} > 1).all():", "for i in range(2):",
                    f"for i in range(len({t}[{t} > 1]) % 3):", f"if float({t}.ravel()[0]) > 1:",
                ]  # fmt: skip
                head = self.pick(heads)
                text = "\n".join([head, *_indented([text])])
            space = self.begun()
            with np.errstate(all="ignore"):
                exec("\n".join([*self.lines, text]), space)
        except (*_REFUSED, UnfitError):
            return
        if all(_is_small(v) for v in space.values()):
            self.lines.append(text)
            self.space = space


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for text in lines for line in text.splitlines()]


def _goes_with(v: Any, w: Any) -> bool:
    try:
        shape = np.broadcast_shapes(v.shape, w.shape)
    except ValueError:
        return False
    return math.prod(shape) <= _LARGEST and (v.dtype.kind == "b") == (w.dtype.kind == "b")


def _repeats(v: Any) -> bool:
    """True if one place in memory may be several elements."""
    room = sum((n - 1) * abs(step) for n, step in zip(v.shape, v.strides, strict=True))
    return v.size > 1 and v.nbytes > room + v.itemsize


def _is_small(value: Any) -> bool:
    return not isinstance(value, np.ndarray) or (value.size <= _LARGEST and value.ndim < 5)


def defined(text: str, decorate: Callable[[Any], Any]) -> Any:
    """The function `f` that ``text`` defines, decorated."""
    name = f"<function {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"np": np, "cut": cut}
    exec(compile(text, name, "exec"), space)
    return decorate(space["f"])


def arrays_in(*values: Any) -> list[Any]:
    """The arrays in lists, in order."""
    parts = [arrays_in(*v) if isinstance(v, list) else [v] for v in values]
    return [v for part in parts for v in part if isinstance(v, np.ndarray)]


def told(*values: Any) -> Any:
    """Which arrays may be written to, and which share memory."""
    arrays = arrays_in(*values)
    pairs = [[np.shares_memory(x, y) for x in arrays] for y in arrays]
    return pairs, [x.flags.writeable or not x.size for x in arrays]


def check(function: Function, decorate: Callable[[Any], Any]) -> None:
    """Call ``function`` decorated and plain with the same arguments, and compare all."""
    plain, fused = defined(function.text, lambda f: f), defined(function.text, decorate)
    for number, args in enumerate(function.calls()):
        wanted_args, got_args = twin(args), twin(args)
        try:
            with np.errstate(all="ignore"):
                wanted, got = outcome(plain, *wanted_args), outcome(fused, *got_args)
            same_outcome(got, wanted)
            same_outcome(got_args, wanted_args)
            if not isinstance(wanted, Exception):
                assert told(got, got_args) == told(wanted, wanted_args), "what shares memory"
        except Exception as error:
            error.add_note(f"seed {function.seed}, call {number}:\n{function.text}")
            raise
