"""What a function reads without a name of its own changes: replays tell."""

from __future__ import annotations

import pytest

from tests.side_by_side import run

_CLASSES = """
import operator
K, N, n = 2.0, "scale", 0
class C:
    scale = 2.0
    def step_b(self, x): return x * K * self.scale
    @property
    def twice(self): return K * 2
    @staticmethod
    def three(): return K * 3
class D(C):
    def given(self, name): return getattr(super(), name)
class Counted:
    def step_a(self, x):
        global n
        n += 1
        return x * K
    def step_b(self, x): return x - K
c, d, counted = C(), D(), Counted()
x = np.arange(3.0)
"""
_CHANGES = "*3 r = f(x)\nC.scale = 3.0\n*3 r = f(x)\nK = 5.0\n*3 r = f(x)\nc.scale = 7\n*2 r = f(x)"
_NAMED = {
    "of a variable": "getattr(c, N)",
    "put together": "getattr(c, 'sc' + 'ale'[0:])",
    "of the class": "getattr(type(c), N)",
    "of the base": "d.given(N)",
    "of a method": "getattr(c, 'step_' + 'b'[:])(x)",
    "of a property": "getattr(c, 'tw' + 'ice'[:])",
    "of a static method": "getattr(c, 'th' + 'ree'[:])()",
    "by a getter": "operator.attrgetter(N)(c)",
    "by two getters": "sum(operator.attrgetter(N, 'twice')(c))",
    "by a caller": "operator.methodcaller('step_' + 'b'[:], x)(c)",
    "passed on": "list(map(getattr, [c], [N]))[0]",
    "in a text": "float('{0.scale}'.format(c))",
    "in the dict of the class": "type(c).__dict__[N]",
    "past its own": "object.__getattribute__(c, N)",
}


@pytest.mark.parametrize("found", _NAMED.values(), ids=_NAMED)
def test_what_classes_hold_under_names_that_are_computed(found: str) -> None:
    program = f"{_CLASSES}\n@fused(strict=True)\ndef f(x): return x * {found}\n"
    _run(program, _CHANGES)


def test_methods_under_names_that_are_computed_are_called_each_time() -> None:
    program = f"{_CLASSES}\n@fused\ndef f(x, mode): return getattr(counted, 'step_' + mode)(x)\n"
    spaces = _run(program, "*3 r = f(x, 'a')\nK = 5.0\n*2 r = f(x, 'a')\n*2 r = f(x, 'b')")
    assert spaces["n"] == 5


_FUNCTION = "def g(x): return x\nN = 'scale'\nx = np.arange(3.0)\n@fused(strict=True)\ndef f(x): "
_ATTRIBUTES = {
    "asked for": "return x * getattr(g, 'scale', 1.0)",
    "looked for": "return x * 2 if hasattr(g, 'scale') else x",
    "tried": """
    try: return x * g.scale
    except AttributeError: return x
""",
    "named by a variable": "return x * getattr(g, N, 1.0)",
    "all of them": "return x + sum(g.__dict__.values())",
}


@pytest.mark.parametrize("body", _ATTRIBUTES.values(), ids=_ATTRIBUTES)
def test_attributes_of_functions_come_and_go(body: str) -> None:
    steps = "*3 r = f(x)\ng.scale = 3.0\n*3 r = f(x)\ng.scale = 4.0\n*3 r = f(x)\ndel g.scale\n"
    _run(_FUNCTION + body + "\n", steps + "*2 r = f(x)")


_SPECIAL = {
    "a static method": ("c + x", "__add__ = staticmethod(lambda o: o * K * Held.k)"),
    "a class method": ("c(x)", "__call__ = classmethod(lambda c, o: o * K * c.k)"),
    "an object": ("c(x)", "__call__ = Callable()"),
    "of the class": ("C[0] * x", "def __class_getitem__(cls, i): return K * cls.k"),
}


@pytest.mark.parametrize("name", _SPECIAL)
def test_special_methods_that_are_no_functions(name: str) -> None:
    use, member = _SPECIAL[name]
    program = f"""
K = 2.0
class Callable:
    def __call__(self, x): return x * K
class Held:
    k = 1.0
class C(Held):
    {member}
c, x = C(), np.arange(3.0)
@fused
def f(x): return {use}
"""
    _run(program, "*3 r = f(x)\nK = 3.0\n*3 r = f(x)\nHeld.k = 4.0\n*2 r = f(x)")


_DEFAULTS = {
    "of another": ("def g(x, *, k=2.0): return x * k", "g.__kwdefaults__['k'] = 3"),
    "of a method": ("class C:\n  def g(self, x, *, k=2.0): return x * k\ng = C().g",
                    "C.g.__kwdefaults__['k'] = 3"),
    "of a named tuple": ("import collections as c\nN = c.namedtuple('N', 'k', defaults=[2.0])\n"
                         "def g(x): return x * N().k", "N.__new__.__defaults__ = (3.0,)"),
}  # fmt: skip


