"""What all examples share: their options, the table that they print, and their pictures."""

import argparse
import copy
import statistics
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fusecuda as fc
from fusecuda.graph.structure import operations
from fusecuda.tools import tables


@dataclass
class Row:
    """What a program came to, each figure plain and fused."""

    program: str
    operations: int
    launches: tuple[int, int]
    peak_bytes: tuple[int, int]  # arrays made by a call, its results among them
    seconds: tuple[float, float]


class Example:
    """One run of an example: what the command line asked for, and the rows of its table."""

    def __init__(self, file, doc, arguments=None, *, size, quick):
        parser = argparse.ArgumentParser(
            description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu",
                            help="compute NumPy arrays, or CuPy arrays on a GPU")  # fmt: skip
        parser.add_argument("--size", type=int, help=f"of the problem (default: {size:,})")
        parser.add_argument("--quick", action="store_true", help=f"size {quick:,}, hardly measured")
        parser.add_argument("--out", type=Path, default=Path("examples-output"), metavar="DIR",
                            help="where pictures are left (default: %(default)s)")  # fmt: skip
        asked = parser.parse_args(arguments)
        self.name = Path(file).stem
        self.size = asked.size or (quick if asked.quick else size)
        self.quick, self.device, self.out = asked.quick, asked.device, asked.out
        self.library = "NumPy" if self.device == "cpu" else "CuPy"
        self.rows = []

    def array(self, values):
        """``values`` as an array of the device."""
        if self.device == "cpu":
            return np.asarray(values)
        import cupy

        return cupy.asarray(values)

    def compare(self, function, arguments, exact=False, tolerance=1e-14):
        """Run ``function`` plain and fused on ``arguments``; print what both took.

        Nothing is measured before the results agree. The fused one is strict, so that it is fused
        where the size does not pay, too.
        """
        name, fused = function.__name__, fc.fused(function, strict=True)
        agreement = self.check(name, self._call(function, arguments),
                               self._call(fused, arguments), exact, tolerance)  # fmt: skip
        ours, plain = copy.deepcopy(arguments), copy.deepcopy(arguments)
        row = Row(
            name,
            self._operations(function, arguments),
            (self._launches(function, plain), self._launches(fused, ours)),
            (self._peak(function, plain), self._peak_of_plans(fused, ours)),
            self.times(lambda: function(*plain), lambda: fused(*ours)),
        )
        self.rows.append(row)
        lines = [
            [f"{count:,}", tables.seconds(seconds), tables.size(peak)]
            for count, seconds, peak in zip(row.launches, row.seconds, row.peak_bytes, strict=True)
        ]
        print(f"{name}: {row.operations:,} operations; {agreement}")
        tables.show_table(
            "",
            ("", "launches", "time", "peak memory"),
            [[way, *line] for way, line in zip((self.library, "fused"), lines, strict=True)],
        )

    def check(self, name, plain, ours, exact=False, tolerance=1e-14):
        """In words, how ``ours`` agrees with ``plain``; raises AssertionError if it does not.

        What + − × ÷ √ and comparisons compute is equal in every bit. Sums (another order of
        addition) and functions such as exp may differ in the last digits.
        """
        for a, b in zip(leaves(plain), leaves(ours), strict=True):
            if exact:
                np.testing.assert_array_equal(b, a, err_msg=name)
            else:
                most = tolerance * np.max(np.abs(a), initial=0.0)
                np.testing.assert_allclose(b, a, rtol=tolerance, atol=most, err_msg=name)
        return (
            f"{'the same bits as' if exact else f'agrees to {tolerance:.0e} with'} {self.library}"
        )

    def times(self, *calls):
        """The median duration of each call in seconds, measured in turn for a second."""
        found = [[] for _ in calls]
        end = time.perf_counter() + (0.0 if self.quick else 1.0)
        while len(found[0]) < 3 or (time.perf_counter() < end and len(found[0]) < 200):
            for call, durations in zip(calls, found, strict=True):
                start = time.perf_counter()
                call()
                self._wait()
                durations.append(time.perf_counter() - start)
        return tuple(statistics.median(durations) for durations in found)

    def _wait(self):
        if self.device == "cuda":
            import cupy

            cupy.cuda.Device().synchronize()

    def _call(self, function, arguments):
        """What a call on copies of the arguments returns, and what it leaves in them."""
        given = copy.deepcopy(arguments)
        return function(*given), given

    def _operations(self, function, arguments):
        graph = fc.lower(function, *host(arguments), device=self.device).graph
        return len(operations(graph.nodes()))

    def _launches(self, function, arguments):
        with fc.count_launches() as counter:
            function(*arguments)
        return counter.total

    def _peak(self, function, arguments):
        """The most bytes that arrays made by a call took at once."""
        if self.device == "cuda":
            import cupy

            pool = cupy.get_default_memory_pool()
            pool.free_all_blocks()
            before = pool.total_bytes()
            function(*arguments)
            return pool.total_bytes() - before
        tracemalloc.start()
        function(*arguments)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    def _peak_of_plans(self, function, arguments):
        """The same by the plans that ran, for what they give back stays in a pool."""
        with fc.profile() as profile:
            function(*arguments)
        return max((held for _, held in profile.memory), default=0)

    # --- pictures

    def path(self, suffix):
        """A file of this example in the folder for pictures."""
        self.out.mkdir(parents=True, exist_ok=True)
        return self.out / f"{self.name}{suffix}"

    def chart(self):
        """Leave the launches and the memory of all rows as bars, in an SVG."""
        path = self.path(".svg")
        path.write_text(bars(self.rows, self.library), encoding="utf-8")
        print(f"wrote {path}")

    def picture(self, *frames, zoom=1):
        """Leave pictures with values 0 to 255, (rows, columns) or with colours, as one that moves.

        One frame is a PNG. Without Pillow there is none.
        """
        try:
            from PIL import Image
        except ImportError:
            print("no picture: it takes Pillow")
            return
        images = [Image.fromarray(np.asarray(np.rint(host(f)), np.uint8)) for f in frames]
        images = [i.resize((i.width * zoom, i.height * zoom), Image.NEAREST) for i in images]
        if len(images) == 1:
            path = self.path(".png")
            images[0].save(path, optimize=True)
        else:
            path = self.path(".gif")
            images = [i.quantize(20, dither=Image.Dither.NONE) for i in images]
            images[0].save(path, save_all=True, append_images=images[1:], duration=120, loop=0)
        print(f"wrote {path}")


