"""Straight: the text of a call as a Python function of straight lines: it costs what it does.

Names in it: ``a0`` is an argument and ``p0`` its address, ``r0`` a result and ``q0`` its address;
all else comes from the space that the text is executed in (see `program.Runner`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..codegen.packing import words_of
from ..graph.dtypes import DType
from .device import Prepared
from .library_calls import Called

EAGER, REPLAYED, TIMED, HELD = "eager", "replayed", "timed", "held"


@dataclass(frozen=True, slots=True)
class Calling:
    """What a call does: which arrays there are, and its commands in parts."""

    arguments: Sequence[int]
    made: Sequence[int]  # of the outputs, those that get memory
    outputs: int
    has_block: bool
    has_counters: bool
    looks_at_alignment: bool
    counts: int  # launches that tell how much a mask picks
    cuts: dict[int, int]  # outputs that are cut, by which of these numbers
    steps: dict[int, Prepared | Called]
    numbers: dict[int, DType]  # arguments that are numbers
    parts: Sequence[Any]
    lanes: int

    @property
    def bases(self) -> list[str]:
        """The arrays that launches have pointers into."""
        arrays = [f"a{n}" for n in self.arguments] + [f"r{i}" for i in self.made]
        return [*arrays, "block", "counters", "counts"]

    @property
    def addresses(self) -> list[str]:
        """The names of the addresses of the bases."""
        return [f"p{n}" for n in self.arguments] + [f"q{i}" for i in self.made] + ["b", "c", "n"]


def key_format(call: Calling) -> str:
    """How the key of a graph is packed: all addresses, then all numbers."""
    return f"={len(_keyed(call))}Q" + "".join(words_of(d, "")[0] for d in call.numbers.values())


def text(call: Calling, kind: str) -> str:
    """The function ``call``, of ``arguments``: and of ``lap`` if it is TIMED.

    REPLAYED it launches graphs. HELD it is captured into a user's graph: on one stream, with
    counters of its own, and the graph keeps all that it uses.
    """
    lines = [*_beginning(call, kind)]
    if kind == TIMED:
        lines.append("lap()")
    if kind in (TIMED, HELD):  # on one stream, in the order in which it would be issued
        for number in (c[2] for part in call.parts for c in part.commands if c[0] == "run"):
            lines += _issued(call, [("run", 0, number)], fill=True)
            lines += ["lap()"] * (_kernels(call.steps[number]) if kind == TIMED else 0)
    else:
        if kind == REPLAYED:
            numbers = [
                t for n, d in call.numbers.items() for t in words_of(d, f"arguments[{n}]")[1]
            ]
            lines.append(f"key = pack_key({', '.join(_keyed(call) + numbers)})")
        for number, part in enumerate(call.parts):
            if kind == REPLAYED and part.nodes:
                lines += _replayed(call, number, part)
            else:
                lines += _on_lanes(call, part, fill=True)
    if kind == HELD:
        kept = ["program", *call.bases[len(call.arguments) :]]
        lines.append(f"hold(stream, {', '.join(kept)})")
    lines += ["numbers = told(counts)"] * bool(call.counts)
    lines += [f"r{i} = cut(r{i}, numbers[{k}])" for i, k in call.cuts.items()]
    made = set(call.made)
    results = ", ".join(f"r{i}" if i in made else "None" for i in range(call.outputs))
    head = f"def call(arguments{', lap' * (kind == TIMED)}):"
    return "\n".join([head, *_in(lines), f"    return [{results}]"])


def _beginning(call: Calling, kind: str) -> Iterable[str]:
    """The lines that find the arrays, their addresses, and the stream."""
    yield "stream = current()"
    if kind != HELD:
        given = ", lap" * (kind == TIMED)
        yield f"if stream > 1 and is_capturing(stream): return held(arguments{given})"
    for n in call.arguments:
        yield f"a{n} = arguments[{n}]"
        yield f"p{n} = address(a{n})"
    if call.looks_at_alignment and call.arguments:
        given = ", lap" * (kind == TIMED)
        ored = " | ".join(f"p{n}" for n in call.arguments)
        yield f"if ({ored}) & 15: return unaligned(arguments{given})"
    for i in call.made:
        yield f"r{i} = empty(shape{i}, dtype{i})"
        yield f"q{i} = address(r{i})"
    if call.has_block:
        yield "block = empty(block_shape, byte)"
        yield "b = address(block)"
    else:
        yield "block, b = None, 0"
    if call.counts:
        yield "counts = empty(counts_shape, counts_dtype)"
        yield "n = address(counts)"
    else:
        yield "counts, n = None, 0"
    if not call.has_counters:
        yield "counters, c = None, 0"
    elif kind == HELD:
        yield "counters = zeros(counter_bytes)"
        yield "c = address(counters)"
    else:
        yield "counters, c = counters_of(stream)"


def _keyed(call: Calling) -> list[str]:
    """The addresses that the key of a graph has."""
    without = {"b": not call.has_block, "c": not call.has_counters, "n": not call.counts}
    return [name for name in call.addresses if not without.get(name)]


def _kernels(step: Prepared | Called) -> int:
    """How often a lap is taken: of a launch that kernels share, its time is that of the first."""
    return len(step.bounds) if isinstance(step, Prepared) else 1


def _replayed(call: Calling, number: int, part: Any) -> list[str]:
    """The lines that launch the graph of a part, or do without where it is refused."""
    filled = [line for node in part.nodes for line in _fill(call, node.step)]
    without = _on_lanes(call, part, fill=False)
    renewed = [f"if not renew{number}(key, stream):", *_in(without)]
    return [f"if not replay{number}(key, stream):", *_in([*filled, *renewed])]


def _on_lanes(call: Calling, part: Any, fill: bool) -> list[str]:
    """The lines that issue a part; whatever happens, lane 0 is current again and is last."""
    if call.lanes == 1:
        return _issued(call, part.commands, fill)
    return [
        "lanes = free_lanes()",
        "lanes.begin()",
        "try:",
        *_in(_issued(call, part.commands, fill)),
        "except BaseException:",
        "    lanes.join()",
        "    raise",
        "finally:",
        "    lanes.end()",
        "    keep_lanes(lanes)",
    ]


def _issued(call: Calling, commands: Iterable[tuple[str, int, int]], fill: bool) -> list[str]:
    """One command after the other; ``fill`` frames too, each just before its launch."""
    lines: list[str] = []
    used = 0
    for kind, lane, number in commands:
        if lane != used and call.lanes > 1:
            lines.append(f"stream = lanes.use({lane})")
            used = lane
        if kind != "run":
            lines.append(f"lanes.{kind}({number})")
        elif isinstance(call.steps[number], Called):
            lines.append(f"called{number}({', '.join(call.bases)})")
        else:
            lines += _fill(call, number) if fill else []
            lines.append(f"start{number}(stream, parameters{number}, 0)")
    return lines


def _fill(call: Calling, number: int) -> list[str]:
    """The lines that write pointers and numbers into the frame of a launch."""
    step = call.steps[number]
    assert isinstance(step, Prepared)
    names = call.addresses
    pointers = [f"{names[base]} + {o}" if o else names[base] for base, o in step.pointers]
    lines = [f"pack{number}({', '.join([f'buffer{number}', '0', *pointers])})"] * bool(pointers)
    for k, (at, _, argument) in enumerate(step.dynamic):
        lines.append(f"number{number}_{k}(buffer{number}, {at}, arguments[{argument}])")
    return lines


def _in(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]
