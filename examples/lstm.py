"""A long short-term memory: three layers, sixty steps, all gates by hand.

Each of the 180 cells is two products of matrices and some twenty operations on small arrays, so a
library that launches them one by one spends its time on launching. Fused, all that lies between two
products is one kernel.
"""

import numpy as np
from common import Example

LAYERS, STEPS, BATCH = 3, 60, 32


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell(x, h, c, layer):
    """The new output and the new memory of a layer for one step."""
    gates = x @ layer["input"] + h @ layer["recurrent"] + layer["bias"]
    i, f, g, o = np.split(gates, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def lstm(sequence, layers):
    """The output of the last layer after the last step; ``sequence`` is (steps, batch, width)."""
    h = [np.zeros_like(sequence[0]) for _ in layers]
    c = [np.zeros_like(sequence[0]) for _ in layers]
    for x in sequence:
        below = x
        for k, layer in enumerate(layers):
            h[k], c[k] = cell(below, h[k], c[k], layer)
            below = h[k]
    return h[-1]


def network(width, rng, array):
    """Layers with weights that keep the size of what goes through them."""

    def weights(*shape):
        return array((rng.normal(size=shape) / np.sqrt(width)).astype(np.float32))

    return [
        {
            "input": weights(width, 4 * width),
            "recurrent": weights(width, 4 * width),
            "bias": weights(4 * width),
        }
        for _ in range(LAYERS)
    ]


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=128, quick=8)
    rng = np.random.default_rng(0)
    sequence = run.array(rng.normal(size=(STEPS, BATCH, run.size)).astype(np.float32))
    run.compare(lstm, (sequence, network(run.size, rng, run.array)), tolerance=1e-4)
    run.chart()
    return run


if __name__ == "__main__":
    main()