def host(value):
    """The same with NumPy arrays in the place of CuPy's."""
    if isinstance(value, dict):
        return {key: host(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(host(part) for part in value)
    return value.get() if hasattr(value, "get") else value


def leaves(value):
    """The arrays and numbers in nested dicts, lists and tuples, as NumPy arrays."""
    value = host(value)
    if isinstance(value, dict | list | tuple):
        parts = value.values() if isinstance(value, dict) else value
        return [leaf for part in parts for leaf in leaves(part)]
    return [] if value is None else [np.asarray(value)]


def colours(field, low, high):
    """A field as a picture: dark blue over teal and sand to white."""
    field = np.asarray(host(field), np.float64)
    share = np.clip((field - low) / (high - low), 0, 1)
    stops = np.array(
        [[13, 17, 64], [24, 92, 130], [64, 168, 150], [240, 208, 130], [255, 252, 242]]
    )
    at = np.linspace(0, 1, len(stops))
    return np.stack([np.interp(share, at, stops[:, k]) for k in range(3)], axis=-1).astype(np.uint8)


WIDTH, BAR, LEFT, HALF = 720, 16, 150, 190


def bars(rows, library):
    """An SVG with two bars a row and figure: plain above, fused below."""
    height = 40 + len(rows) * (2 * BAR + 22)
    text = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#fbfaf7"/>',
        f'<text x="{LEFT}" y="22" fill="#555">launches</text>',
        f'<text x="{LEFT + HALF + 90}" y="22" fill="#555">peak memory</text>',
        f'<text x="12" y="22"><tspan fill="#8a94a6">■</tspan> {library} '
        '<tspan fill="#d9622b">■</tspan> fused</text>',
    ]
    for k, row in enumerate(rows):
        y = 36 + k * (2 * BAR + 22)
        text.append(f'<text x="12" y="{y + BAR + 4}" font-weight="bold">{row.program}</text>')
        counts = [f"{count:,}" for count in row.launches]
        sizes = [tables.size(peak) for peak in row.peak_bytes]
        text += _pair(LEFT, y, row.launches, counts)
        text += _pair(LEFT + HALF + 90, y, row.peak_bytes, sizes)
    return "\n".join([*text, "</svg>\n"])


def _pair(x, y, values, labels):
    """Two bars as wide as their values, each with its label."""
    for k, (value, label) in enumerate(zip(values, labels, strict=True)):
        width, top = max(1.0, HALF * value / max(values)), y + k * (BAR + 2)
        fill = ("#8a94a6", "#d9622b")[k]
        yield f'<rect x="{x}" y="{top}" width="{width:.1f}" height="{BAR}" fill="{fill}"/>'
        yield f'<text x="{x + width + 6:.1f}" y="{top + 12}">{label}</text>'
