"""Pictures and texts: despeckling, segments, a canvas, life, modes of blending, bytes of text."""

from __future__ import annotations

import enum
from collections import Counter
from typing import Any

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, attribute, put

# --- noise taken away by medians of windows; how edges are made is an attribute


class Despeckle:
    size = 3

    def __init__(self, mode: str = "edge") -> None:
        self.mode, self.calls = mode, 0

    def windows(self, image: Any) -> Any:
        padded = np.pad(image, self.size // 2, mode=self.mode)  # type: ignore[call-overload]
        return np.lib.stride_tricks.sliding_window_view(padded, (self.size, self.size))

    def apply(self, image: Any) -> Any:
        """The picture, and how many of its elements have been replaced."""
        self.calls += 1
        windows = self.windows(image)
        middle = np.median(windows.reshape(*windows.shape[:2], -1), axis=-1)
        off = np.abs(image - middle)
        noisy = off > 3 * np.median(off)
        return np.where(noisy, middle, image).astype(image.dtype), int(noisy.sum())


def make_despeckle() -> list[Any]:
    return [Despeckle(), np.random.default_rng(0).integers(0, 255, (90, 120), dtype=np.uint8)]


# --- what stands out: a threshold by Otsu, opening, and the part that it lies in, as slices


def otsu(image: Any, bins: int = 256) -> int:
    histogram, _ = np.histogram(image, bins=bins, range=(0, 256))
    share = histogram / histogram.sum()
    weight, mean = np.cumsum(share), np.cumsum(share * np.arange(bins))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (mean[-1] * weight - mean) ** 2 / (weight * (1 - weight))
    return int(np.nanargmax(between))


def dilated(mask: Any, times: int) -> Any:
    for _ in range(times):
        grown = mask.copy()
        grown[1:] |= mask[:-1]
        grown[:-1] |= mask[1:]
        grown[:, 1:] |= mask[:, :-1]
        grown[:, :-1] |= mask[:, 1:]
        mask = grown
    return mask


def segment(image: Any, *, opening: int = 1, invert: bool = False) -> Any:
    """The threshold, where the part lies that stands out, and the part."""
    limit = otsu(image)
    mask = image > limit
    if invert:
        mask = ~mask
    mask = dilated(~dilated(~mask, opening), opening)
    rows, columns = np.nonzero(mask)
    if not len(rows):
        return limit, None, mask
    box = (slice(rows.min(), rows.max() + 1), slice(columns.min(), columns.max() + 1))
    return limit, [(s.start, s.stop) for s in box], image[box]


def make_segment(seed: int = 3) -> list[Any]:
    image = np.random.default_rng(seed).integers(0, 90, (150, 160), dtype=np.uint8)
    image[40 : 90 + seed, 30:100] += 120
    return [image, 1]


# --- a canvas that knows what it was


class Canvas:
    def __init__(self, height: int, width: int) -> None:
        self.pixels = np.zeros((height, width, 3), np.uint8)
        self.undo: list[Any] = []
        self.counts: Counter[str] = Counter()

    def rectangle(self, y: int, x: int, size: int, color: Any, alpha: float) -> Any:
        """Draw one, half through if need be; the shape of what is seen of it."""
        self.counts["rectangles"] += 1
        self.undo.append(self.pixels.copy())
        if len(self.undo) > 2:
            del self.undo[0]
        part = self.pixels[y : y + size, x : x + size]
        part[:] = (part * (1 - alpha) + np.array(color) * alpha).round().astype(np.uint8)
        self.pixels.flat[:: self.pixels.shape[1] * 3 + 3] = 255
        return part.shape, self.pixels.mean()


def make_canvas() -> list[Any]:
    return [Canvas(160, 200), 20, 30, 90, (200, 10, 40), 0.5]


# --- a game of life under rules that are flags


class Rule(enum.Flag):
    PLAIN = 0
    WRAP = enum.auto()
    HEX = enum.auto()


def neighbours(cells: Any, rule: Rule) -> Any:
    if Rule.WRAP in rule:
        ways = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        if Rule.HEX in rule:
            ways = [(i, j) for i, j in ways if i != j]
        return sum(np.roll(cells, way, (0, 1)) for way in ways)
    padded, (height, width) = np.pad(cells, 1), cells.shape
    every = (padded[i : i + height, j : j + width] for i in range(3) for j in range(3))
    return sum(every) - cells


def life(cells: Any, steps: int, rule: Rule, born: Any = (3,), stays: Any = (2, 3)) -> Any:
    """The cells after some steps, fewer if nothing lives or changes any more, and why it ended."""
    for step in range(steps):
        count = neighbours(cells.astype(np.uint8), rule)
        new = (np.isin(count, born) & ~cells) | (np.isin(count, stays) & cells)
        if np.array_equal(new, cells):
            return cells, step, "still"
        cells = new
        if not cells.any():
            return cells, step, "dead"
    return cells, steps, "alive"


def make_life() -> list[Any]:
    return [np.random.default_rng(1).random((150, 150)) < 0.3, 3, Rule.WRAP]


# --- modes of blending: an enum with methods, and a constant of the module that they read

WHITE = 255.0


class Mode(enum.Enum):
    MULTIPLY = "multiply"
    SCREEN = "screen"
    OVERLAY = "overlay"

    def blended(self, below: Any, above: Any) -> Any:
        a, b = below / WHITE, above / WHITE
        match self:
            case Mode.MULTIPLY:
                return a * b
            case Mode.SCREEN:
                return 1 - (1 - a) * (1 - b)
            case _:
                return np.where(a < 0.5, 2 * a * b, 1 - 2 * (1 - a) * (1 - b))


def blend(layers: Any, modes: Any) -> Any:
    """Layers upon each other, as bytes, and how light each was."""
    made = layers[0].astype(float)
    for layer, mode in zip(layers[1:], modes, strict=True):
        made = mode.blended(made, layer) * WHITE
    return np.clip(made, 0, 255).astype(np.uint8), [float(v.mean()) for v in layers]


def make_blend() -> list[Any]:
    layers = np.random.default_rng(2).integers(0, 255, (3, 120, 160), dtype=np.uint8)
    return [list(layers), [Mode.MULTIPLY, Mode.SCREEN]]


def darker(arguments: list[Any]) -> None:
    """White is less than it was."""
    import sys

    sys.modules[type(arguments[1][0]).__module__].WHITE = 200.0  # type: ignore[attr-defined]


# --- bytes of a text: runs, a shifted alphabet, what is the most frequent


def letters(text: Any, shift: int) -> Any:
    """The text with its small letters shifted, its runs, and the entropy of its bytes."""
    small = (text >= 97) & (text <= 122)
    out = text.copy()
    out[small] = (text[small] - 97 + shift) % 26 + 97
    cuts = np.flatnonzero(np.r_[True, text[1:] != text[:-1]])
    counts = np.bincount(text, minlength=256)
    share = counts[counts > 0] / len(text)
    lengths = np.diff(np.r_[cuts, len(text)])
    return out, lengths, chr(int(counts.argmax())), -(share * np.log2(share)).sum()


def make_letters(seed: int = 4) -> list[Any]:
    return [np.random.default_rng(seed).integers(60, 125, 30_000).astype(np.uint8), 3]


PIECES = [
    Piece(
        "medians of windows", "Despeckle.apply", make_despeckle, REPLAYED,
        (put(1, lambda x: x[::-1]), attribute(0, "mode", "reflect"), put(1, lambda x: x.T)),
    ),
    Piece(
        "what stands out", "segment", make_segment, REPLAYED,
        (put(1, lambda n: 2), put(0, lambda x: make_segment(7)[0]), put(0, lambda x: x[:, ::-1])),
        keywords=("opening",),
    ),
    Piece(
        "a canvas", "Canvas.rectangle", make_canvas, REPLAYED,
        (put(4, lambda c: (1, 2, 3)), put(5, lambda a: 0.25), put(3, lambda n: 500),
         lambda a: a[0].undo.clear()), steady=False,  # the list is full from the third one on
    ),
    Piece(
        "life under rules", "life", make_life, REPLAYED,
        (put(0, lambda x: ~x), put(2, lambda r: r | type(r).HEX),
         put(2, lambda r: type(r).PLAIN), put(0, lambda x: x & False)),
    ),
    Piece(
        "modes of blending", "blend", make_blend, REPLAYED,
        (put(0, lambda x: x[::-1]), lambda a: a[1].reverse(), darker,
         put(1, lambda m: [type(m[0]).OVERLAY] * 2)),
    ),
    Piece(
        "letters of a text", "letters", make_letters, REPLAYED,
        (put(1, lambda n: -3), put(0, lambda x: make_letters(5)[0]), put(0, lambda x: x[:777])),
    ),
]  # fmt: skip
