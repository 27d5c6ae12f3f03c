"""Records: values of planning as text, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fusecuda.codegen.records import from_text, to_text
from fusecuda.cpu_fallback.blueprint import Shown
from fusecuda.cpu_fallback.loader import KernelSource
from fusecuda.fusion.memory import Memory
from fusecuda.graph.index_map import identity
from fusecuda.graph.node import LibraryCall, Node, Operand

VALUES: list[Any] = [
    None, True, 0, -3, 1 << 80, 0.1, float("inf"), "text\n\u00e9\ud800", b"\0\xff",
    (1, 2), [1, [2.0, ()]], {"a": (1,), (2, 3): None}, {1, 2}, frozenset((3, 4)),
    np.dtype("f8"), np.dtype(">i4"), np.dtype("M8[s]"), Memory(1, -8, (8, 0)), identity(2),
    KernelSource("f", "void f(void) {}"),
    LibraryCall("sort", (Operand(0), -0.0), (("axis", -1),)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_the_same_again(value: Any) -> None:
    again = from_text(to_text(value))
    assert type(again) is type(value)
    assert again == value
    assert repr(again) == repr(value)


def test_what_is_one_object_is_one_again() -> None:
    x = Node("parameter", (), (3,), np.dtype("f4"))
    y = Node("parameter", (), (3,), np.dtype("f4"))
    both = [1]
    shown, (first, second), others, more = from_text(
        to_text((Shown(x, None), (x, y), both, [both, True, 1, 1.0]))
    )
    assert type(shown) is Shown and shown.node is first is not second
    assert first.operands == () and first.dtype is np.dtype("f4") and first.line is None
    assert more[0] is others
    assert list(map(type, more[1:])) == [bool, int, float]


def test_long_chains_are_written_without_recursion() -> None:
    node = Node("parameter", (), (), np.dtype("f4"))
    for _ in range(5000):
        node = Node("negative", (node,), (), np.dtype("f4"))
    again, depth = from_text(to_text(node)), 0
    while again.operands:
        (again,) = again.operands
        depth += 1
    assert depth == 5000


def _cycle() -> list[Any]:
    found: list[Any] = []
    found.append([found])
    return found


@pytest.mark.parametrize(
    "value",
    [print, type, object(), np.float64(1), np.dtype([("a", "f4")]), pytest, _cycle(), 1j],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        to_text((1, [value]))


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", "[]", "[[], [], [0]]",
        '[["os.system"], [[0, "true"]], [0]]',
        '[["graph.text.parse_hlo"], [[0, "true"]], [0]]',
        '[["graph.node.re.sub"], [[0, "true"]], [0]]',
        '[["fusion.memory.Memory"], [[0, 1, 2]], [0]]',
        '[["tuple"], [[0, [1]], [0, 1]], [0]]',
        '[["list"], [[0, [0]]], [0]]',
        '[["tuple"], [[7, 1]], [0]]',
    ],
)  # fmt: skip
def test_other_texts_make_nothing(text: str) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        from_text(text)
