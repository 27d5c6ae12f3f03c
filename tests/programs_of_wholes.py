# ruff: noqa: E501
"""Programs around functions that can be called as wholes, and such that cannot; random ones."""

from __future__ import annotations

import random

HEAD = "import math\nimport cupy as cp\nx = cp.arange(6.0)\ny = cp.ones(6)\nz = cp.arange(12.0)\n"

SAME = {
    "printed": ("def f(a):\n    print(a)\n    return a + 1\n", "f(x)"),
    "rows": (
        "def f(a, b):\n    out = cp.zeros_like(b)\n    for i in range(len(b)):\n"
        "        out[i] = a[i] * b[i] - out[:i].sum()\n    return out\n", "f(x, y)",
    ),
    "in_place": ("def f(a):\n    a += 1\n    a[1:] *= 0.5\n", "f(x)"),
    "returns_its_argument": ("def f(a, b):\n    a[0] = 7\n    return b, a, a\n", "f(x, y)"),
    "same_argument_twice": ("def f(a, b):\n    a[0] += b[1]\n    return a is b, b\n", "f(x, x)"),
    "overlapping_arguments": (
        "def f(a, b):\n    a[:] = b[::-1]\n    return a is b\n", "f(z[:6], z[3:9])",
    ),
    "returns_views": ("def f(a):\n    return a[1:], a[::-1], a.reshape(2, 3).T\n", "f(x)"),
    "views_of_new_memory": (
        "def f(a):\n    n = a * 2\n    return n[1:], n, n[:3], n.reshape(3, 2)\n", "f(x)",
    ),
    "views_of_views": ("def f(a):\n    return a[1:], a\n", "f(z[2:8])"),
    "scalars": ("def f(a):\n    return a.sum(), a[0], a.argmax(), a > 1, len(a)\n", "f(x)"),
    "python_numbers": ("def f(a, n):\n    return float(a[n]), int(a[1]), n + 1\n", "f(x, 2)"),
    "tuples_lists_dicts": (
        "def f(a):\n    found = []\n    for v in a:\n        found.append(v * 2)\n"
        "    return found, {'sum': a.sum(), 'n': 3}, (a, (a[0], 1))\n", "f(x)",
    ),
    "fills_a_list_by_name": ("l = []\ndef f(a):\n    l.append(a[0])\n    return a\n", "f(x)"),
    "fills_a_list": ("l = [1, 2]\ndef f(a, l):\n    l[0] = 5\n    return l\n", "f(x, l)"),
    "list_of_arrays": (
        "l = [x, y]\ndef f(l, n):\n    for v in l:\n        v += n\n    return l, l[0], l[1][1:]\n", "f(l, 2)",
    ),
    "list_of_arrays_changed": (
        "l = [x, y, 2.0]\ndef f(l):\n    l[0] = l[0] * 0.5\n    l[2] = l[1].sum()\n"
        "    l.append(l.pop())\n    return l\n", "f(l)",
    ),
    "tuples_and_dictionaries": (
        "d = {'w': x, 'b': (y, 3), 'n': 1}\ndef f(d, pair):\n    d['w'] = d['w'] - pair[0]\n"
        "    d['b'][0][0] = 5\n    return d['w'], pair, d['b']\n", "f(d, (y, z))",
    ),
    "one_container_twice": (
        "l = [x, 1]\ndef f(a, b):\n    a[0] = b[0] + 1\n    return a is b, b[0]\n", "f(l, l)",
    ),
    "container_and_exception": (
        "l = [x]\ndef f(l):\n    l[0] = l[0] + 1\n    return 1 / (5 - int(l[0][0]))\n", "f(l)",
    ),
    "keys_added": (
        "d = {'w': x}\ndef f(d):\n    d['n'] = len(d)\n    d['w'] += 1\n    return d\n", "f(d)",
    ),
    "keywords": ("def f(a, b=2, *, c=1.5):\n    return a * b + c\n", "f(x, c=3.0)"),
    "arrays_by_keyword": ("def f(a, b):\n    b -= a\n    return b\n", "f(a=x, b=y)"),
    "many_positional": ("def f(*parts):\n    return parts[0] + parts[-1]\n", "f(x, y, x)"),
    "helpers": (
        "K = 3\ndef g(a, n=2):\n    return a * n + K\ndef f(a):\n    return g(a) - g(a, 1)\n", "f(x)",
    ),
    "recursion": (
        "def f(a, n):\n    return a if n == 0 else f(a * 0.5 + 1, n - 1)\n", "f(x, 5)",
    ),
    "inner_functions": (
        "def f(a):\n    def g(v):\n        return v * 2\n    return sum(g(v) for v in a) + g(a)\n",
        "f(x)",
    ),
    "arrays_by_name": (
        "w = cp.ones(6)\ndef f(a):\n    w[0] += 1\n    return a * w, w\n", "f(x)",
    ),
    "exceptions": (
        "def f(a):\n    a[0] += 1\n    if a[0] > 3:\n        raise ValueError('enough')\n"
        "    return a\n", "f(x)",
    ),
    "numpys_exceptions": ("def f(a, b):\n    a += 1\n    return a[:4] + b[:3]\n", "f(x, y)"),
    "caught": (
        "def f(a):\n    try:\n        return a[9]\n    except IndexError:\n        return a[0]\n",
        "f(x)",
    ),
    "no_arrays_given": (
        "def f(n):\n    p = cp.ones(n, dtype=bool)\n    p[:2] = False\n    return p\n", "f(9)",
    ),
    "math": ("def f(a):\n    return math.sqrt(a[4]) + a, math.pi * a[1]\n", "f(x)"),
    "texts": ("def f(a, kind):\n    return f'{kind} {a[1]:.2f}', a\n", "f(x, 'v')"),
    "integers": ("def f(n):\n    a = cp.arange(n)\n    return a // 2, a.max(), min(a)\n", "f(7)"),
    "empty": ("def f(a):\n    return a[:0], a[:0].sum(), cp.zeros((0, 3))\n", "f(x)"),
    "broadcast": ("def f(a):\n    return cp.broadcast_to(a[:1], (3, 1)), a\n", "f(x)"),
    "library": ("def f(a):\n    return cp.linalg.norm(a), cp.fft.fft(a)[0]\n", "f(x)"),
    "fortran": ("def f(a):\n    m = a.reshape(2, 3).T.copy(order='F')\n    return m, m[1:]\n", "f(x)"),
    "own_names": (
        "from cupy import zeros, sqrt\ndef f(a):\n    return zeros(3), sqrt(a), sqrt(2.0)\n", "f(x)",
    ),
    "complex_numbers": ("def f(a):\n    c = a + 1j\n    return c * c, abs(c)\n", "f(x)"),
}  # fmt: skip

