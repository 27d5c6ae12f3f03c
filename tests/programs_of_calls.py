# ruff: noqa: E501
"""Random programs around one fused function, and steps that call it and change what it reads."""

from __future__ import annotations

import random

PRELUDE = """
import collections, math
class P:
    k = 2.0
    __slots__ = ("a", "b", "n", "s", "__dict__")
    def __init__(self, a, n):
        self.a = a
        self.n = n
        self.s = [a, n]
    @property
    def half(self):
        return self.a * 0.5
    def m(self, v):
        self.n = self.n + 1
        return v + self.a * self.k
    def add(self, v):
        self.a += v
        return self.a
    def __add__(self, v):
        return self.a + v * CFG["n"]
class Q(P):
    __slots__ = ()
    def m(self, v):
        return super().m(v) - self.n
def helper(v, w=1.0):
    if K > 2:
        return v - w
    return v + K
def writes(v):
    v += 1
    LOG.append(v[0])
    return v[1:]
fs = {"a": lambda v: v + K, "b": helper}
K = 1
G = np.arange(6.0)
LOG = []
CFG = {"n": 2, "a": G}
x = np.arange(6.0) - 2
y = np.ones(6)
z = np.arange(12.0)
l = [x, y, 1.5]
d = {"a": np.full(6, 3.0), "n": 2}
o = P(np.arange(6.0), 1)
q = Q(y, 2.5)
n = 2
"""


