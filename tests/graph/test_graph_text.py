"""HLO text: what is printed is read back, and what is malformed is refused with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from fusecuda.errors import GraphError
from fusecuda.graph import build, index_map
from fusecuda.graph.dtypes import BOOL, FLOAT64, INT64
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import REDUCTIONS, Graph, Node, Operand, Parameter
from fusecuda.graph.text import parse_hlo, print_hlo
from tests.random_graphs import random_graph
from tests.strategies import DTYPES, SPECIALS, same_bits

X = build.parameter(0, (4, 3), FLOAT64)
N = build.parameter(1, (), INT64, scalar=True)


def round_trip(*outputs: Node, targets: tuple[int | None, ...] = ()) -> Graph:
    """The graph of ``outputs`` after printing and parsing, which must print the same again."""
    text = print_hlo(Graph((X, N), outputs, "module", targets))
    parsed = parse_hlo(text)
    assert print_hlo(parsed) == text
    return parsed


def same_node(a: Node, b: Node) -> bool:
    """True if two nodes are the same operation on the same operations."""
    return (a.op, a.attr, a.shape, a.dtype) == (b.op, b.attr, b.shape, b.dtype) and all(
        same_node(p, q) for p, q in zip(a.operands, b.operands, strict=True)
    )


ROW = build.index(X, index_map.axis_map([(1, 0, None), (2, -1, 0)], 1), (3,))
EVERY_ATTR: list[Node] = [
    X,
    N,
    build.iota((4, 3), 1),
    ROW,
    build.index(X, index_map.axis_map([(0, 1, 0), (0, 1, 0)], 1), (3,)),
    build.index(X, index_map.broadcast((4, 3), (2, 4, 3)), (2, 4, 3)),
    build.index(X, index_map.axis_map([(0, 0, None), (0, 0, None)], 0), ()),
    build.reshape(X, (3, 4)),
    build.concatenate([X, X], 1),
    build.pad(X, build.constant(np.nan, FLOAT64), ((0, 2), (1, 0))),
    build.gather(X, [build.iota((5,), 0)]),
    build.update(X, ROW, index_map.axis_map([(2, 0, None), (0, 1, 0)], 1)),
    build.elementwise("where", [build.constant(True, BOOL), X, X], FLOAT64),
    build.convert(X, INT64),
    build.library("sort", [X], (4, 3), FLOAT64, None, (("axis", -1), ("kind", "stable"))),
    build.library("matmul", [X, X], (4, 4), FLOAT64, (Operand(1), Operand(0))),
    build.library("cumsum", [X], (12,), FLOAT64, (Operand(0), None, "f8"), (("t", (1, 2.5)),)),
    *(build.reduce(kind, X, axes) for kind in REDUCTIONS for axes in ((0,), (1,), (0, 1))
      if kind not in ("any", "all")),
    build.reduce("any", build.convert(X, BOOL), (1,)),
    build.reduce("all", build.convert(X, BOOL), (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize("node", EVERY_ATTR, ids=repr)
def test_every_kind_of_node_is_read_back(node: Node) -> None:
    """Op, shape, dtype and attribute survive, alone and as an operand."""
    assert same_node(round_trip(node).outputs[0], node)
    assert same_node(round_trip(node, X).outputs[0], node)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_constants_keep_every_bit(dtype: np.dtype[np.generic]) -> None:
    """NaN, both zeros, subnormals and the ends of the range."""
    for value in SPECIALS[dtype]:
        node = build.constant(value, dtype)
        assert round_trip(node).outputs[0].attr == node.attr


def test_targets_names_and_scalars_survive() -> None:
    """Which result overwrites which parameter, and which parameter is a scalar."""
    doubled = build.elementwise("add", [X, X], FLOAT64)
    parsed = round_trip(N, doubled, targets=(None, 0))
    assert parsed.targets == (None, 0) and parsed.name == "module"
    assert [p.attr for p in parsed.parameters] == [Parameter(0), Parameter(1, scalar=True)]
    assert round_trip(doubled).targets == ()


def test_hand_written_text_computes() -> None:
    """Comments, blank lines and indentation are free; unused parameters stay."""
    text = """
    HloModule scaled rows // a name may hold a space
      %7 = f64[2,3] parameter(0)

      // the factor
      %8 = f64[] constant(0x4000000000000000)
        %9 = f64[2,3] multiply(%7, %8) // twice
    ROOT (%9)
    """
    graph = parse_hlo(text)
    (got,) = interpret(graph, [np.ones((2, 3))])
    assert same_bits(got, np.full((2, 3), 2.0))


HEAD = "HloModule m\n  %0 = f64[4,3] parameter(0)\n"
MALFORMED = {
    "no such form": "  %1 f64[4,3] negative(%0)",
    "no such op": "  %1 = f64[4,3] frobnicate(%0)",
    "no such operand": "  %1 = f64[4,3] negative(%5)",
    "no such dtype": "  %1 = f99[4,3] negative(%0)",
    "no such attribute": "  %1 = f64[4,3] negative(%0), colour=red",
    "bits of odd length": "  %1 = f64[] constant(0x123)",
    "bits that are not hex": "  %1 = f64[] constant(0xzz)",
    "number that is none": "  %1 = f64[4] parameter(x)",
    "axis that is none": "  %1 = f64[8,3] concatenate(%0, %0), axis=one",
    "axes that are none": "  %1 = f64[3] reduce(%0), kind=sum, axes={zero}",
    "map of a missing axis": "  %1 = f64[4] index(%0), map=(d0) -> (d7, 0)",
    "call that is no call": "  %1 = f64[4,3] library(%0), call=sort",
    "call with code": "  %1 = f64[4,3] library(%0), call=sort($0, axis=__import__('os'))",
    "call of an attribute": "  %1 = f64[4,3] library(%0), call=os.system('true')",
    "widths that are none": "  %1 = f64[4,3] pad(%0, %0), widths=1-2",
    "bits in pieces": "  %1 = f64[] constant(0x3ff0 000000000000)",
    "extents with a hole": "  %1 = f64[4,,3] negative(%0)",
    "a map that divides": "  %1 = f64[4] index(%0), map=(d0) -> (d0 / 1, 0)",
    "a map with a product of indices": "  %1 = f64[4] index(%0), map=(d0) -> (d0 * d0, 0)",
    "a map that ends early": "  %1 = f64[4] index(%0), map=(d0) -> (d0 + , 0)",
    "a map with a row that is none": "  %1 = f64[4] index(%0), map=(d0) -> (d0, 0, )",
    "a map of other indices": "  %1 = f64[4] index(%0), map=(d1) -> (d1, 0)",
    "a map with more behind it": "  %1 = f64[4] index(%0), map=(d0) -> (d0, 0) or so",
    "an operand that is a number": "  %1 = f64[4,3] negative(%0, 3)",
    "an operand that is a word": "  %1 = f64[4,3] negative(%0 twice)",
    "an attribute of none": "  %1 = f64[4,3] exp(%0), axis=0",
    "an attribute of a reshape": "  %1 = f64[3,4] reshape(%0), axis=0",
    "an attribute of a constant": "  %1 = f64[] constant(0x3ff0000000000000), axis=0",
    "an attribute of a parameter": "  %1 = f64[4] parameter(1), scalar, axis=0",
    "two attributes": "  %1 = f64[8,3] concatenate(%0, %0), axis=0, axis=1",
    "a name that is taken": "  %0 = f64[4,3] negative(%0)",
    "a number that is taken": "  %1 = f64[4,3] parameter(0)",
    "a second module": "HloModule n",
    "a result that is a word": "ROOT (%0, oops)",
    "a result without brackets": "ROOT %0",
    "a target that is none": "ROOT (%0 -> there)",
    "a target that is not there": "ROOT (%0 -> 7)",
    "a shape that lies": "  %1 = f64[9] negative(%0)",
    "a gather of nothing": "  %1 = f64[4,3] gather()",
    "operands of unlike ranks": "  %2 = f64[] constant(0x00)",
    "a pad of another rank": "  %1 = f64[4] pad(%0, %0), widths=0_0",
    "a call with more behind it": "  %1 = f64[4,3] library(%0), call=sort($0) # or so",
    "a call of a call": "  %1 = f64[4,3] library(%0), call=sort(operand(0))",
    "a call with a name twice": "  %1 = f64[4,3] library(%0), call=sort($0, axis=0, axis=1)",
    "a call with names from elsewhere": "  %1 = f64[4,3] library(%0), call=sort($0, **{})",
    "a map that never ends": f"  %1 = f64[4] index(%0), map=(d0) -> ({'-' * 9999}d0, 0)",
}


@pytest.mark.parametrize("line", MALFORMED.values(), ids=MALFORMED.keys())
def test_errors_name_the_line(line: str) -> None:
    """Malformed text is a GraphError that shows the line and its number."""
    with pytest.raises(GraphError, match=r"HLO text, line 3: "):
        parse_hlo(f"{HEAD}{line}\nROOT (%1)\n")


@pytest.mark.parametrize("line", ["ROOT (%0)", "  %1 = f64[4,3] negative(%0)", "HloModule n"])
def test_nothing_comes_behind_the_results(line: str) -> None:
    with pytest.raises(GraphError, match=r"line 4: .* nothing comes behind ROOT"):
        parse_hlo(f"{HEAD}ROOT (%0)\n{line}\n")


def test_maps_are_read_as_they_are_written() -> None:
    """In any order of terms, with signs and brackets."""
    for row, wanted in {
        "2 - d0": [2, 1, 0],
        "-d0 + 2": [2, 1, 0],
        "d0*2 - d0": [0, 1, 2],
        "1 + -1*(d0 - 2)": [3, 2, 1],
    }.items():
        line = f"  %1 = f64[3] index(%0), map=(d0) -> ({row})"
        graph = parse_hlo(f"HloModule m\n  %0 = f64[5] parameter(0)\n{line}\nROOT (%1)")
        assert interpret(graph, [np.arange(5.0)])[0].tolist() == wanted
        assert print_hlo(parse_hlo(print_hlo(graph))) == print_hlo(graph)


def test_literals_may_hold_whatever_a_text_is_made_of() -> None:
    """Two slashes are no comment there, a dollar is no operand."""
    for literal in ("a // b", "$0", "it's", '"', "# 1", "a, b)"):
        node = build.library("sort", [X], (4, 3), FLOAT64, None, (("kind", literal),))
        assert same_node(round_trip(node).outputs[0], node)


TOKEN = re.compile(r"[%$]?\w+|->|'[^']*'|[^\w\s]")
WORDS = re.findall(
    r"\S+", "%0 %1 3 0 x , ( ) [ ] { } = -> - + * _ $0 d0 axis 'a' scalar ROOT HloModule //"
)


def edited(text: str, rng: np.random.Generator) -> Iterator[tuple[str, bool]]:
    """``text`` without each of its words in turn, and with one more; False where that may be so."""
    at = 0
    for line in text.splitlines(keepends=True):
        code = line.split(" // ")[0]
        for found in TOKEN.finditer(code):
            begin, end = at + found.start(), at + found.end()
            yield text[:begin] + text[end:], True
            word = str(rng.choice(WORDS))
            literal = "call=" in code and word in ("+", ",", "-")  # as Python reads them
            comment = word == "//" and code.strip() == found[0]
            means_nothing = literal or comment or (word == "-" and found[0] == "0")
            yield f"{text[:begin]} {word} {text[begin:]}", not means_nothing
        at += len(line)


TEXTS = [Graph((X, N), (node,), "module") for node in EVERY_ATTR]


@pytest.mark.parametrize("number", range(len(EVERY_ATTR) + 12))
def test_no_word_is_passed_over(number: int) -> None:
    """A text with a word less, or one more, is refused or another graph's, which prints alike."""
    rng = np.random.default_rng(number)
    graph = TEXTS[number] if number < len(TEXTS) else random_graph(number).graph
    text = print_hlo(graph)
    for other, differs in edited(text, rng):
        try:
            printed = print_hlo(parse_hlo(other))
        except GraphError as error:
            assert str(error).startswith("HLO text"), other
            continue
        assert printed == print_hlo(parse_hlo(printed))
        assert printed != text or not differs, other


