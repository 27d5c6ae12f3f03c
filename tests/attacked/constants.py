"""Programs around constants whose classes have methods that read what changes."""

from __future__ import annotations

_CLASSES = """
import enum, functools
from typing import NamedTuple
K = 2.0
class Op(enum.Enum):
    A = 1
    B = 2
    def apply(self, x): return x * K + self.value
class Shift(NamedTuple):
    n: int
    def apply(self, x): return x + K * self.n
class Factor(float):
    def apply(self, x): return x * K + float(self)
x = np.arange(3.0)
"""
_STEPS = """
*2 r = call()
K = 5.0
*2 r = call()
Op.apply = lambda s, x: x - K; Shift.apply = lambda s, x: x * 2; Factor.apply = lambda s, x: x * 3
*2 r = call()
"""
_FOUND = {
    "in tuples": """
@fused
def f(x, parts): return [p.apply(x) for p in parts]
def call(): return f(x, (Op.A,)), f(x, (Factor(2.0), Op.B)), f(x, (Shift(1), Factor(2.0)))
""",
    "as keys": """
@fused
def f(x, weights): return [k.apply(x) * w for k, w in weights.items()]
def call(): return f(x, {Op.A: 1.0, Op.B: 2.0})
""",
    "in sets": """
@fused
def f(x, parts):
    for p in parts: x = p.apply(x)
    return x
def call(): return f(x, {Op.A}), f(x, frozenset([Factor(2.0)]))
""",
    "as defaults": """
@fused
def f(x, op=Op.A): return op.apply(x)
@fused
def g(x, *, op=Factor(2.0), parts=(Shift(1), Op.B)): return op.apply(x), [p.apply(x) for p in parts]
def call(): return f(x), g(x)
""",
    "in classes": """
class Model:
    mode = Op.A
    modes = (Op.B, Factor(1.0))
    def run(self, x): return self.mode.apply(x), [m.apply(x) for m in self.modes]
@fused
def f(m, x): return m.run(x)
def call(): return f(Model(), x)
""",
    "in objects": """
class Model:
    def __init__(self): self.mode, self.parts = Op.A, {Op.B: ((Shift(1),), Factor(2.0))}
    def run(self, x): return self.mode.apply(x), [v[0][0].apply(x) for v in self.parts.values()]
@fused
def f(m, x): return m.run(x), [k.apply(x) + v[1].apply(x) for k, v in m.parts.items()]
def call(): return f(Model(), x)
""",
    "by name": """
MODES, WEIGHTS, ONE = (Op.A, Op.B), {Op.A: 1.0, Shift(3): 2.0}, Factor(2.0)
@fused
def f(x): return [m.apply(x) for m in MODES], [k.apply(x) * w for k, w in WEIGHTS.items()]
@fused
def g(x): return ONE.apply(x)
def call(): return f(x), g(x)
""",
    "in partials and methods": """
def go(op, x): return op.apply(x)
@fused
def f(x, p): return p(x)
def call(): return [f(x, p) for p in (functools.partial(go, Op.A), Op.B.apply, Shift(1).apply)]
""",
}
PROGRAMS = {f"methods of constants {k}": (_CLASSES + text, _STEPS) for k, text in _FOUND.items()}