class Writer:
    """Writes one program; the same ``seed`` gives the same one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pick = self.random.choice
        self.locals = 0
        self.depth = 0

    def program(self) -> str:
        """The text of the program."""
        lines = self.block(self.random.randint(3, 12), "    ")
        text = "@fused\ndef f(x, y, n, l, d, o):\n"
        if self.random.random() < 0.1:
            text += "    global K\n    K = K + 1\n"
        text += "    t0 = x + n\n    m0 = n\n"
        return PRELUDE + text + "\n".join(lines) + f"\n    return {self.result()}\n"

    def steps(self, count: int) -> list[str]:
        """Calls, with changes in between."""
        found: list[str] = []
        for _ in range(count):
            if self.random.random() < 0.5:
                found.append(self.change())
            for _ in range(self.pick([1, 1, 2, 3])):
                found.append(f"r = {self.call()}")
        return found

    def call(self) -> str:
        r = self.random
        a = (
            "x, y"
            if r.random() < 0.7
            else self.pick(
                [
                    "x, x",
                    "y, x",
                    "z[:6], z[6:]",
                    "z[:6], z[3:9]",
                    "x, G",
                    "x[::-1], x",
                    "z[::2], z[1::2]",
                    "o.a, x",
                    "d['a'], d['a']",
                ]
            )
        )
        n = (
            "n"
            if r.random() < 0.7
            else self.pick(
                [
                    "3",
                    "2.5",
                    "True",
                    "0",
                    "-1",
                    "np.float32(1.5)",
                    "np.int8(4)",
                    "np.float64(-0.0)",
                    "K",
                ]
            )
        )
        rest = (
            "l, d, o"
            if r.random() < 0.8
            else self.pick(
                [
                    "l, d, q",
                    "[x, y, n], {'a': y, 'n': 1}, q",
                    "[l[0], G, 2], CFG, o",
                    "l, d, P(x, 2)",
                ]
            )
        )
        if r.random() < 0.1:
            parts = rest.rsplit(", ", 1)
            return f"f({a}, {n}, {parts[0]}, o={parts[1]})"
        return f"f({a}, {n}, {rest})"

    def change(self) -> str:
        return self.pick(
            [
                "x[:] = np.arange(6.0) - 3", "y += 1", "y[:] = -1", "K = 5", "K = 0.5", "K = 2",
                "G = np.ones(6)", "G = x", "G += 1", "LOG.clear()", "LOG.append(7)", "LOG = []",
                "CFG['n'] = 3", "CFG['n'] = 1.5", "CFG['a'] = x", "CFG['new'] = 1",
                "l = [x, y, 1.5]", "l[2] = 4", "l[0] = np.ones(6)", "l[1] = l[0]", "l = [y, y, 2]",
                "d['a'] = y", "d['n'] = 0.25", "d = {'n': 1, 'a': x}", "d = CFG",
                "o.a = x", "o.a = np.zeros(6)", "o.n = 0", "o.s = l", "o.s = [o]", "o = q",
                "o = P(np.ones(6), 2)", "o.extra = 1", "P.k = 3.0", "P.k = 2", "Q.k = 1.0",
                "fs['a'] = lambda v: v * K", "fs['b'] = fs['a']", "helper = writes",
                "helper.__defaults__ = (2.0,)", "P.m = lambda self, v: v - 1",
                "Q.add = lambda self, v: v", "n = 3", "n = 2.5", "n = 0", "x = np.arange(6.0)",
                "x = z[:6]; y = z[6:]", "x = z[1:7]; y = z[:6]", "r = None", "x[0] = np.nan",
                "o.b = y", "y = y.copy()", "l.append(x)", "l.append(l)", "d['self'] = d",
                "x = np.arange(6, dtype='f4')", "y = np.arange(6)", "o.half2 = r",
            ]
        )  # fmt: skip

    def array(self, depth: int = 2) -> str:
        simple = [
            "x",
            "y",
            "t0",
            "l[0]",
            "l[1]",
            "d['a']",
            "o.a",
            "G",
            "CFG['a']",
            "o.half",
            "x[::-1]",
        ]
        simple += [f"t{i}" for i in range(1, self.locals)]
        if depth == 0 or self.random.random() < 0.3:
            return self.pick(simple)
        a, b = self.array(depth - 1), self.array(depth - 1)
        s = self.number(1)
        return self.pick(
            [
                f"({a} + {b})", f"({a} - {b})", f"({a} * 0.5)", f"np.minimum({a}, {b})",
                f"({a} + {s})", f"({s} - {a})", f"np.where({a} > {s}, {a}, {b})", f"abs({a})",
                f"helper({a})", f"fs['a']({a})", f"o.m({a})", f"(o + {a})", f"np.maximum({a}, {s})",
                f"np.roll({a}, 1)", f"np.concatenate([{a}[:2], {b}[2:]])", f"{a}.copy()",
                f"np.array({a})", f"np.asarray({a})", f"({a} + {a}.max())", f"{a}[:]",
                f"np.clip({a}, -2, 2)", f"({a}.reshape(2, 3) + 1).ravel()", f"np.sort({a})",
                f"(np.zeros(6) + {s})", f"sum([{a}, {b}])", f"fs['b']({a}, w={s})",
                f"(lambda v: v + {s})({a})", f"np.add({a}, {b}, out=np.empty(6))",
            ]
        )  # fmt: skip

    def number(self, depth: int = 2) -> str:
        simple = [
            "n",
            "m0",
            "K",
            "d['n']",
            "o.n",
            "CFG['n']",
            "2",
            "1.5",
            "len(LOG)",
            "len(l)",
            "o.k",
        ]
        if depth == 0 or self.random.random() < 0.4:
            return self.pick(simple)
        a, b = self.number(depth - 1), self.number(depth - 1)
        v = self.array(0)
        return self.pick(
            [
                f"({a} + {b})", f"({a} - {b})", f"({a} * 0.5)", f"min({a}, {b})", f"abs({a})",
                f"float({a})", f"int({a})", f"round({a})", f"({a} // 2)", f"{v}.max()",
                f"{v}[0]", f"float({v}.min())", f"{v}.max().item()", f"{v}.argmax()",
                f"math.floor({a})", f"max({a}, 1)", f"({a} if {a} > 1 else {b})", f"-{a}",
                f"len({v}[{v} > 1])", f"int({v}[1] > 0)", f"bool({a})",
            ]
        )  # fmt: skip

    def condition(self) -> str:
        v, s = self.array(0), self.number(1)
        return self.pick(
            [
                f"{v}[0] > {s}", f"{s} > 1", f"{v}.max() < 4", "len(l) > 4", "o.n > 3",
                f"({v} > {s}).any()", "x is y", "l[0] is x", "hasattr(o, 'b')", "'k' in d",
                "isinstance(n, int)", f"{s} == 2", f"np.all({v} < 3)", "len(LOG) % 2",
                "d is CFG", "o.a is x", "type(o) is P",
            ]
        )  # fmt: skip

    def block(self, count: int, indent: str) -> list[str]:
        found = []
        for _ in range(count):
            found += [indent + line for line in self.statement()]
        return found or [indent + "pass"]

    def statement(self) -> list[str]:
        r = self.random.random()
        if r < 0.12 and self.depth < 2:
            self.depth += 1
            known = self.locals
            head = self.pick(
                [
                    f"if {self.condition()}:",
                    "for i in range(2):",
                    "try:",
                    "while len(LOG) < 3:",
                    "with np.errstate(all='ignore'):",
                    "if (w := len(l)) > 3:",
                ]
            )
            body = self.block(self.random.randint(1, 3), "    ")
            if head.startswith("while"):
                body.append("    LOG.append(1)")
            lines = [head, *body]
            if head.startswith("if") and self.random.random() < 0.5:
                self.locals = known
                lines += ["else:", *self.block(self.random.randint(1, 2), "    ")]
            if head == "try:":
                self.locals = known
                lines += self.pick(
                    [
                        ["except ValueError:", "    x += 1"],
                        ["finally:", "    o.n += 1"],
                        ["except (IndexError, KeyError) as e:", "    LOG.append(str(e))"],
                    ]
                )
            self.locals = known
            self.depth -= 1
            return lines
        if r < 0.35 and not self.depth:
            self.locals += 1
            name = f"t{self.locals}"
            line = f"{name} = {self.array()}"
            self.locals += 1
            self.locals -= 1
            return [line] if self.locals > 0 else []
        a, b, s, t = (
            self.array(0),
            self.array(),
            self.number(),
            self.pick(["x", "y", "l[0]", "d['a']", "o.a", "CFG['a']", "t0"]),
        )
        return [
            self.pick(
                [
                    f"{t} += {b}",
                    f"{t} -= {s}",
                    f"{t} *= 0.5",
                    f"{t}[1:] = {b}[:-1]",
                    f"{t}[::2] += {s}",
                    f"{t}[{a} > {s}] = {s}",
                    f"{t}[0] = {s}",
                    f"{t}[:] = {b}",
                    f"np.add({a}, {b}, out={t})",
                    f"np.copyto({t}, {b})",
                    f"m0 = {s}",
                    f"np.multiply({a}, 0.5, out={t}, where={a} > 0)",
                    f"{t}[1:] += {t}[:-1]",
                    f"l.append({b})",
                    f"l[0] = {b}",
                    f"l[2] = {s}",
                    "l[0], l[1] = l[1], l[0]",
                    "l.pop() if len(l) > 3 else None",
                    "del l[3:]",
                    "l.insert(3, 1)",
                    f"d['a'] = {b}",
                    f"d['n'] = {s}",
                    f"d['k'] = {b}",
                    "d.pop('k', None)",
                    f"d['l'] = [{b}, {s}]",
                    f"d.setdefault('v', []).append({s})",
                    f"o.a = {b}",
                    f"o.n = {s}",
                    f"o.b = {a}[1:]",
                    f"o.s.append({s})",
                    f"o.add({b})",
                    f"writes({a})",
                    f"LOG.append({s})",
                    f"CFG['n'] = {s}",
                    f"CFG['a'] = {b}",
                    f"o.w = {b}",
                    f"setattr(o, 'v', {s})",
                    f"l = [*l, {b}]",
                    f"if {self.condition()}: raise ValueError(str(n))",
                    f"if {self.condition()}: return {self.result()}",
                    f"d[{s}] = 1",
                    f"assert {a}.shape == (6,)",
                    f"t0 = {b}",
                    "x = x[::-1]",
                    "x, y = y, x",
                    f"t0 = [v + {s} for v in l[:2]][0]",
                    f"LOG[-1:] = [{s}]",
                    f"o.t = ({a}, {b}, o)",
                    f"t0 = np.where({a}, {b}, t0)",
                    f"fs['c'] = {s}",
                    f"P.count = {s}",
                    "LOG.extend(str(n))",
                    f"LOG.append({b})",
                    f"d.update(z={b})",
                ]
            )
        ]

    def result(self) -> str:
        parts = [
            self.pick([self.array(), self.number(), "x", "y[1:]", "l", "d", "o", "[x, y]", "LOG", "x[::2]", "o.s", "{'r': x, 'n': n}", "t0", "(t0, t0)", "m0", "CFG", "None", "x.sum()", "o.n", "f'{n}'", "x.T", "{n, 1}"])
            for _ in range(self.random.randint(1, 4))
        ]  # fmt: skip
        return ", ".join(parts)
