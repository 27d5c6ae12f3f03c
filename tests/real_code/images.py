"""Image code: borders, bytes, colours, histograms."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, attribute, put


def photo(height: int, width: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    smooth = 90 + 60 * np.sin(x / 17) * np.cos(y / 23)
    return np.clip(smooth + 20 * rng.normal(size=(height, width)), 0, 255).astype(np.uint8)


def colours(height: int, width: int) -> Any:
    return np.dstack([photo(height, width, seed) for seed in range(3)])


# --- blur: a kernel made once and kept, edges that repeat


@dataclass
class Blur:
    """Keeps the kernel of its sigma."""

    sigma: float = 2.0
    kernel: Any = None
    of: float = 0.0

    def weights(self) -> Any:
        if self.kernel is None or self.of != self.sigma:
            r = np.arange(-int(3 * self.sigma), int(3 * self.sigma) + 1)
            k = np.exp(-(r**2) / (2 * self.sigma**2))
            self.kernel, self.of = k / k.sum(), self.sigma
        return self.kernel

    def apply(self, image: Any) -> Any:
        k = self.weights()
        r = len(k) // 2
        out = image.astype(float)
        for axis in (0, 1):
            wide = np.pad(out, [(r, r) if i == axis else (0, 0) for i in range(2)], mode="edge")
            out = np.zeros(image.shape)
            for i, w in enumerate(k):
                part = [slice(None)] * 2
                part[axis] = slice(i, i + image.shape[axis])
                out += w * wide[tuple(part)]
        return np.rint(out).astype(image.dtype)


# --- Sobel: an enum chooses, a threshold from a percentile


class Edges(enum.IntEnum):
    ACROSS = 0
    DOWN = 1
    BOTH = 2


def sobel(image: Any, which: Edges = Edges.BOTH, share: float | None = None) -> Any:
    """The strength of edges, or a mask of the strongest."""
    p = np.pad(image.astype(np.float64), 1, mode="reflect")
    across = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    down = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    if which is Edges.ACROSS:
        strength = np.abs(across)
    elif which == Edges.DOWN:
        strength = np.abs(down)
    else:
        strength = np.hypot(across, down)
    if share is None:
        return strength
    return strength > np.percentile(strength, 100 * (1 - share))


# --- histogram equalisation: counts, a table, a look-up


def equalise(image: Any, levels: int = 256) -> tuple[Any, Any]:
    """The image with its grey levels spread evenly, and the table used."""
    counts = np.bincount(image.ravel(), minlength=levels)
    total = counts.cumsum()
    first = total[counts > 0][0]
    table = np.round((total - first) / max(image.size - first, 1) * (levels - 1))
    table = np.clip(table, 0, levels - 1).astype(image.dtype)
    return table[image], table


# --- HSV and back: masks with three cases, division by what may be zero


def to_hsv(rgb: Any) -> Any:
    rgb = rgb / 255.0
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    top, low = rgb.max(axis=-1), rgb.min(axis=-1)
    span = top - low
    safe = np.where(span > 0, span, 1.0)
    hue = np.zeros_like(top)
    mask = (top == r) & (span > 0)
    hue[mask] = ((g - b)[mask] / safe[mask]) % 6
    mask = (top == g) & (top != r)
    hue[mask] = (b - r)[mask] / safe[mask] + 2
    mask = (top == b) & (top != r) & (top != g)
    hue[mask] = (r - g)[mask] / safe[mask] + 4
    value = np.where(top > 0, top, 1)
    return np.stack([hue / 6, np.where(top > 0, span / value, 0), top], axis=-1)


def to_rgb(hsv: Any) -> Any:
    h, s, v = np.moveaxis(hsv, -1, 0)
    parts = []
    for offset in (5, 3, 1):
        k = (offset + 6 * h) % 6
        parts.append(v - v * s * np.maximum(0, np.minimum(np.minimum(k, 4 - k), 1)))
    return (np.stack(parts, axis=-1) * 255 + 0.5).astype(np.uint8)


def saturate(rgb: Any, factor: float, turn: float = 0.0) -> Any:
    """Stronger colours, all turned a little."""
    hsv = to_hsv(rgb)
    hsv[..., 0] = (hsv[..., 0] + turn) % 1.0
    hsv[..., 1] = np.minimum(hsv[..., 1] * factor, 1.0)
    return to_rgb(hsv)


# --- a stack of exposures: weights, medians, a settings object with a nested one


@dataclass
class Tone:
    gamma: float = 2.2
    range: tuple[float, float] = (0.05, 0.95)


@dataclass
class Settings:
    tone: Tone
    despeckle: bool = True


class Stacker:
    """Sums exposures as they come in."""

    def __init__(self, settings: Settings, shape: tuple[int, int]) -> None:
        self.settings = settings
        self.sum = np.zeros(shape, np.float32)
        self.weight = np.zeros(shape, np.float32)

    def add(self, image: Any, time: float) -> Any:
        """What the stack looks like now, as bytes."""
        x = image.astype(np.float32) / 255
        low, high = self.settings.tone.range
        w = np.where((x > low) & (x < high), 1 - np.abs(2 * x - 1), 0.01).astype(np.float32)
        self.sum += w * x / time
        self.weight += w
        shown = self.sum / self.weight
        if self.settings.despeckle:
            near = np.stack([np.roll(shown, s, axis) for s in (-1, 0, 1) for axis in (0, 1)])
            shown = np.median(near, axis=0)
        shown = (shown / shown.max()) ** (1 / self.settings.tone.gamma)
        return (255 * shown).astype(np.uint8)


PIECES = [
    Piece(
        "blur", "Blur.apply", lambda: [Blur(), photo(200, 240)], REPLAYED,
        (attribute(0, "sigma", 1.0), put(1, lambda x: x[:100]), put(1, lambda x: x / 2),
         put(0, lambda b: Blur(3.0))),
    ),
    Piece(
        "Sobel", "sobel", lambda: [photo(240, 300)], REPLAYED,
        (lambda a: a.append(Edges.DOWN), put(1, lambda e: Edges.ACROSS), lambda a: a.append(0.1),
         put(2, lambda s: 0.02), put(1, lambda e: 2), put(0, lambda x: x.T)),
    ),
    Piece(
        "histogram equalisation", "equalise", lambda: [photo(300, 300)], REPLAYED,
        (put(0, lambda x: x // 2), put(0, lambda x: np.full_like(x, 9)), put(0, lambda x: x[5:]),
         lambda a: a.append(128), put(0, lambda x: x.astype(float))),
    ),
    Piece(
        "stronger colours", "saturate", lambda: [colours(120, 160), 1.5], REPLAYED,
        (put(1, lambda f: 0.5), lambda a: a.append(0.25), put(0, lambda x: x[:, :50] // 3),
         lambda a: a[0].fill(7)),
    ),
    Piece(
        "stack of exposures", "Stacker.add",
        lambda: [Stacker(Settings(Tone()), (150, 150)), photo(150, 150), 0.5], REPLAYED,
        (put(2, lambda t: 0.25), lambda a: setattr(a[0].settings.tone, "gamma", 1.8),
         lambda a: setattr(a[0].settings, "tone", Tone(2.0, (0.2, 0.8))),
         lambda a: setattr(a[0].settings, "despeckle", False), put(1, lambda x: 255 - x)),
    ),
]  # fmt: skip
