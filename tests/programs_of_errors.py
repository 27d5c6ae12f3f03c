"""Programs in which operations on followed numbers raise errors, between updates of arrays.

All that they do to arrays is done alike by NumPy's and CuPy's.
"""

from __future__ import annotations

import random

PRELUDE = """
import math
inf, nan = math.inf, math.nan
LOG = []
D = {"a": 0.5}
x = np.zeros(4)
y = np.ones(4)
"""
OPERATIONS = (  # none makes an integer of an integer's power: that may take all memory
    *("{a} / {b}", "1.0 / {a}", "{a} ** -1", "{a} ** 0.5", "({a} + 0.0) ** {b}"),
    *("7.0 // {a}", "{a} % {b}"),
    *("math.log({a})", "math.sqrt({a} - 1)", "math.exp({a} * 400)", "math.fmod(2.0, {a})"),
    *("float(int({a}))", "divmod(7.0, {a})[0]", "round({a})"),
    # Of NaN, CPython takes an error that came before for one of its own.
    "abs(complex({a} if {a} == {a} else 1.5e308, 1.5e308))",
    *(
        "1.0 * (1 << min(int({a}), 60))",
        "10 ** {k} * 0.5",
        "math.floor({a}) + {b}",
        "7 % {k}",
        "2 ** {k}",
    ),
    *("{a} - {b}", "0.5 * {a}", "{k} * 0.25", "min({a}, {b})", "-{a}", "math.gamma({a})"),
)
VALUES = ("0.0", "2.0", "2.0", "3.5", "-1.0", "1e200", "inf", "nan", "2", "0")
INTEGERS = ("0", "1", "3", "-2", "400")
CAUGHT = (
    *("ArithmeticError", "ZeroDivisionError", "ValueError", "OverflowError"),
    *("(ArithmeticError, ValueError, TypeError)", "Exception"),
)

# An operation on ``s``, a number for which it gives another, and one for which it raises an error.
RAISING = {
    "1.0 / s": (2.0, 0.0),
    "s ** -1": (2.0, 0.0),
    "s ** 2.5": (2.0, 1e300),
    "7.0 // s": (2.0, 0.0),
    "7.0 % s": (2.0, 0.0),
    "divmod(7.0, s)[1]": (2.0, 0.0),
    "(1 + 2j) / s": (2.0, 0.0),
    "abs(complex(s, s))": (2.0, 1.7e308),
    "math.log(s)": (2.0, 0.0),
    "math.sqrt(s)": (2.0, -1.0),
    "math.exp(s)": (2.0, 1000.0),
    "math.floor(s)": (2.0, float("inf")),
    "math.fmod(1.0, s)": (2.0, 0.0),
    "round(s)": (2.0, float("nan")),
    "round(s, -308)": (2.0, 1.7e308),
    "7 % int(s)": (2.0, 0.0),
    "1 << int(s)": (2.0, -1.0),
    "int(1.0 / s)": (2.0, 0.0),
    "[5.0, 6.0, 7.0][int(s)]": (2.0, 3.0),
    "1.0 / (1.0 / s - 0.5)": (4.0, 2.0),
}


def around(operation: str, number: str, caught: bool) -> str:
    """A program with updates of ``x`` before and after ``operation`` on ``number``."""
    tried = [f"r = {operation}"]
    if caught:
        tried = ["try:", f"    r = {operation}", "except Exception as e:"]
        tried += ["    r = type(e).__name__, str(e)", "    x -= 3"]
    lines = [f"s = {number}", "x += 1", "y = y * 0.5", *tried, "x += 2"]
    lines += ["x *= float(x.max())", "x += 1", "return r, x * 2, y"]
    return f"{PRELUDE}@fused\ndef f(x, y, n):\n" + "".join(f"    {line}\n" for line in lines)


def calls(*values: float) -> list[str]:
    """Steps: calls of the function of `around` for which ``s`` is as given."""
    return [f"x[:] = 1; y[:] = 0; y[0] = {v!r}; r = f(x, y, {v!r})" for v in values]


class Writer:
    """Writes one program; the same ``seed`` gives the same one."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed).choice
        self.random = random.Random(seed + 1).random
        self.depth = 0

    def program(self) -> str:
        """The text of the program, whose function ``f`` takes two arrays, a number and an int."""
        lines = ["s, t, k = n, 1.5, m", *self.block(self.pick((4, 5, 6, 8)))]
        body = "".join(f"    {line}\n" for line in lines)
        return f"{PRELUDE}@fused\ndef f(x, y, n, m):\n{body}    return {self.result()}\n"

    def steps(self, count: int) -> list[str]:
        """Calls, most of them with numbers that came before."""
        numbers = [self.pick(VALUES) for _ in range(3)]
        integers = [self.pick(INTEGERS) for _ in range(2)]
        return [
            f"y[:] = {self.pick(numbers)}; r = f(x, y, {self.pick(numbers)}, {self.pick(integers)})"
            for _ in range(count)
        ]

    def number(self) -> str:
        return self.pick(("s", "s", "t", "n", "D['a']"))

    def operation(self) -> str:
        """An operation on numbers."""
        return self.pick(OPERATIONS).format(a=self.number(), b=self.number(), k=self.pick("km"))

    def block(self, count: int) -> list[str]:
        """Statements."""
        return [line for _ in range(count) for line in self.statement()]

    def statement(self) -> list[str]:
        if self.random() < 0.3 and self.depth < 2:
            self.depth += 1
            inner = [f"    {line}" for line in self.block(self.pick((1, 2, 3)))]
            last = [f"    {line}" for line in self.block(1)]
            self.depth -= 1
            name = self.pick(CAUGHT)
            return self.pick(
                (
                    ["try:", *inner, f"except {name}:", *last],
                    ["try:", *inner, f"except {name} as e:", "    LOG.append(str(e))", *last],
                    ["try:", *inner, "finally:", *last],
                    ["for i in range(2):", *inner],
                    [f"if {self.number()} > 1:", *inner, "else:", *last],
                )
            )
        if self.random() < 0.5:
            name = self.pick("st")
            return [f"{name} = {self.operation()}"]
        return [
            self.pick(
                (
                    *("x += 1", "x *= 0.5", "x[1:] -= 1", "y += x", "x[0] = 3", "x = x + 1"),
                    *("s = float(x.sum())", "s = float(y.max())", "s = float(y[0])", "t = n"),
                    *("D['a'] = s", "D['a'] = t", "y = x * 2", "k = k - 1", "t = D['a']"),
                    *("LOG.append(t)", f"D['a'] = {self.operation()}"),
                )
            )
        ]

    def result(self) -> str:
        return self.pick(("s, t", "x + 1, s", "t, x * 2, D", self.operation(), "k, y"))


def written(seed: int) -> tuple[str, list[str]]:
    """The program of a seed, and what is done with it."""
    writer = Writer(seed)
    return writer.program(), writer.steps(8)
