"""Drawing: the graph of a plan as SVG, each launch a box around what it computes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

from ..graph.node import Graph, Node
from ..words import counted, position
from .assembly import Assembly
from .explain import label, summarize
from .walk import Launch

_CHIP, _ROW, _GAP, _PAD, _HEAD = 22, 38, 14, 14, 26
_LETTER = 6.95
_WIDE = 720  # pixels that arguments may make it wide
_FAR = 400  # an edge of this height is drawn faintly
_MOST = 40  # operations drawn in one box
_SEEN_THROUGH = frozenset(("index", "reshape", "convert"))
_MARKS = {"add": "+", "subtract": "−", "multiply": "×", "divide": "÷", "negative": "−x"}


@dataclass(eq=False, slots=True)
class _Chip:
    """One operation in one box, an argument or a result; places are those of the centre."""

    node: Node
    text: str
    layer: int = 0  # of an argument: that of the first box which reads it
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        return len(self.text) * _LETTER + 18


@dataclass(eq=False, slots=True)
class _Box:
    """A launch or library call: its operations in layers, and where it stands."""

    number: int
    title: str
    kind: str
    layers: list[list[_Chip]]
    nodes: dict[Node, _Chip]
    more: int = 0  # operations that are not drawn
    layer: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        rows = (sum(c.width + _GAP for c in row) - _GAP for row in self.layers)
        return max(len(self.title) * _LETTER, *rows, 60.0) + 2 * _PAD

    @property
    def height(self) -> float:
        return _HEAD + len(self.layers) * _ROW + (16 if self.more else 4)


@dataclass(slots=True)
class _Picture:
    boxes: list[_Box]
    inputs: list[_Chip]
    results: list[_Chip]
    edges: list[tuple[_Chip, _Chip]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def draw(assembly: Assembly, anchor: str) -> str:
    """SVG text; links lead to ``#ANCHOR-kN`` for step N, and to ``#ANCHOR-lN`` for a line."""
    picture = _picture(assembly)
    _place(picture)
    size = f"{picture.width:.0f} {picture.height:.0f}"
    parts = [
        f'<svg viewBox="0 0 {size}" width="{picture.width:.0f}" role="img" '
        f'aria-label="the graph of {escape(assembly.plan.graph.name)}">'
    ]
    parts += [_box_svg(box, anchor) for box in picture.boxes]
    parts += [_edge_svg(a, b) for a, b in picture.edges]
    parts += [_title_svg(box, anchor) for box in picture.boxes]
    lines = line_numbers(assembly)
    for box in picture.boxes:
        parts += [_chip_svg(c, lines, anchor) for row in box.layers for c in row]
    ends = picture.inputs + picture.results
    parts += [_chip_svg(chip, lines, anchor, "end") for chip in ends]
    return "\n".join([*parts, "</svg>"])


def line_numbers(assembly: Assembly) -> dict[str, int]:
    """The user's lines that recorded something, numbered from the first to the last."""
    lines = {n.line for n in assembly.plan.graph.nodes() if n.line}
    return {line: i for i, line in enumerate(sorted(lines, key=position))}


# --- what is drawn


