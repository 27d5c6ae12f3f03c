"""Programs of images: filters, colours, light, fractals."""

from __future__ import annotations

from typing import Any

from .physics import WINDOWS
from .program import Program, square, uniform, whole


def mandelbrot(xp: Any, c: Any) -> Any:
    """How many of twenty steps each point stays within the circle."""
    z = xp.zeros_like(c)
    count = xp.zeros(c.shape, xp.int32)
    for _ in range(20):
        inside = z.real * z.real + z.imag * z.imag <= 4.0
        z = xp.where(inside, z * z + c, z)
        count = count + inside
    return count


def julia(xp: Any, z: Any) -> Any:
    """A smooth count of the steps of a Julia set."""
    count = xp.zeros(z.shape)
    for _ in range(12):
        z = z * z + (-0.4 + 0.6j)
        size = z.real * z.real + z.imag * z.imag
        count = count + xp.exp(-xp.sqrt(xp.minimum(size, 1e6)))
        z = xp.where(size > 1e6, 1e3 + 0.0j, z)
    return count


def sobel(xp: Any, image: Any) -> Any:
    """The length of the gradient at the inner points."""
    nw, n, ne = image[:-2, :-2], image[:-2, 1:-1], image[:-2, 2:]
    w, e = image[1:-1, :-2], image[1:-1, 2:]
    sw, s, se = image[2:, :-2], image[2:, 1:-1], image[2:, 2:]
    gx = (ne + 2.0 * e + se) - (nw + 2.0 * w + sw)
    gy = (sw + 2.0 * s + se) - (nw + 2.0 * n + ne)
    return xp.sqrt(gx * gx + gy * gy)


def canny_front(xp: Any, image: Any) -> Any:
    """Blurred, differentiated, and thinned to the ridges of the gradient."""
    taps = (0.0625, 0.25, 0.375, 0.25, 0.0625)
    rows, columns = image.shape
    down = sum(t * image[k : rows - 4 + k] for k, t in enumerate(taps))
    blurred = sum(t * down[:, k : columns - 4 + k] for k, t in enumerate(taps))
    gx = blurred[1:-1, 2:] - blurred[1:-1, :-2]
    gy = blurred[2:, 1:-1] - blurred[:-2, 1:-1]
    size = xp.sqrt(gx * gx + gy * gy)
    inner, ax, ay = size[1:-1, 1:-1], xp.abs(gx[1:-1, 1:-1]), xp.abs(gy[1:-1, 1:-1])
    flat = (inner >= size[1:-1, 2:]) & (inner >= size[1:-1, :-2])
    steep = (inner >= size[2:, 1:-1]) & (inner >= size[:-2, 1:-1])
    return xp.where(xp.where(ax > ay, flat, steep), inner, 0.0)


def histogram_equalisation(xp: Any, image: Any) -> Any:
    """Grey values spread so that each is about as frequent."""
    counts = xp.bincount(image.ravel(), minlength=256)
    share = xp.cumsum(counts) / image.size
    return (share * 255.0).astype(xp.uint8)[image]


def rgb_to_hsv(xp: Any, image: Any) -> Any:
    """Hue, saturation and value of colours from 0 to 1."""
    r, g, b = image[..., 0], image[..., 1], image[..., 2]
    high, low = xp.maximum(r, xp.maximum(g, b)), xp.minimum(r, xp.minimum(g, b))
    span = high - low
    safe = xp.where(span == 0.0, 1.0, span)
    blue = xp.where(high == g, 2.0 + (b - r) / safe, 4.0 + (r - g) / safe)
    hue = xp.where(high == r, (g - b) / safe, blue) / 6.0 % 1.0
    saturation = xp.where(high == 0.0, 0.0, span / xp.where(high == 0.0, 1.0, high))
    return xp.stack([xp.where(span == 0.0, 0.0, hue), saturation, high], axis=-1)