HOSTILE = {
    "empty": "",
    "no root": HEAD,
    "a root of nothing known": HEAD + "ROOT (%9)",
    "a module without name": "HloModule\nROOT ()",
    "a shape that lies": HEAD + "  %1 = f64[9] negative(%0)\nROOT (%1)",
    "a read outside": HEAD + "  %1 = f64[9] index(%0), map=(d0) -> (d0, 0)\nROOT (%1)",
    "a map of wrong rank": HEAD + "  %1 = f64[4] index(%0), map=(d0) -> (d0)\nROOT (%1)",
    "a write in one place twice": HEAD
    + "  %1 = f64[3,3] parameter(1)\n"
    + "  %2 = f64[4,3] update(%0, %1), map=(d0, d1) -> (d0 + d1, 0)\nROOT (%2)",
    "a reduction of no kind": HEAD + "  %1 = f64[3] reduce(%0), kind=mode, axes={0}\nROOT (%1)",
    "an axis that is not there": HEAD + "  %1 = f64[3] reduce(%0), kind=sum, axes={4}\nROOT (%1)",
    "a constant of the wrong size": HEAD + "  %1 = f64[] constant(0x00)\nROOT (%1)",
    "an unknown library": HEAD + "  %1 = f64[4,3] library(%0), call=eval($0)\nROOT (%1)",
    "an operand too many": HEAD + "  %1 = f64[4,3] negative(%0, %0)\nROOT (%1)",
    "one number twice": HEAD + "  %1 = f64[4,3] parameter(0)\nROOT (%0, %1)",
    "an object dtype": "  %0 = O[4] parameter(0)\nROOT (%0)",
    "a target that is not there": HEAD + "ROOT (%0 -> 7)",
    "a target of another shape": HEAD + "  %1 = f64[2] parameter(1)\nROOT (%0 -> 1)",
    "one target twice": HEAD + "  %1 = f64[4,3] negative(%0)\nROOT (%1 -> 0, %0 -> 0)",
    "a library operand that is not there": HEAD
    + "  %1 = f64[4,3] library(%0), call=sort($3)\nROOT (%1)",
    "a name that is taken": HEAD + "  %0 = f64[4,3] negative(%0)\nROOT (%0)",
    "elementwise without loop": HEAD + "  %1 = f64[4,3] bitwise_and(%0, %0)\nROOT (%1)",
    "comparison that is no bool": HEAD + "  %1 = f64[4,3] less(%0, %0)\nROOT (%1)",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_refused(text: str) -> None:
    """Text that would read or write outside, or means nothing, is a GraphError and nothing else."""
    with pytest.raises(GraphError):
        parse_hlo(text)


def test_parsing_runs_no_code() -> None:
    """Literals of library calls are literals."""
    for literal in ("open('x')", "().__class__", "[x for x in ()]", "lambda: 0", "$0.real"):
        with pytest.raises(GraphError, match="line 3"):
            parse_hlo(f"{HEAD}  %1 = f64[4,3] library(%0), call=sort({literal})\nROOT (%1)\n")