def _picture(assembly: Assembly) -> _Picture:
    boxes: list[_Box] = []
    homes: dict[Node, _Chip] = {}  # roots and parameters, where they are made
    inputs: dict[Node, _Chip] = {}
    wanted: list[tuple[Node, _Chip, _Box]] = []
    bodies = zip(assembly.plan.steps, assembly.steps, strict=True)
    for number, (step, launch) in enumerate(bodies):
        if isinstance(launch, Launch) and not launch.launched:
            continue
        nodes = [step] if isinstance(step, Node) else _operations(step.cones.items())
        summary = summarize(launch, assembly)
        box = _Box(number, f"{number}  {summary.name}", summary.kind, [], {})
        _fill(box, nodes)
        boxes.append(box)
        homes.update((n, c) for n, c in box.nodes.items() if n in assembly.plan.roots)
    picture = _Picture(boxes, [], [])
    for box in boxes:
        for node, chip in box.nodes.items():
            for operand in _operands(node):
                inside = box.nodes.get(operand)
                source = inside or homes.get(operand)
                if source is None and operand.op == "parameter":
                    source = inputs.setdefault(operand, _Chip(operand, _told(operand)))
                if source is not None and source is not chip:
                    picture.edges.append((source, chip))
                    if inside is None:
                        wanted.append((operand, chip, box))
    owner = {chip: box for box in boxes for chip in box.nodes.values()}
    for operand, _, box in wanted:
        made = owner.get(homes[operand]) if operand in homes else None
        if made is not None and made is not box:
            box.layer = max(box.layer, made.layer + 1)
    for operand, chip in inputs.items():
        chip.layer = min(box.layer for read, _, box in wanted if read is operand)
    picture.inputs = list(inputs.values())
    _add_results(picture, assembly.plan.graph, homes)
    return picture


def _add_results(picture: _Picture, graph: Graph, homes: dict[Node, _Chip]) -> None:
    for number, output in enumerate(graph.outputs):
        origin, target = output, graph.target(number)
        while origin not in homes and origin.op in _SEEN_THROUGH:
            origin = origin.operands[0]
        if origin in homes:  # and is no argument as it came
            name = f"result {number}" if target is None else f"argument {target} written"
            chip = _Chip(output, _told(output, name))
            picture.results.append(chip)
            picture.edges.append((homes[origin], chip))


def _operations(cones: Iterable[tuple[Node, object]]) -> list[Node]:
    """The operations of a kernel, operands before users."""
    inside: dict[Node, None] = {}
    for root, cone in cones:
        inside.update((n, None) for n, _ in reversed(cone.inlined))  # type: ignore[attr-defined]
        inside[root] = None
    order: dict[Node, None] = {}
    stack = list(inside)[::-1]
    while stack:
        node = stack[-1]
        below = [o for o in node.operands if o in inside and o not in order]
        if node not in order and below:
            stack += below
            continue
        order[node] = None
        stack.pop()
    return [n for n in order if n.op not in _SEEN_THROUGH and n.op != "constant"]


def _operands(node: Node, constant: bool = False) -> list[Node]:
    """What ``node`` is computed from, views and casts seen through; or the constants of that."""
    found = []
    for operand in node.operands:
        origin = operand
        while origin.op in _SEEN_THROUGH:
            origin = origin.operands[0]
        if (origin.op == "constant") is constant:
            found.append(origin)
    return found


def _fill(box: _Box, nodes: Sequence[Node]) -> None:
    depth: dict[Node, int] = {}
    drawn = nodes[-_MOST:]
    box.more = len(nodes) - len(drawn)
    for node in drawn:
        depth[node] = max((depth[o] + 1 for o in _operands(node) if o in depth), default=0)
        chip = box.nodes[node] = _Chip(node, _text(node))
        while len(box.layers) <= depth[node]:
            box.layers.append([])
        box.layers[depth[node]].append(chip)


def _text(node: Node) -> str:
    name = node.reduction.kind if node.reduces else getattr(node.attr, "name", node.op)
    name = _MARKS.get(name, name)
    for number in _operands(node, constant=True):
        if number.shape == ():
            return f"{name} {number.value:.4g}"
    return str(name)


def _told(node: Node, name: str = "") -> str:
    """What an argument, or what is called ``name``, is."""
    return f"{name or f'argument {node.parameter.number}'}: {node.dtype}{list(node.shape)}"


# --- where it stands