# What could tell a NumPy array from a lazy one, or keeps something.
DIFFERENT = {
    "get": "def f(a):\n    return float(a.get()[0])\n",
    "asnumpy": "def f(a):\n    return float(cp.asnumpy(a)[0])\n",
    "cuda": "def f(a):\n    cp.cuda.Stream.null.synchronize()\n    return a\n",
    "isinstance": "def f(a):\n    return isinstance(a[0], float)\n",
    "kind": "def f(a):\n    return type(a).__name__\n",
    "class": "def f(a):\n    return a.__class__ is x\n",
    "pointer": "def f(a):\n    return a.data is None\n",
    "text": "def f(a):\n    return '{0[0]!r}'.format(a)\n",
    "str": "def f(a):\n    return sorted(a, key=str)\n",
    "parts": "def f(a):\n    c = a + 1j\n    return c.imag\n",
    "shape_written": "def f(a):\n    b = a.copy()\n    b.shape = 2, 3\n    return b\n",
    "numpys_own": "import numpy\ndef f(a):\n    return numpy.zeros(3)\n",
    "global_written": "n = 0\ndef f(a):\n    global n\n    n = a[0]\n    return n\n",
    "attribute_kept": "def g():\n    pass\ndef f(a):\n    g.kept = a\n    return a\n",
    "closure": "def f(a):\n    return lambda: a\n",
    "generator": "def f(a):\n    yield a\n",
    "object": "class P:\n    pass\ndef f(a):\n    p = P()\n    return p\n",
    "generator_of_bits": "r = cp.random.default_rng(1)\ndef f(a):\n    return r.bit_generator is a\n",
    "generator_of_others": "import random\nr = random.Random(1)\ndef f(a):\n    return a + r.random()\n",
    "holds_itself": "def f(a):\n    return len(a)\nx = [x]\nx.append(x)\n",
    "function_returned": "def f(a):\n    return a\nx = [lambda: 1]\n",
    "bound_method_given": "def f(a):\n    return a\nx = [y.sum]\n",
    "global_set": "l = set()\ndef f(a):\n    l.add(float(a[0]))\n    return a\n",
    "array_as_default": "def f(a, b=x):\n    b += 1\n    return a\n",
    "matched": "def f(a):\n    match a[0]:\n        case float():\n            return 1\n    return 2\n",
    "classes": "def f(a):\n    class C:\n        v = a\n    return a\n",
    "context": "def f(a):\n    with cp.errstate(all='ignore'):\n        return a / 0\n",
}


