"""Softmax and layer norm over rows: reduce, broadcast, compute, reduce again, in one kernel.

NumPy goes over the array once for each operation, and writes five arrays as large as the input.
Fused, each row is read from memory once, stays in the cache between the steps, and is written once.
"""

import numpy as np
from common import compare

import fusecuda as fc
from fusecuda import fused


def softmax(x):
    shifted = x - np.max(x, axis=-1, keepdims=True)  # keeps exp from overflowing
    weight = np.exp(shifted)
    return weight / np.sum(weight, axis=-1, keepdims=True)


def layer_norm(x, gain, bias, epsilon=1e-5):
    centered = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centered * centered, axis=-1, keepdims=True)
    return gain * centered / np.sqrt(variance + epsilon) + bias


fused_softmax = fused(softmax)
fused_layer_norm = fused(layer_norm)


def main(rows=2000, columns=1000):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns))
    gain, bias = rng.normal(size=(2, columns))
    compare(softmax, fused_softmax, (x,))
    compare(layer_norm, fused_layer_norm, (x, gain, bias))
    print(fc.lower(softmax, x).explain())


if __name__ == "__main__":
    main()