@pytest.mark.parametrize("name", _DEFAULTS)
def test_defaults_that_are_set_where_they_are(name: str) -> None:
    made, change = _DEFAULTS[name]
    program = f"{made}\nx = np.arange(3.0)\n@fused(strict=True)\ndef f(x): return g(x)\n"
    _run(program, f"*3 r = f(x)\n{change}\n*3 r = f(x)")


_KINDS = """
import abc, collections.abc
class Base(abc.ABC): pass
class Q:
    __match_args__ = ("a", "b")
    a, b = 2.0, 3.0
    def __getitem__(self, i): return 2.0
    def __len__(self): return 1
    def keys(self): return ["a"]
    def get(self, k, d=None): return 2.0
class Heir(Q): scale = 2.0
q, kinds, table, x = Q(), (int, Base), {"a": Base}, np.arange(3.0)
@fused(strict=True)
def f(x, q=q):
    """
_ASKED = {
    "in a tuple": ("return x * 2 if isinstance(q, kinds) else x", "Base.register(Q)"),
    "in a dict": ("return x * 2 if issubclass(Q, table['a']) else x", "Base.register(Q)"),
    "matched": ("""
    match q:
        case {"a": v}: return x * v
        case _: return x
""", "collections.abc.Mapping.register(Q)"),
    "matched by place": ("""
    match q:
        case Q(a, b): return x * a - b
""", "Q.__match_args__ = ('b', 'a')"),
    "heirs": ("return x * sum([h.scale for h in Q.__subclasses__()])", "Heir.scale = 3.0"),
    "more heirs": ("return x * sum([h.scale for h in Q.__subclasses__()])",
                   "class More(Q): scale = 3.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", _ASKED)
def test_what_a_value_counts_as(name: str) -> None:
    body, change = _ASKED[name]
    _run(f"{_KINDS}{body}\n", f"*3 r = f(x)\n{change}\n*3 r = f(x)")


_PAIRS = {
    "keys": ("{1: 0, 2: 0}", "{1.0: 0, True + 1: 0}"),
    "bools as keys": ("{1: 0}", "{True: 0}"),
    "zeros as keys": ("{0.0: 0}", "{-0.0: 0}"),
    "keys of heirs": ("Heir({1: 0})", "Heir({1.0: 0})"),
    "keys in tuples": ("{(1,): 0}", "{(1.0,): 0}"),
    "sets": ("{1, 2}", "{1.0, 2.0}"),
    "frozen sets": ("frozenset({1, 2})", "frozenset({1.0, 2.0})"),
    "sets in another order": ("{0, 8, 16}", "{16, 8, 0}"),
    "units of times": ("[np.timedelta64(60, 's')]", "[np.timedelta64(1, 'm')]"),
    "units of dates": ("[np.datetime64('2000-01-01', 'D')]", "[np.datetime64('2000-01-01', 's')]"),
    "long numbers": ("[np.clongdouble(1) / 3]", "[np.clongdouble(1 / 3)]"),
}


@pytest.mark.parametrize("name", _PAIRS)
def test_equal_values_that_are_not_the_same(name: str) -> None:
    """They are told apart, and one that is the same is no other."""
    first, second = _PAIRS[name]
    program = """
class Heir(dict): pass
x = np.arange(3)
@fused(strict=True)
def f(x, values): return [str(v) for v in values], x * 2
@fused(strict=True)
def g(x): return [repr(v) for v in values], x * 2
"""
    steps = [f"values = {first}", "*2 r = f(x, values), g(x)", f"values = {second}"]
    spaces = _run(program, "\n".join([*steps, steps[1], *steps[:2]]))
    assert spaces["f"].traces == 2


_MEMBERS = """
import enum
class E(enum.Enum):
    A = 2.0
    B = 3.0
class Name(str):
    scale = 2.0
E.A.scale = 2.0
member, name, x = E.A, Name("a"), np.arange(3.0)
@fused(strict=True)
def f(x, e=None): return """
_OF_MEMBERS = {
    "by the class": ("x * E.A.scale", "E.A.scale = 3.0"),
    "by a variable": ("x * member.scale", "E.A.scale = 3.0"),
    "value": ("x * E.B.value", "E.B._value_ = 4.0"),
    "looked up": ("x * [m for m in E][0].scale", "E.A.scale = 3.0"),
    "of a text": ("x * name.scale", "name.scale = 3.0"),
}


@pytest.mark.parametrize("name", _OF_MEMBERS)
def test_attributes_of_constants(name: str) -> None:
    use, change = _OF_MEMBERS[name]
    program = f"{_MEMBERS}{use}\n"
    _run(program.replace("strict=True", "") if name == "of a text" else program,
         f"*3 r = f(x)\n{change}\n*3 r = f(x)")  # fmt: skip


def _run(program: str, steps: str) -> dict[str, object]:
    """What stands in the space of the fused functions after the steps."""
    texts: list[str] = []
    for line in steps.strip().splitlines():
        count, _, text = line.partition(" ") if line.startswith("*") else ("*1", "", line)
        texts += [text] * int(count[1:])
    return run(program, texts).fused
