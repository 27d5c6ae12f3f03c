"""Page: plans as one HTML page without outside assets: graph, lines, sources, bytes, timeline."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Sequence
from html import escape

from ..graph.structure import operations
from ..words import counted
from .assembly import Assembly
from .brief import brief, size
from .drawing import draw, line_numbers
from .explain import KernelSummary, bytes_alone, summarize
from .walk import Launch

_AROUND = 2  # lines shown around those that recorded something
Sources = Sequence[str]  # of each step of an assembly


def page(title: str, sections: Iterable[str]) -> str:
    """The whole page of `section` texts, the newest plan first."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1>{''.join(sections)}{_OPEN}</body></html>\n"
    )


def section(assembly: Assembly, sources: Sources, peak_bytes: int, name: str) -> str:
    """One plan; ``name`` is unlike that of any other on the page."""
    graph = assembly.plan.graph
    steps = [
        (number, summarize(step, assembly))
        for number, step in enumerate(assembly.steps)
        if not isinstance(step, Launch) or step.launched
    ]
    work = operations(graph.nodes())
    moved = sum(s.bytes_read + s.bytes_written for _, s in steps)
    alone = max(sum(bytes_alone([n]) for n in work), moved)
    launches = len(assembly.launches)
    cards = [
        ("launches", f"{len(work):,}", f"{launches:,}", len(work), launches),
        ("bytes moved", size(alone), size(moved), alone, moved),
    ]
    told = "\n".join(brief(assembly, peak_bytes))
    return (
        f'<section id="{name}"><h2>{escape(graph.name)}</h2><div class="cards">'
        + "".join(_card(*card) for card in cards)
        + f'<div class="card"><b>{size(peak_bytes)}</b><span>peak of results and temporaries'
        "</span></div></div>"
        f'<div class="graph">{draw(assembly, name)}</div>{_LEGEND}'
        f"<h3>Timeline, by bytes moved</h3>{_timeline(steps, moved, name)}"
        f"<h3>Lines</h3>{_lines(assembly, name)}"
        f"<h3>What became of it</h3><pre>{escape(told)}</pre>"
        f"<h3>Kernels</h3>{_kernels(steps, sources, name)}</section>"
    )


def _card(what: str, before: str, after: str, most: int, least: int) -> str:
    share = 100 * least / most if most else 100
    return (
        f'<div class="card"><b>{before} → {after}</b><span>{what}, one operation at a time '
        f'and as planned</span><i style="width:{share:.1f}%"></i></div>'
    )


def _timeline(steps: Sequence[tuple[int, KernelSummary]], moved: int, name: str) -> str:
    bars = []
    for number, s in steps:
        part = s.bytes_read + s.bytes_written
        kind = s.kind if s.kind in ("loop", "library") else "reduction"
        told = f"{number} {s.name}: {size(part)}"
        bars.append(
            f'<a class="{kind}" href="#{name}-k{number}" style="flex-grow:{max(part, 1)}" '
            f'title="{escape(told)}">{number}</a>'
        )
    return (
        f'<div class="timeline">{"".join(bars)}</div><p>{counted(len(steps), "launch")} in this '
        f"order, {size(moved)} in all; a bar is as wide as its share.</p>"
    )


def _lines(assembly: Assembly, name: str) -> str:
    """The user's lines with their neighbours, those that recorded something marked."""
    numbers = line_numbers(assembly)
    if not numbers:
        return "<p>Lines were not recorded.</p>"
    files: dict[str, dict[int, int]] = {}
    for place, number in numbers.items():
        file, _, line = place.rpartition(":")
        if line.isdigit():
            files.setdefault(file, {})[int(line)] = number
    return "".join(_file(file, marked, name) for file, marked in files.items())


def _file(file: str, marked: dict[int, int], name: str) -> str:
    around = range(-_AROUND, _AROUND + 1)
    shown = sorted({line + step for line in marked for step in around if line + step > 0})
    rows, last = [], None
    for line in shown:
        text = linecache.getline(file, line).rstrip("\n")
        if not text and line not in marked:
            continue
        if last is not None and line > last + 1:
            rows.append('<tr class="gap"><td></td><td>⋯</td></tr>')
        last = line
        own = f' class="own" id="{name}-l{marked[line]}"' if line in marked else ""
        rows.append(f"<tr{own}><td>{line}</td><td>{escape(text)}</td></tr>")
    return f'<p class="file">{escape(os.path.basename(file))}</p><table>{"".join(rows)}</table>'