def hsv_to_rgb(xp: Any, image: Any) -> Any:
    """And back."""
    h, s, v = image[..., 0] * 6.0, image[..., 1], image[..., 2]
    sector = xp.floor(h).astype(xp.int64)
    f = h - sector
    p, q, t = v * (1.0 - s), v * (1.0 - s * f), v * (1.0 - s * (1.0 - f))
    k = sector % 6
    r = xp.choose(k, [v, q, p, p, t, v])
    g = xp.choose(k, [t, v, v, q, p, p])
    b = xp.choose(k, [p, p, t, v, v, q])
    return xp.stack([r, g, b], axis=-1)


def hillshade(xp: Any, z: Any) -> Any:
    """Slope and light of an elevation model, stretched to its own range."""
    dx = (z[1:-1, 2:] - z[1:-1, :-2]) * 0.05
    dy = (z[2:, 1:-1] - z[:-2, 1:-1]) * 0.05
    slope = xp.arctan(xp.sqrt(dx * dx + dy * dy))
    aspect = xp.arctan2(-dx, dy)
    light = 0.7 * xp.cos(slope) + 0.7 * xp.sin(slope) * xp.cos(2.3 - aspect)
    light = xp.where(light > 0.0, light, 0.0)
    low, high = xp.min(light), xp.max(light)
    return (light - low) / (high - low)


def bilateral(xp: Any, image: Any) -> Any:
    """A blur of five by five points that keeps edges."""
    rows, columns = image.shape[0] - 4, image.shape[1] - 4
    centre = image[2:-2, 2:-2]
    total, weights = xp.zeros((rows, columns)), xp.zeros((rows, columns))
    for i in range(5):
        for j in range(5):
            near = image[i : i + rows, j : j + columns]
            d = near - centre
            weight = xp.exp(-d * d / 0.02 - ((i - 2) ** 2 + (j - 2) ** 2) / 4.5)
            total = total + weight * near
            weights = weights + weight
    return total / weights


def blend(xp: Any, top: Any, bottom: Any) -> Any:
    """Colours of a byte each, over others by as much as they cover."""
    alpha = top[..., 3:].astype(xp.uint32)
    mixed = top[..., :3] * alpha + bottom * (255 - alpha)
    return ((mixed + 127) // 255).astype(xp.uint8)


def dilation(xp: Any, image: Any) -> Any:
    """The largest of three by three points."""
    rows, columns = image.shape[0] - 2, image.shape[1] - 2
    out = image[:rows, :columns]
    for i in range(3):
        for j in range(3):
            out = xp.maximum(out, image[i : i + rows, j : j + columns])
    return out


def _plane(n: int) -> tuple[Any, ...]:
    rows, columns = square(n)
    return (uniform(-2, 0.7, columns) + 1j * uniform(-1.2, 1.2, rows)[:, None],)


def _image(n: int) -> tuple[Any, ...]:
    rows, columns = square(n)
    return (uniform(0, 1, max(8, rows), max(8, columns)),)


def _colours(n: int) -> tuple[Any, ...]:
    return (uniform(0, 1, *square(n // 3), 3),)


PROGRAMS = (
    Program("Mandelbrot", mandelbrot, _plane),
    Program("Julia", julia, _plane, rtol=1e-10),
    Program("Sobel", sobel, _image),
    Program("Canny's front", canny_front, _image,
            why="one pass: a few rows of each step stay in cache", above=WINDOWS),
    Program("histogram equalisation", histogram_equalisation,
            lambda n: (whole(0, 200, *square(n)).astype("uint8"),), minimum=2,
            why="the counts are known when the image has been read, which is then read again",
            passes=lambda image: image.nbytes,
            above="the running sum of the 256 counts is a launch of its own"),
    Program("RGB to HSV", rgb_to_hsv, _colours),
    Program("HSV to RGB", hsv_to_rgb, _colours),
    Program("hillshade", hillshade, lambda n: (uniform(0, 30, *square(n)),), rtol=1e-13,
            why="one launch, with a second pass when the range is known"),
    Program("blending of bytes", blend,
            lambda n: tuple(whole(0, 256, *square(n // 4), k).astype("uint8") for k in (4, 3))),
    Program("dilation", dilation, lambda n: tuple(a.astype("f4") for a in _image(n))),
    Program("bilateral filter", bilateral, _image, rtol=1e-14),
)  # fmt: skip
