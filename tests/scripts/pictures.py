"""An image pipeline: denoise, gradients, edges, sharpening, histogram stretch, a thumbnail."""

import sys

import cupy as cp
import numpy as np

WEIGHTS = (0.299, 0.587, 0.114)
KERNEL = (1.0, 4.0, 6.0, 4.0, 1.0)


def synthetic(rows, columns, seed=3):
    """A colourful picture with noise: discs over a gradient."""
    rng = np.random.default_rng(seed)
    noise = cp.asarray(rng.normal(scale=0.03, size=(rows, columns, 3)))
    y = cp.arange(rows)[:, None] / rows
    x = cp.arange(columns)[None, :] / columns
    picture = cp.stack([x + 0 * y, y + 0 * x, 0.5 * (x + y)], axis=2)
    for k in range(5):
        cx, cy, r = rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9), rng.uniform(0.05, 0.2)
        inside = (x - cx) ** 2 + (y - cy) ** 2 < r * r
        picture[:, :, k % 3] = cp.where(inside, 1.0 - picture[:, :, k % 3], picture[:, :, k % 3])
    return cp.clip(picture + noise, 0.0, 1.0)


def luminance(picture):
    """One channel for three."""
    r, g, b = (picture[:, :, k] for k in range(3))
    return WEIGHTS[0] * r + WEIGHTS[1] * g + WEIGHTS[2] * b


def blurred(channel, axis):
    """A binomial filter along one axis, the border repeated."""
    n = channel.shape[axis]
    total = 0.0
    for offset, weight in zip(range(-2, 3), KERNEL, strict=True):
        index = cp.clip(cp.arange(n) + offset, 0, n - 1)
        total = total + weight * cp.take(channel, index, axis=axis)
    return total / sum(KERNEL)


def denoised(picture, rounds=3):
    """Edge-preserving diffusion, in place on a copy."""
    out = picture.copy()
    for _ in range(rounds):
        north = out[1:-1, 1:-1] - out[:-2, 1:-1]
        south = out[1:-1, 1:-1] - out[2:, 1:-1]
        west = out[1:-1, 1:-1] - out[1:-1, :-2]
        east = out[1:-1, 1:-1] - out[1:-1, 2:]
        change = 0.0
        for difference in (north, south, west, east):
            change = change + difference / (1.0 + (difference / 0.1) ** 2)
        out[1:-1, 1:-1] -= 0.15 * change
    return out


def edges(gray):
    """Strength and direction of the gradient by Sobel's masks."""
    gx = cp.zeros_like(gray)
    gy = cp.zeros_like(gray)
    gx[1:-1, 1:-1] = (
        (gray[:-2, 2:] + 2.0 * gray[1:-1, 2:] + gray[2:, 2:])
        - (gray[:-2, :-2] + 2.0 * gray[1:-1, :-2] + gray[2:, :-2])
    ) / 8.0
    gy[1:-1, 1:-1] = (
        (gray[2:, :-2] + 2.0 * gray[2:, 1:-1] + gray[2:, 2:])
        - (gray[:-2, :-2] + 2.0 * gray[:-2, 1:-1] + gray[:-2, 2:])
    ) / 8.0
    return cp.sqrt(gx * gx + gy * gy), cp.arctan2(gy, gx)


def sharpened(picture, amount=0.7):
    """Unsharp masking, one channel after the other."""
    channels = []
    for k in range(3):
        channel = picture[:, :, k]
        smooth = blurred(blurred(channel, 0), 1)
        channels.append(channel + amount * (channel - smooth))
    return cp.clip(cp.stack(channels, axis=2), 0.0, 1.0)


def stretched(picture):
    """Each channel from its darkest to its brightest value."""
    low = picture.min(axis=(0, 1), keepdims=True)
    high = picture.max(axis=(0, 1), keepdims=True)
    return (picture - low) / (high - low)


def thumbnail(picture, factor=4):
    """Means of square blocks."""
    rows, columns = (n // factor * factor for n in picture.shape[:2])
    blocks = picture[:rows, :columns].reshape(rows // factor, factor, columns // factor, factor, 3)
    return blocks.mean(axis=(1, 3))


def main(rows=64, columns=80, count=3):
    """The pipeline on a few pictures."""
    found = {}
    for seed in range(count):
        picture = synthetic(rows, columns, seed)
        clean = denoised(picture)
        strength, direction = edges(luminance(clean))
        result = stretched(sharpened(clean))
        mask = strength > 3.0 * strength.mean()
        result[mask] = 1.0
        small = thumbnail(result)
        quantized = (cp.round(small * 255.0)).astype(cp.uint8)
        print(f"picture {seed}: {int(mask.sum())} edge points, mean {float(result.mean()):.9f}")
        found[f"small{seed}"] = np.array(cp.asnumpy(quantized))
        found[f"direction{seed}"] = np.array(cp.asnumpy(direction))
    return found


if __name__ == "__main__":
    results = main(*map(int, sys.argv[1:]))