def _kernels(steps: Sequence[tuple[int, KernelSummary]], sources: Sources, name: str) -> str:
    texts = []
    for (number, s), text in zip(steps, sources, strict=True):
        figures = f"reads {size(s.bytes_read)}, writes {size(s.bytes_written)}, {s.flops:,} flops"
        texts.append(
            f'<details id="{name}-k{number}"><summary>{number} {escape(s.name)} '
            f"<span>{s.kind}, {figures}</span></summary><pre>{escape(text)}</pre></details>"
        )
    return "".join(texts)


_OPEN = (  # a link to a kernel unfolds it
    "<script>addEventListener('hashchange',()=>{const e=document.getElementById("
    "location.hash.slice(1));if(e&&e.tagName==='DETAILS'){e.open=true;e.scrollIntoView()}})</script>"
)
_LEGEND = (
    '<p class="legend"><span class="loop">loop</span><span class="reduction">reduction</span>'
    '<span class="library">library call</span> '
    "A box is one launch; an operation leads to its line, a box to its source.</p>"
)
_STYLE = """
:root{--bg:#fff;--fg:#1d2430;--dim:#667085;--line:#d5dae3;--soft:#f5f7fa;--loop:#2f6fde;
--reduction:#b4580f;--library:#5b6472;--mark:#fff3c9}
@media(prefers-color-scheme:dark){:root{--bg:#14181f;--fg:#e3e8f0;--dim:#97a1b2;--line:#343c4a;
--soft:#1c222c;--loop:#7aa7ff;--reduction:#f0a860;--library:#a3adbd;--mark:#4a4220}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:1.2rem;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,"DejaVu Sans",sans-serif}
h1{font-size:1.4rem;margin:.2rem 0 1rem}h2{font-size:1.2rem;margin:0 0 .8rem}
h3{font-size:1rem;margin:1.6rem 0 .5rem}
section{border-top:1px solid var(--line);padding:1.2rem 0 2rem}
p{color:var(--dim);margin:.4rem 0}
pre,table,svg text,summary{font-family:ui-monospace,"DejaVu Sans Mono",monospace}
pre{background:var(--soft);border-radius:8px;padding:.8rem;overflow-x:auto;font-size:12.5px;
line-height:1.45}
.cards{display:flex;flex-wrap:wrap;gap:.8rem}
.card{flex:1 1 14rem;background:var(--soft);border-radius:8px;padding:.7rem .9rem;overflow:hidden}
.card b{display:block;font-size:1.25rem;font-weight:600}.card span{color:var(--dim);font-size:13px}
.card i{display:block;height:4px;border-radius:2px;background:var(--loop);margin-top:.5rem}
.graph{overflow-x:auto;margin-top:1rem;border:1px solid var(--line);border-radius:8px}
svg{display:block;margin:0 auto;max-width:none;height:auto}
svg text{font-size:11.5px;fill:var(--fg)}
svg .title{font-weight:600;paint-order:stroke;stroke:var(--soft);stroke-width:4px}
svg .far{opacity:.3}svg path{fill:none;stroke:var(--dim);stroke-width:1.1}
.box rect{fill:var(--soft);stroke-width:1.6}
.box.loop rect{stroke:var(--loop)}.box.reduction rect{stroke:var(--reduction)}
.box.library rect{stroke:var(--library);stroke-dasharray:5 3}
.chip rect,.end rect{fill:var(--bg);stroke:var(--line)}.end rect{stroke:var(--dim)}
a:hover .chip rect,a:focus .chip rect,a:hover .box rect{stroke:var(--fg)}
.legend span{color:var(--bg);border-radius:9px;padding:0 .6em;margin-right:.5em;font-size:13px}
.legend .loop,.timeline .loop{background:var(--loop)}
.legend .reduction,.timeline .reduction{background:var(--reduction)}
.legend .library,.timeline .library{background:var(--library)}
.timeline{display:flex;gap:2px;height:28px}
.timeline a{flex:1 1 6px;min-width:6px;border-radius:3px;color:var(--bg);text-decoration:none;
font-size:11px;line-height:28px;text-align:center;overflow:hidden}
table{border-collapse:collapse;font-size:12.5px;width:100%;background:var(--soft);border-radius:8px;
display:block;overflow-x:auto;padding:.4rem 0}
td{padding:0 .8rem;white-space:pre}
td:first-child{color:var(--dim);text-align:right;user-select:none}
.own td:last-child{border-left:3px solid var(--loop)}
td:last-child{border-left:3px solid transparent}
tr:target,details:target summary{background:var(--mark)}
.file{margin:.6rem 0 .2rem}
details{border-bottom:1px solid var(--line);padding:.35rem 0}
summary{cursor:pointer;font-size:13px;border-radius:4px}summary span{color:var(--dim)}
"""
