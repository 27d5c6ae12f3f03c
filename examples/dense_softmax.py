"""softmax(relu(bias + x @ w)): the last layer of a network.

The product of matrices stays a call of the library. All that follows it, bias, rectifier, maximum,
exponential, sum and quotient, is one kernel: each row of scores is read once and written once.
"""

import numpy as np
from common import Example


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True)


def dense_softmax(x, w, bias):
    return softmax(relu(bias + x @ w))


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=4096, quick=20)
    rng = np.random.default_rng(0)
    inputs, classes = 256, 1000
    x = run.array(rng.normal(size=(run.size, inputs)).astype(np.float32))
    w = run.array((rng.normal(size=(inputs, classes)) / 16).astype(np.float32))
    bias = run.array(rng.normal(size=classes).astype(np.float32))
    run.compare(dense_softmax, (x, w, bias), tolerance=1e-5)
    run.chart()
    return run


if __name__ == "__main__":
    main()
