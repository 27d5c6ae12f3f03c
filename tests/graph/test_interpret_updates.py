"""The interpreter writes updates in place where no other value shows the memory, and only there."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from fusecuda.graph import build, interpret
from fusecuda.graph.dtypes import BOOL, FLOAT64
from fusecuda.graph.index_map import axis_map
from fusecuda.graph.node import Graph, Node
from fusecuda.graph.structure import STRUCTURES
from fusecuda.graph.views import view

ROWS, COLUMNS = 8, 4


def row(version: Node, i: int) -> Node:
    return build.index(version, axis_map([(i, 0, None), (0, 1, 0)], 1), (COLUMNS,))


def with_row(version: Node, i: int, value: Node) -> Node:
    return build.update(version, value, axis_map([(i, 0, None), (0, 1, 0)], 1))


def half(version: Node, first: int) -> Node:
    """A large part."""
    shape = (ROWS - 2, COLUMNS)
    return build.index(version, axis_map([(first, 1, 0), (0, 1, 1)], 2), shape)


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[Node]:
    """The updates for which all of the array is copied."""
    nodes: list[Node] = []
    update = STRUCTURES["update"]
    value = update.value

    def counted(node: Node, operands: list[Any], group: int) -> Any:
        nodes.append(node)
        return value(node, operands, group)

    monkeypatch.setattr(update, "value", counted)
    return nodes


def test_rows_written_in_turn(copied: list[Node]) -> None:
    """The array is copied once, however often rows of it are written and read."""
    given = build.parameter(0, (ROWS, COLUMNS), FLOAT64)
    version: Node = given
    array, expected = np.arange(32.0).reshape(ROWS, COLUMNS), np.arange(32.0).reshape(ROWS, COLUMNS)
    for i in range(20):
        to, by = i % ROWS, (3 * i + 1) % ROWS
        version = with_row(version, to, row(version, by))
        expected[to] = expected[by]
        if i % 3 == 0:
            flat = build.reshape(version, (ROWS * COLUMNS,))
            version = build.reshape(flat, (ROWS, COLUMNS))
    before = array.copy()
    (found,) = interpret.interpret(Graph((given,), (version,)), [array])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(array, before)
    assert len(copied) == 1


def random_graph(seed: int) -> tuple[Graph, list[np.ndarray[Any, Any]]]:
    """Versions of two arrays, parts of which are read late; with what each output is."""
    pick = random.Random(seed)
    given = build.parameter(0, (ROWS, COLUMNS), FLOAT64)
    start = np.arange(32.0).reshape(ROWS, COLUMNS) + seed
    versions: list[tuple[Node, Any]] = [(given, start)]
    rows: list[tuple[Node, Any]] = [(row(given, 0), start[0])]
    outputs: list[tuple[Node, Any]] = []
    for _ in range(40):
        node, value = versions[-1] if pick.random() < 0.8 else pick.choice(versions)
        i, j = pick.randrange(3), pick.randrange(2)
        what = pick.choice(["write"] * 8 + ["read", "read", "part", "reshape", "keep"])
        if what == "write":
            part, numbers = pick.choice(rows[-3:])
            changed = value.copy()
            changed[i] = numbers
            versions.append((with_row(node, i, part), changed))
        elif what == "read":
            rows.append((row(node, i), value[i].copy()))
        elif what == "part":
            large = build.elementwise("negative", [half(node, j)], FLOAT64)
            both = build.elementwise("add", [half(node, 1), large], FLOAT64)
            outputs.append((both, value[1:7] - value[j : j + 6]))
            rows.append((row(half(node, j), 0), value[j].copy()))
        elif what == "reshape":
            flat = build.reshape(node, (COLUMNS, ROWS))
            outputs.append((flat, value.reshape(COLUMNS, ROWS)))
            versions.append((build.reshape(flat, (ROWS, COLUMNS)), value))
        else:
            outputs.append((node, value))
    outputs += [versions[-1], *rows[-3:]]
    nodes, values = zip(*outputs, strict=True)
    return Graph((given,), tuple(nodes)), list(values)


@pytest.mark.parametrize("seed", range(60))
def test_versions_that_are_read_late(seed: int) -> None:
    graph, expected = random_graph(seed)
    found = interpret.interpret(graph, [np.arange(32.0).reshape(ROWS, COLUMNS) + seed])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_single_element_is_written() -> None:
    """An array of no axes has views too: the update of one is not lost."""
    old, value = build.parameter(0, (), FLOAT64), build.parameter(1, (), FLOAT64)
    written = build.update(old, value, axis_map([], 0))
    given = [np.array(1.0), np.array(2.0)]
    (result,) = interpret.interpret(Graph((old, value), (written,)), given)
    assert result == 2.0 and given[0] == 1.0
    assert np.shares_memory(view(given[0], axis_map([], 0), ()), given[0])


def test_one_element_is_converted_for_all() -> None:
    """An elementwise node may take an operand of rank 0 as it is, and so may a conversion."""
    given = build.parameter(0, (1,), FLOAT64)
    one = build.index(given, axis_map([(0, 0, None)], 0), ())
    for shape in ((1,), (2, 3)):
        node = Node("convert", (one,), shape, BOOL)
        (result,) = interpret.interpret(Graph((given,), (node,)), [np.array([7.0])])
        np.testing.assert_array_equal(result, np.ones(shape, bool))
