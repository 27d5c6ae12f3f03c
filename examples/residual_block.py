"""A residual block of two convolutions: forward, and a training step with gradients by hand.

Convolutions are products of matrices over the neighbourhoods of all pixels. What lies between them,
batch normalization, rectifier, the shortcut, and their derivatives, are passes over all pictures
that fusion puts together.
"""

import numpy as np
from common import Example

PIXELS = (0, 1, 2)  # the axes of pictures, rows and columns; channels are last


def convolve(x, w):
    """The 3 × 3 convolution of pictures with weights (3, 3, channels, channels)."""
    _, height, width, channels = x.shape
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    around = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    columns = np.concatenate(around, axis=-1).reshape(-1, 9 * channels)
    return (columns @ w.reshape(9 * channels, -1)).reshape(*x.shape[:-1], -1), columns


def convolve_back(slope, columns, w):
    """The gradients with respect to the pictures and the weights."""
    along_w = (columns.T @ slope.reshape(-1, w.shape[-1])).reshape(w.shape)
    return convolve(slope, w[::-1, ::-1].swapaxes(2, 3))[0], along_w


def normalize(x, gain, bias):
    """Each channel with mean 0 and variance 1, then scaled and shifted."""
    centered = x - x.mean(axis=PIXELS)
    inverse = 1 / np.sqrt((centered * centered).mean(axis=PIXELS) + 1e-5)
    normal = centered * inverse
    return normal * gain + bias, (normal, inverse)


def normalize_back(slope, kept, gain):
    normal, inverse = kept
    along_gain, along_bias = (slope * normal).sum(axis=PIXELS), slope.sum(axis=PIXELS)
    count = slope.size // slope.shape[-1]
    along_x = gain * inverse * (slope - (along_bias + normal * along_gain) / count)
    return along_x, along_gain, along_bias


def residual_block(x, p):
    a = np.maximum(normalize(convolve(x, p["w1"])[0], p["gain1"], p["bias1"])[0], 0)
    b = normalize(convolve(a, p["w2"])[0], p["gain2"], p["bias2"])[0]
    return np.maximum(b + x, 0)


def gradients(x, wanted, p):
    """The mean square error of the block, and its gradient by each parameter."""
    first, columns1 = convolve(x, p["w1"])
    a, kept1 = normalize(first, p["gain1"], p["bias1"])
    second, columns2 = convolve(np.maximum(a, 0), p["w2"])
    b, kept2 = normalize(second, p["gain2"], p["bias2"])
    error = np.maximum(b + x, 0) - wanted
    d = {}
    slope = 2 / error.size * error * (b + x > 0)
    slope, d["gain2"], d["bias2"] = normalize_back(slope, kept2, p["gain2"])
    slope, d["w2"] = convolve_back(slope, columns2, p["w2"])
    slope, d["gain1"], d["bias1"] = normalize_back(slope * (a > 0), kept1, p["gain1"])
    _, d["w1"] = convolve_back(slope, columns1, p["w1"])
    return np.mean(error * error), d


def residual_step(x, wanted, p, rate):
    """One step of gradient descent, in place; the loss before it."""
    loss, d = gradients(x, wanted, p)
    for name in d:
        p[name] -= rate * d[name]
    return loss


def parameters(channels, rng):
    p = {}
    for k in ("1", "2"):
        p["w" + k] = rng.normal(size=(3, 3, channels, channels)) / np.sqrt(9 * channels)
        p["gain" + k] = rng.uniform(0.5, 1.5, channels)
        p["bias" + k] = rng.normal(size=channels) / 10
    return p


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=28, quick=6)
    rng = np.random.default_rng(0)
    pictures, channels = 8, 32
    x, wanted = rng.normal(size=(2, pictures, run.size, run.size, channels))
    x, wanted = run.array(x), run.array(wanted)
    p = {name: run.array(values) for name, values in parameters(channels, rng).items()}
    run.compare(residual_block, (x, p), tolerance=1e-12)
    run.compare(residual_step, (x, wanted, p, 0.1), tolerance=1e-10)
    run.chart()
    return run


if __name__ == "__main__":
    main()
