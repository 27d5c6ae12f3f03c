# ruff: noqa: E501 - lines of generated programs, as they are written
"""Random programs of functions that enter blocks from frames, loops, closures and each other."""

from __future__ import annotations

import random
import textwrap

_PRELUDE = """
import math
class P:
    def __init__(self, a, n):
        self.a, self.n = a, n
    def grow(self, v):
        self.n += 1
        self.a = self.a + v
        return self.a
K = 1
G = np.arange(6.0)
H = np.ones(6)
LOG = []
def helper(v, w=1.0):
    return v - w if K > 2 else v + K
"""
_ARRAYS = ("a", "b", "c", "v", "G", "H", "o.a", "items[0]", "items[1]", "state['x']")
_KEEPING = ("del ", "import ", "inner(", "t = lambda")  # blocks with these are not lifted
_OWN = ("a", "b", "c", "v", "n", "k", "t", "u")


class Writer:
    """Writes one program; the same ``seed`` gives the same one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pick = self.random.choice
        self.in_loop = self.in_block = self.depth = 0
        self.functions: list[str] = []
        self.often_lifted = (
            self.random.random() < 0.7
        )  # blocks do little that keeps them as they are

    def program(self) -> str:
        """The text of the program."""
        made = [self.function(f"f{i}") for i in range(self.random.randint(1, 3))]
        return _PRELUDE + "\n".join(made)

    def steps(self) -> list[str]:
        """Calls with arrays of several lengths, and changes in between."""
        found = ["x, y, s, o = np.arange(6.0), np.ones(6), {'x': np.ones(6)}, P(np.ones(6), 1)"]
        for _ in range(self.random.randint(3, 6)):
            if self.random.random() < 0.4:
                found.append(self.pick(_CHANGES))
            found.append(f"r = {self.call(self.pick(self.functions))}")
        return found

    def call(self, name: str) -> str:
        x = self.pick(["x", "x", "x", "y", "np.arange(5.0)", "x[::-1]", "G"])
        y = self.pick(["y", "y", "y", "x", "x[:]", "H", "np.ones(6)"])
        n = self.pick(["2", "2", "3", "0", "1.5", "-1"])
        return f"{name}({x}, {y}, {n}, [x, y], s, o)"

    def function(self, name: str) -> str:
        """A function with blocks in it; it may be a generator, or one around an inner function."""
        self.in_loop = self.in_block = self.depth = 0
        r = self.random
        head = []
        if r.random() < 0.3:
            head.append(f"global {self.pick(['K', 'G', 'K, G'])}")
        head += ["c = a * 2", "k = n"]
        if r.random() < 0.5:
            head.append("v = a[1:]")
        if r.random() < (0.15 if self.often_lifted else 0.4):
            head += self.inner()
        body = [line for _ in range(r.randint(1, 3)) for line in self.around()]
        end = self.pick(["a, b, c, n, k", "a, b, c, n, k, items, state", "c, k", "a", "v, n"])
        lines = [*head, *body, f"return {end}"]
        text = textwrap.indent("\n".join(lines), "    ")
        self.functions.append(name)
        return f"def {name}(a, b, n, items, state, o, again=True):\n{text}\n"

    def inner(self) -> list[str]:
        """An inner function that reads or writes the frame."""
        name = self.pick(["n", "k", "c", "a"])
        return self.pick(
            [
                [
                    "def inner(w):",
                    f"    nonlocal {name}",
                    f"    {name} = {name} + w",
                    "    return w",
                ],
                ["def inner(w):", f"    return {name} * w"],
                [f"inner = lambda w: {name} - w"],
                [
                    "def inner(w):",
                    f"    nonlocal {name}",
                    "    with block():",
                    f"        {name} = {name} * 0.5 + w",
                    "        w = w * 2",
                    "    return w",
                ],
            ]
        )

    def around(self) -> list[str]:
        """A block in a loop, in a try, or as it is."""
        turns = self.random.randint(3, 7)
        heads = [
            [f"for i in range({turns}):"],
            [f"for i in range({turns}):"],
            [f"for i in range({turns}):"],
            [f"for i, n in enumerate([1, 2, 2.5, 3, 3, 3][:{turns}]):"],
            ["i = 0", f"while (i := i + 1) <= {turns}:"],
            [f"for i in range({turns}):", "    a = a[:-1] if i == 3 else a"],
            [f"for i in range({turns}):", "    v = a[i % 3 :]"],
            [f"for i in range({turns}):", "    v = b[::2]", "    v = v[: i + 1]"],
            [f"for i in range({turns}):", "    c = np.zeros(3 + i % 2)"],
            [f"for a in [a, b, a, b + 1, c, a][:{turns}]:", "    i = 1"],
        ]
        head = self.pick(heads)
        self.in_loop += 1
        before = self.statements(self.random.randint(0, 2)) if self.random.random() < 0.5 else []
        inside = self.block()
        after = self.statements(self.random.randint(0, 2))
        self.in_loop -= 1
        lines = [*before, *inside, *after]
        if self.random.random() < 0.3:
            lines = ["try:", *indented(lines), *self.pick(_CAUGHT)]
        return [*head, *indented(lines), *self.pick([[], [], ["else:", "    k = -1"]])]

    def block(self) -> list[str]:
        """A block that is entered by ``with``."""
        head = self.pick(["with block():"] * 5 + ["with block() as region:"])
        self.in_block += 1
        inside = self.statements(self.random.randint(1, 5))
        self.in_block -= 1
        return [head, *indented(inside)]

    def statements(self, count: int) -> list[str]:
        """Some statements."""
        found = [line for _ in range(count) for line in self.statement()]
        return found or ["pass"]

    def statement(self) -> list[str]:
        """One statement, of which a compound one has some lines."""
        r = self.random.random()
        if r < 0.2 and self.depth < 3:
            self.depth += 1
            lines = self.compound()
            self.depth -= 1
            return lines
        is_free = not (self.in_block and self.often_lifted)
        if r < 0.26 and is_free:
            return [self.leaving()]
        text = self.simple()
        while not is_free and any(word in text for word in _KEEPING):
            text = self.simple()
        return [text]

    def compound(self) -> list[str]:
        """A loop, a choice, a try or a nested block."""
        few = self.statements(self.random.randint(1, 3))
        kind = self.pick(["if", "if", "else", "for", "while", "try", "block", "with", "match"])
        if kind == "if":
            return [f"if {self.condition()}:", *indented(few)]
        if kind == "else":
            other = self.statements(1)
            return [f"if {self.condition()}:", *indented(few), "else:", *indented(other)]
        if kind == "for":
            self.in_loop += 1
            few = self.statements(self.random.randint(1, 3))
            self.in_loop -= 1
            heads = ["for j in range(2):", "for j in range(k if k in (1, 2) else 3):"]
            heads += ["for w in items[:2]:", "for w in (n, k):", "for a in (a, b):"]
            return [self.pick(heads), *indented(few)]
        if kind == "while":
            return [
                f"j{self.depth} = 0",
                f"while (j{self.depth} := j{self.depth} + 1) < 3:",
                *indented(few),
            ]
        if kind == "try":
            return ["try:", *indented(few), *self.pick(_CAUGHT)]
        if kind == "with":
            return ["with np.errstate(all='ignore'):", *indented(few)]
        if kind == "match":
            return [
                "match n:",
                "    case 2 | 3:",
                *indented(indented(few)),
                "    case _:",
                "        k = 7",
            ]
        return self.block()

    def leaving(self) -> str:
        """A statement that leaves a block, a loop or the function, mostly on a condition."""
        kinds = ["return a, n", "raise ValueError(str(i))", "return", "return c"]
        if self.in_loop:
            kinds += ["break", "continue", "break", "continue"]
        test = self.pick([self.condition(), "i == 4", "i == 3", "i == 5", "i > 2"])
        return f"if {test}: {self.pick(kinds)}"

    def condition(self) -> str:
        """A condition."""
        x, s = self.array(0), self.number(0)
        return self.pick(
            [
                f"{s} > 1", f"{x}[0] > {s}", f"{x}.max() < 4", f"({x} > {s}).any()", "a is b",
                "len(items) > 2", "'y' in state", "i % 2", "again", f"{s} == 2", "o.n > 2",
                f"len({x}) > 5", "isinstance(n, int)", "v is a", "K > 1", "len(LOG) % 3 == 1",
            ]
        )  # fmt: skip

    def array(self, depth: int = 2) -> str:
        """An expression of an array."""
        if depth == 0 or self.random.random() < 0.25:
            return self.pick([*_ARRAYS, "a", "b", "a", "c"])
        x, y, s = self.array(depth - 1), self.array(depth - 1), self.number(1)
        return self.pick(
            [
                f"({x} + {y})", f"({x} - {y})", f"({x} * 0.5)", f"np.minimum({x}, {y})",
                f"({x} + {s})", f"np.where({x} > {s}, {x}, {y})", f"helper({x})", f"helper({x}, {s})",
                f"np.roll({x}, 1)", f"{x}.copy()", f"({x} + {x}.max())", f"{x}[:]", f"{x}[::-1]",
                f"np.clip({x}, -2, 2)", f"sum([w + {s} for w in [{x}, {y}]])", f"np.zeros(len({x}))",
                f"({x} if {self.condition()} else {y})", f"(lambda w: w + {s})({x})",
                f"(u := {x} + 1)", f"np.asarray({x})", f"np.add({x}, {y}, out=np.empty(6))",
                f"np.concatenate([{x}[:2], {y}[2:]])", f"{x}[{x} > {s}]", f"o.grow({x})",
                f"np.full(6, {s})", f"np.array([{s}, 1.0, {s}] * 2)", f"({x} + i)",
            ]
        )  # fmt: skip

    def number(self, depth: int = 2) -> str:
        """An expression of a number."""
        if depth == 0 or self.random.random() < 0.4:
            return self.pick(["n", "k", "n", "K", "i", "2", "1.5", "o.n", "len(items)"])
        s, t, x = self.number(depth - 1), self.number(depth - 1), self.array(0)
        return self.pick(
            [
                f"({s} + {t})", f"({s} - {t})", f"({s} * 0.5)", f"min({s}, {t})", f"{x}.max()",
                f"float({x}.min())", f"{x}[0]", f"{x}.argmax()", f"int({s})", f"({s} // 2)",
                f"({s} if {self.condition()} else {t})", f"math.floor({s})", f"len({x})",
                f"max(w[0] for w in [{x}, {x}])", f"{x}[1:].sum()", f"round({s})", "float(a[0])",
            ]
        )  # fmt: skip

    def simple(self) -> str:
        """A simple statement."""
        x, y, s = self.array(0), self.array(), self.number()
        t = self.pick(["a", "b", "c", "v", "a", "c", "G", "o.a", "items[0]", "state['x']"])
        own = self.pick(["a", "b", "c", "v", "u", "t", "a", "c"])
        name = self.pick(self.functions) if self.functions else None
        kinds = [
            f"{own} = {y}", f"{own} = {y}", f"{own} = {y}", f"{own} += {s}", f"{t} += {y}",
            f"{t} -= {s}", f"{t} *= 0.5", f"{t}[1:] = {y}[:-1]", f"{t}[::2] += {s}",
            f"{t}[{x} > {s}] = {s}", f"{t}[0] = {s}", f"{t}[:] = {y}", f"np.add({x}, {y}, out={t})",
            f"np.copyto({t}, {y})", f"n = {s}", f"k = {s}", f"k += {s}", "n += 1", "n -= 1",
            f"v = {x}[1:]", f"v = {x}[::2]", f"v = {x}", "v = v[1:]", f"{t}[1:] += {t}[:-1]",
            f"items.append({y})", f"items[0] = {y}", "a, b = b, a", "items[0], items[1] = b, a",
            f"del {self.pick(_OWN)}", "del items[2:]", "state.pop('y', None)", "del state['y']",
            f"state['x'] = {y}", f"state['y'] = {s}", f"o.a = {y}", f"o.n = {s}", f"o.b = {x}",
            f"LOG.append({s})", f"LOG.append({y})", "LOG.append(i)", "raise ValueError(n)" if not self.random.randrange(8) else "k = 3", f"K = {s}", f"G = {y}",
            f"t = ({y}, {s})", "t, u = a, b", f"c, *t = [{y}, {s}, n]", "first, *rest = items",
            f"t = [w * {s} for w in items[:2]]", "t = {w: a + w for w in (1, n)}", "a = a[:-1]",
            f"t: float = {s}", f"k = inner({s})", f"c = inner({x})", f"c = c + inner({s})",
            "assert len(a) == 6", f"t = f'{{n}} {{{s}}}'", f"a = v = {y}", "c = a[i % 4 :]",
            "import math as m; k = m.sqrt(abs(n))", "t = lambda w: w + 1", f"t = a; t += {s}",
            "n, k = k, n", f"b[i % 5] = {s}", f"t = {x}; {x} += 1", f"u = np.empty_like({x}); u[:] = {s}",
            f"c[i % 3] += {x}[i % 3]", "k = sum(w[0] for w in items)", "t = a.sum(); k = t * 2",
            f"t = np.linspace(0, n, 6) + {x}", "state.setdefault('l', []).append(a[0])",
        ]  # fmt: skip
        if name:
            called = f"{name}({x}, {self.pick(['b', 'a', 'c'])}, {s}, items, state, o, False)"
            kinds += [f"t = {called}", f"c, *t = {called}", f"t = {called} if again else None"] * 2
        return self.pick(kinds)


_CAUGHT = [
    ["except ValueError:", "    k = 5"],
    ["except (NameError, IndexError, KeyError):", "    LOG.append(n)"],
    ["except Exception as e:", "    LOG.append(type(e).__name__ + str(e))"],
    ["finally:", "    n += 1"],
    ["except Exception:", "    raise"],
    ["except ValueError:", "    pass", "else:", "    k = 9"],
]
_CHANGES = [
    "K = 5", "K = 0.5", "K = 2", "G = np.ones(6)", "G = x", "G = np.arange(6.0)", "x = np.arange(6.0)",
    "y = x[:]", "x[:] = 1", "y += 1", "LOG.clear()", "s['x'] = x", "o.a = y", "o = P(x, 3)",
    "H = np.arange(6.0) - 3", "H = G", "helper = lambda v, w=2: v * w", "s = {'x': y}", "del s['x']",
    "x = np.arange(6, dtype='f4')", "x = np.arange(6)", "y = np.ones(6)",
]  # fmt: skip


def indented(lines: list[str]) -> list[str]:
    """The lines, one level further in."""
    return ["    " + line for line in lines]


def written(seed: int) -> tuple[str, list[str]]:
    """A program of functions with blocks, and steps that call them."""
    seeds = seed * 100
    while True:
        writer = Writer(seeds)
        program = writer.program()
        try:
            compile(program, "", "exec")
        except SyntaxError:  # a name that is a global before it is declared to be one
            seeds += 1
            continue
        return program, writer.steps()
