"""``demo``: shade a real elevation model by NumPy and fused, compare, and save the picture."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..api import lower
from ..capture.calls.fused import fused
from ..cases.compare import compare
from ..cpu_fallback.program import thread_count
from ..words import counted
from . import tables
from .counting import count_launches
from .demo_shading import shade
from .timing import Timing, side_by_side
from .usage import UsageError, one_line
from .work import Work, work_of

Array = np.ndarray[Any, Any]

DEFAULT_OUT = Path("demo-output", "relief.png")
METRES_PER_DEGREE = 111_200.0
SUN = (315.0, 40.0)  # azimuth and altitude
EXAGGERATION = 1.6
RESULTS = ("red", "green", "blue", "light", "steepness")
EXACT = ("steepness",)  # what + − × ÷ √ and comparisons alone compute


@dataclass(frozen=True, slots=True)
class Model:
    """An elevation model: heights in metres, row by row from the north, and where it lies."""

    elevation: Array
    dx: float  # metres between columns
    dy: float  # metres between rows
    extent: tuple[float, float, float, float]  # west, east, south, north in degrees


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser(
        "demo", help="shade an elevation model by NumPy and fused, and save the picture"
    )
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, metavar="FILE.png")
    parser.add_argument(
        "--size", type=_factor, default=4, metavar="N", help="refine the model N times per axis"
    )
    parser.add_argument(
        "--seconds", type=float, default=6.0, metavar="S", help="time spent on measuring"
    )
    parser.set_defaults(run=run)


def _factor(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 32:
        raise argparse.ArgumentTypeError("must be from 1 to 32")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Shade, compare, measure, save and say where; 1 if bits differ that must not."""
    model = refined(load_model(), arguments.size)
    inputs = (model.elevation, model.dx, model.dy, *SUN, EXAGGERATION)
    # Strict: no call goes without its kernels, however busy the machine.
    fused_shade = fused(shade, strict=True)

    plain = shade(*inputs)
    ours = fused_shade(*inputs)
    equal = show_agreement(plain, ours)

    executable = lower(shade, *inputs)
    with count_launches() as launches:
        fused_shade(*inputs)
    moved = sum(k.bytes_read + k.bytes_written for k in executable.kernels)
    ours_work = Work(launches.total, moved, executable.memory.peak_bytes)
    times = side_by_side(
        {"numpy": lambda: shade(*inputs), "fused": lambda: fused_shade(*inputs)},
        arguments.seconds,
        least=3,
    )
    rows, columns = plain[0].shape
    show_costs(f"{rows:,} × {columns:,} points", work_of(shade, inputs), ours_work, times)
    caption = (
        f"NumPy {tables.seconds(times['numpy'].median)}, "
        f"fused {tables.seconds(times['fused'].median)}"
    )
    save_picture(arguments.out, np.stack(ours[:3], axis=-1), model, caption)
    print(f"picture: {arguments.out}")
    return 0 if equal else 1


# --- the model


def load_model() -> Model:
    """The elevation model around the Jacksboro fault, Tennessee, that comes with matplotlib."""
    try:
        from matplotlib.cbook import get_sample_data
    except ImportError:
        raise UsageError("the demo needs matplotlib: pip install 'fusecuda[tools]'") from None
    try:
        file: Any = get_sample_data("jacksboro_fault_dem.npz")
        with file as data:
            west, east = float(data["xmin"]), float(data["xmax"])
            south, north = sorted((float(data["ymin"]), float(data["ymax"])))
            metres = METRES_PER_DEGREE
            dx = float(data["dx"]) * metres * float(np.cos(np.radians((south + north) / 2)))
            elevation = data["elevation"].astype(np.float64)
            return Model(elevation, dx, float(data["dy"]) * metres, (west, east, south, north))
    except (OSError, KeyError) as error:
        raise UsageError(f"matplotlib's sample data cannot be read: {one_line(error)}") from None


def refined(model: Model, factor: int) -> Model:
    """The model with ``factor`` times as many samples along each axis, by cubic interpolation."""
    if factor == 1:
        return model
    heights = _between(_between(model.elevation, factor).T, factor).T
    elevation = np.ascontiguousarray(heights)
    return Model(elevation, model.dx / factor, model.dy / factor, model.extent)


def _between(values: Array, factor: int) -> Array:
    """Catmull-Rom interpolation along the first axis."""
    rows, columns = values.shape
    framed = np.pad(values, ((1, 1), (0, 0)), mode="edge")
    a, b, c, d = (framed[i : rows - 1 + i, None] for i in range(4))
    t = (np.arange(factor) / factor)[None, :, None]
    inner = b + t / 2 * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
    return np.concatenate([inner.reshape(-1, columns), values[-1:]])


# --- what is shown


def show_agreement(plain: tuple[Array, ...], ours: tuple[Array, ...]) -> bool:
    """Print how the results agree; False if bits differ that are promised."""
    equal = True
    rows = []
    for name, a, b in zip(RESULTS, plain, ours, strict=True):
        difference = compare(b, a)
        exact = name in EXACT
        equal &= not (exact and difference.first is not None)
        rows.append((name, "equal bits" if exact else "close", str(difference)))
    tables.show_table("fused against NumPy", ("result", "promised", "found"), rows)
    return equal


def show_costs(what: str, plain: Work, ours: Work, times: dict[str, Timing]) -> None:
    """Print the table of operations, launches, bytes, memory and times."""
    a, b = times["numpy"], times["fused"]
    rows = [
        ("passes over memory", counted(plain.operations, "call"),
         counted(ours.operations, "kernel"),
         f"{plain.operations / max(1, ours.operations):.1f}×"),
        ("bytes read and written", tables.size(plain.bytes), tables.size(ours.bytes),
         f"{plain.bytes / ours.bytes:.1f}×"),
        ("peak memory", tables.size(plain.peak_bytes), tables.size(ours.peak_bytes),
         f"{plain.peak_bytes / ours.peak_bytes:.1f}×"),
        (f"time, median of {len(a.runs)}", tables.seconds(a.median), tables.seconds(b.median),
         f"{a.median / b.median:.1f}×"),
        ("  fastest – slowest", *(f"{tables.seconds(t.low)} – {tables.seconds(t.high)}"
                                  for t in (a, b)), ""),
    ]  # fmt: skip
    threads = thread_count()
    title = f"shading {what} in float64, {counted(threads, 'thread')}"
    tables.show_table(title, ("", "NumPy", "fused", ""), rows)


def save_picture(path: Path, picture: Array, model: Model, caption: str) -> None:
    """Write ``picture`` with its coordinates as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    west, east, south, north = model.extent
    stretch = model.dy / model.dx * picture.shape[0] / picture.shape[1]
    figure = Figure(figsize=(9.0, 9.0 * stretch + 0.2), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.imshow(picture, extent=model.extent, interpolation="bilinear",
                aspect=stretch * (east - west) / (north - south))  # fmt: skip
    axes.set_title("Jacksboro fault, Tennessee", loc="left", fontsize=13, fontweight="bold")
    axes.set_title(caption, loc="right", fontsize=9, color="0.35")
    axes.xaxis.set_major_formatter(lambda x, _: f"{abs(x):.2f}° {'W' if x < 0 else 'E'}")
    axes.yaxis.set_major_formatter(lambda y, _: f"{abs(y):.2f}° {'S' if y < 0 else 'N'}")
    axes.tick_params(labelsize=8, color="0.6", labelcolor="0.35")
    axes.spines[:].set_color("0.6")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="png")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {one_line(error)}") from None