def _place(picture: _Picture) -> None:
    """The boxes layer by layer, above them what they are the first to read, results at the end."""
    layers: dict[int, list[_Box]] = {}
    for box in picture.boxes:
        layers.setdefault(box.layer, []).append(box)
    above = {n: [c for c in picture.inputs if c.layer == n] for n in layers}
    widths = [sum(b.width + 2 * _GAP for b in row) for row in layers.values()]
    ends = [sum(c.width + _GAP for c in row) for row in (*above.values(), picture.results)]
    picture.width = max([*widths, min(max(ends), _WIDE), 200.0]) + 2 * _PAD
    y: float = _PAD
    for number in sorted(layers):
        row = layers[number]
        y = _place_ends(above[number], y, picture.width)
        x = (picture.width - sum(b.width + 2 * _GAP for b in row)) / 2
        for box in row:
            box.x, box.y = x + _GAP, y
            _place_chips(box)
            x += box.width + 2 * _GAP
        y += max(b.height for b in row) + 2 * _GAP + 6
    picture.height = _place_ends(picture.results, y, picture.width)


def _place_ends(chips: Sequence[_Chip], y: float, width: float) -> float:
    """Place arguments or results from ``y`` on, in as many rows as they take; where they end."""
    rows: list[list[_Chip]] = []
    for chip in chips:
        if not rows or sum(c.width + _GAP for c in [*rows[-1], chip]) > width - _PAD:
            rows.append([])
        rows[-1].append(chip)
    for row in rows:
        x = (width - sum(c.width + _GAP for c in row) + _GAP) / 2
        for chip in row:
            chip.x, chip.y = x + chip.width / 2, y + _CHIP / 2
            x += chip.width + _GAP
        y += _CHIP + (2 * _GAP if row is rows[-1] else _GAP / 2)
    return y


def _place_chips(box: _Box) -> None:
    for number, row in enumerate(box.layers):
        x = box.x + (box.width - sum(c.width + _GAP for c in row) + _GAP) / 2
        for chip in row:
            chip.x, chip.y = x + chip.width / 2, box.y + _HEAD + number * _ROW + _ROW / 2
            x += chip.width + _GAP


# --- as text


def _box_svg(box: _Box, anchor: str) -> str:
    kind = box.kind if box.kind in ("loop", "library") else "reduction"
    return (
        f'<a href="#{anchor}-k{box.number}"><g class="box {kind}">'
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        'rx="8"/></g></a>'
    )


def _title_svg(box: _Box, anchor: str) -> str:
    more = ""
    if box.more:
        at = box.y + box.height - 6
        left = counted(box.more, "operation")
        more = f'<text x="{box.x + _PAD:.1f}" y="{at:.1f}">and {left} before</text>'
    return (
        f'<a href="#{anchor}-k{box.number}"><text class="title" x="{box.x + _PAD:.1f}" '
        f'y="{box.y + 17:.1f}">{escape(box.title)}</text></a>{more}'
    )


def _chip_svg(chip: _Chip, lines: dict[str, int], anchor: str, kind: str = "chip") -> str:
    node, width = chip.node, chip.width
    told = label(node) if node.op != "parameter" else _told(node)
    if node.line:
        told += f", {os.path.basename(node.line)}"
    drawn = (
        f'<g class="{kind}"><title>{escape(told)}</title>'
        f'<rect x="{chip.x - width / 2:.1f}" y="{chip.y - _CHIP / 2:.1f}" width="{width:.1f}" '
        f'height="{_CHIP}" rx="{_CHIP / 2}"/>'
        f'<text x="{chip.x:.1f}" y="{chip.y + 4:.1f}" text-anchor="middle">'
        f"{escape(chip.text)}</text></g>"
    )
    number = lines.get(node.line or "")
    return drawn if number is None else f'<a href="#{anchor}-l{number}">{drawn}</a>'


def _edge_svg(a: _Chip, b: _Chip) -> str:
    x1, y1, x2, y2 = a.x, a.y + _CHIP / 2, b.x, b.y - _CHIP / 2
    bend = max(12.0, min(60.0, abs(y2 - y1) / 2))
    far = ' class="far"' if y2 - y1 > _FAR else ""
    return (
        f'<path{far} d="M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} '
        f'{x2:.1f} {y2:.1f}"/>'
    )
