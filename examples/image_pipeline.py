"""A raw picture developed: exposure, white balance, sharpening, tones, vignette, sRGB.

Each stage is a line or two of array code over the whole picture, as in a notebook. NumPy writes
its planes to memory more than a hundred times; fused code keeps a pixel in registers from one stage
to the next, and only what the blur needs of its neighbours is looked up again.
"""

import numpy as np
from common import Example

from fusecuda import fused

BALANCE = (1.9, 1.0, 1.55)  # what the sensor sees too little of
MIX = ((1.55, -0.45, -0.10), (-0.20, 1.40, -0.20), (0.02, -0.47, 1.45))  # to sRGB


def blur(f):
    """A small Gaussian over rows and columns; the edges are left out."""
    f = 0.25 * f[:-2] + 0.5 * f[1:-1] + 0.25 * f[2:]
    return 0.25 * f[:, :-2] + 0.5 * f[:, 1:-1] + 0.25 * f[:, 2:]


def colours_of_screen(r, g, b):
    """From the colours of the sensor to those of a screen."""
    return [row[0] * r + row[1] * g + row[2] * b for row in MIX]


def sharpen(f, amount):
    inner = f[1:-1, 1:-1]
    return inner + amount * (inner - blur(f))


def tone(f):
    """Bright parts compressed, as film does."""
    return f * (2.51 * f + 0.03) / (f * (2.43 * f + 0.59) + 0.14)


def srgb(f):
    """The curve of sRGB, for values from 0 to 1."""
    return np.where(f <= 0.0031308, 12.92 * f, 1.055 * np.maximum(f, 1e-9) ** (1 / 2.4) - 0.055)


def develop(raw, dark, exposure, y, x):
    """The picture (rows, columns, 3), from 0 to 1, of what a sensor has counted at y and x."""
    signal = np.maximum(raw - dark, 0) / (4095 - dark) * exposure
    red, green, blue = (signal[..., k] * balance for k, balance in enumerate(BALANCE))
    channels = [sharpen(c, 0.8) for c in colours_of_screen(red, green, blue)]
    light = 1 - 0.35 * (x * x + y * y)[1:-1, 1:-1] / 2
    final = [srgb(np.clip(tone(np.maximum(c, 0) * light), 0, 1)) for c in channels]
    return np.stack(final, axis=-1)


def scene(height):
    """Hills, a lake and a low sun, as 12 bits of a sensor with noise."""
    width = height * 8 // 5
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1.6 : width * 1j]
    picture = np.stack([0.62 - 0.25 * y, 0.50 - 0.05 * y, 0.45 + 0.25 * (0.6 - y)], axis=-1)
    glow = np.exp(-40 * ((x - 1.15) ** 2 + (y - 0.33) ** 2))[..., None]
    picture += glow * [0.9, 0.6, 0.2] + (((x - 1.15) ** 2 + (y - 0.33) ** 2) < 0.002)[..., None] * 2
    for depth in range(4):
        ridge = 0.42 + 0.08 * depth + 0.05 / (depth + 1) * np.sin(x * (5 + 3 * depth) + 2 * depth)
        ridge += 0.012 * np.sin(x * (31 + 7 * depth)) + 0.006 * np.sin(x * 83 + depth)
        hue = np.array([0.30, 0.33, 0.38]) * 0.62**depth + [0.0, 0.02 * depth, 0.0]
        picture = np.where((y > ridge)[..., None], hue, picture)
    water = y > 0.82
    mirrored = picture[np.clip(2 * int(0.82 * height) - np.arange(height), 0, height - 1)]
    ripple = 0.85 + 0.15 * np.sin(260 * y**2 + 9 * np.sin(x * 14))
    picture = np.where(water[..., None], mirrored * ripple[..., None] * [0.7, 0.8, 0.95], picture)
    counts = 200 + 2600 * picture / BALANCE
    return counts + np.random.default_rng(2).normal(0, 4, picture.shape)


def taken(run, height):
    """What `develop` is given for a picture of this height."""
    raw = run.array(scene(height))
    y, x = (run.array(np.linspace(-1, 1, n)) for n in raw.shape[:2])
    return raw, 200.0, 1.1, y[:, None], x


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=800, quick=40)
    run.compare(develop, taken(run, run.size), tolerance=1e-12)
    run.picture(255 * fused(develop)(*taken(run, min(run.size, 180))))
    run.chart()
    return run


if __name__ == "__main__":
    main()
