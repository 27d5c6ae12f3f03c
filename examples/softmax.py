"""Softmax and layer norm over rows: reduce, broadcast, compute, reduce again, in one kernel.

NumPy goes over the array once for each operation, and writes five arrays as large as the input.
Fused, each row is read from memory once, stays in the cache between the steps, and is written once.
"""

import numpy as np
from common import Example

import fusecuda as fc


def softmax(x):
    shifted = x - np.max(x, axis=-1, keepdims=True)  # keeps exp from overflowing
    weight = np.exp(shifted)
    return weight / np.sum(weight, axis=-1, keepdims=True)


def layer_norm(x, gain, bias, epsilon=1e-5):
    centered = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centered * centered, axis=-1, keepdims=True)
    return gain * centered / np.sqrt(variance + epsilon) + bias


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=2000, quick=7)
    rng = np.random.default_rng(0)
    columns = 1000
    x = run.array(rng.normal(size=(run.size, columns)))
    gain, bias = (run.array(v) for v in rng.normal(size=(2, columns)))
    run.compare(softmax, (x,))
    run.compare(layer_norm, (x, gain, bias))
    print(fc.lower(softmax, fc.spec(x.shape), device=run.device).explain())
    run.chart()
    return run


if __name__ == "__main__":
    main()