class Writer:
    """Writes functions of arrays of six elements, some of which share memory."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed).choice

    def program(self) -> str:
        """The text of its functions."""
        lines = [self.statement() for _ in range(self.pick([2, 4, 8]))]
        body = "".join(f"    {line}\n" for line in lines)
        return f"def g(v, k=2):\n    v[1:] += k\n    return v\ndef f(a, b, n):\n    t = a + n\n{body}    return {self.result()}\n"

    def array(self, depth: int = 2) -> str:
        simple = ["a", "b", "t", "w", "a[::-1]", "t.copy()", "w[:]"]
        if not depth:
            return self.pick(simple)
        u, v = self.array(depth - 1), self.array(depth - 1)
        return self.pick([
            *simple, f"({u} + {v})", f"({u} * 0.5)", f"cp.minimum({u}, {v})", f"g({u})",
            f"cp.where({u} > n, {u}, {v})", f"g({u}.copy(), 3)", f"({u} - {v}.max())", f"abs({u})",
            f"cp.concatenate([{u}[:2], {v}[2:]])", f"cp.sort({u})", f"(cp.zeros(6) + {u}[n])",
            f"{u}.reshape(2, 3).T.ravel()", f"cp.asarray({u})", f"cp.array({u})", f"sum([{u}, {v}])",
            f"cp.outer({u}, {v})[n]", f"{u}.reshape(2, 3).reshape(6)", f"cp.cumsum({u})",
        ])  # fmt: skip

    def statement(self) -> str:
        u, v, to = self.array(), self.array(), self.pick(["a", "b", "t", "w"])
        return self.pick([
            f"{to}[n] = {u}[0]", f"{to}[1:] = {u}[:-1]", f"{to} += {u}", f"{to}[::2] *= 0.5", f"t = {u}",
            f"{to}[{u} > n] = n", f"cp.add({u}, {v}, out={to})", "a, b = b, a", f"t = g({u})",
            f"if {u}[n] > {v}.mean(): {to}[0] -= 1", f"for i in range(3): {to}[i] = {u}[i + 1]",
            f"{to}[:] = {u}", f"if {u}.max() > 40: raise ValueError(f'{{n}} {{{u}[0]:.3f}}')",
            f"t = cp.asarray([float(q) for q in {u}])", f"{to}[1:] += {to}[:-1]",
        ])  # fmt: skip

    def result(self) -> str:
        parts = ["a", "b[1:]", "t", "w", "t[::2]", "(t, t)", "[a, t[1:]]", "{'r': b, 'n': n}", "t.sum()", "float(a[n])", "a is b", "None", self.array()]  # fmt: skip
        return ", ".join(self.pick(parts) for _ in range(self.pick([1, 2, 3])))

    def call(self) -> str:
        """A call of them."""
        return self.pick(["f(x, y, 2)", "f(x, x, 1)", "f(z[:6], z[3:9], 0)", "f(z[::2], z[1::2], 3)", "f(x[::-1], x, 2)", "f(x, w, 1)"])  # fmt: skip
