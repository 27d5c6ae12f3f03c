"""An encoder layer of a transformer: forward, and a training step with gradients by hand.

Self-attention with several heads and a network of two layers, each behind a layer norm and beside a
shortcut. The products of matrices stay calls of the library; norms, softmax, GELU, shortcuts and
the derivatives of all these are fused between them.
"""

import numpy as np
from common import Example

HEADS = 4


def normalize(x, gain, bias):
    """Layer norm, and what its derivative needs."""
    centered = x - x.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((centered * centered).mean(axis=-1, keepdims=True) + 1e-5)
    normal = centered * inverse
    return normal * gain + bias, (normal, inverse)


def normalize_back(slope, kept, gain):
    normal, inverse = kept
    along_gain, along_bias = (slope * normal).sum(axis=(0, 1)), slope.sum(axis=(0, 1))
    s = slope * gain
    mean, tilt = s.mean(axis=-1, keepdims=True), (s * normal).mean(axis=-1, keepdims=True)
    return inverse * (s - mean - normal * tilt), along_gain, along_bias


def softmax(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def gelu(x):
    """A smooth rectifier, in its tanh form, and its derivative."""
    t = np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))
    slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608 * (1 + 0.134145 * x * x)
    return 0.5 * x * (1 + t), slope


def heads_of(x):
    """(batch, time, width) as (batch, head, time, part)."""
    return x.reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def together(x):
    """And back."""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attention(x, p):
    q, k, v = (heads_of(x @ p[name]) for name in ("query", "key", "value"))
    scale = 1 / q.shape[-1] ** 0.5
    shares = softmax(q @ k.swapaxes(-1, -2) * scale)
    mixed = together(shares @ v)
    return mixed @ p["output"], (x, q, k, v, scale, shares, mixed)


def outer(x, slope):
    """The gradient by a weight of ``x @ weight``: summed over batch and time."""
    return x.reshape(-1, x.shape[-1]).T @ slope.reshape(-1, slope.shape[-1])


def attention_back(slope, kept, p, d):
    """The gradient by the input; those by the weights are put into ``d``."""
    x, q, k, v, scale, shares, mixed = kept
    d["output"] = outer(mixed, slope)
    slope = heads_of(slope @ p["output"].T)
    along_shares = slope @ v.swapaxes(-1, -2)
    inner = (along_shares * shares).sum(axis=-1, keepdims=True)
    scores = shares * (along_shares - inner) * scale
    parts = {
        "query": together(scores @ k),
        "key": together(scores.swapaxes(-1, -2) @ q),
        "value": together(shares.swapaxes(-1, -2) @ slope),
    }
    for name, part in parts.items():
        d[name] = outer(x, part)
    return sum(part @ p[name].T for name, part in parts.items())


def encoder_layer(x, p):
    """Attention, then a network for each place in time."""
    x = x + attention(normalize(x, p["gain1"], p["bias1"])[0], p)[0]
    hidden, _ = gelu(normalize(x, p["gain2"], p["bias2"])[0] @ p["up"] + p["up_bias"])
    return x + hidden @ p["down"] + p["down_bias"]


def gradients(x, wanted, p):
    """The mean square error of the layer, and its gradient by each parameter."""
    normal1, kept1 = normalize(x, p["gain1"], p["bias1"])
    attended, kept = attention(normal1, p)
    middle = x + attended
    normal2, kept2 = normalize(middle, p["gain2"], p["bias2"])
    hidden, bend = gelu(normal2 @ p["up"] + p["up_bias"])
    error = middle + hidden @ p["down"] + p["down_bias"] - wanted
    d = {}
    slope = 2 / error.size * error
    d["down"], d["down_bias"] = outer(hidden, slope), slope.sum(axis=(0, 1))
    along_hidden = slope @ p["down"].T * bend
    d["up"], d["up_bias"] = outer(normal2, along_hidden), along_hidden.sum(axis=(0, 1))
    through, d["gain2"], d["bias2"] = normalize_back(along_hidden @ p["up"].T, kept2, p["gain2"])
    along_normal1 = attention_back(slope + through, kept, p, d)
    _, d["gain1"], d["bias1"] = normalize_back(along_normal1, kept1, p["gain1"])
    return np.mean(error * error), d


def encoder_step(x, wanted, p, rate):
    """One step of gradient descent, in place; the loss before it."""
    loss, d = gradients(x, wanted, p)
    for name in d:
        p[name] -= rate * d[name]
    return loss


def parameters(width, rng):
    def weights(*shape):
        return rng.normal(size=shape) / np.sqrt(shape[0])

    p = {name: weights(width, width) for name in ("query", "key", "value", "output")}
    p |= {"up": weights(width, 4 * width), "up_bias": rng.normal(size=4 * width) / 10}
    p |= {"down": weights(4 * width, width), "down_bias": rng.normal(size=width) / 10}
    for k in ("1", "2"):
        p |= {"gain" + k: rng.uniform(0.5, 1.5, width), "bias" + k: rng.normal(size=width) / 10}
    return p


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=128, quick=12)
    rng = np.random.default_rng(0)
    batch, width = 8, 64
    x, wanted = (run.array(v) for v in rng.normal(size=(2, batch, run.size, width)))
    p = {name: run.array(values) for name, values in parameters(width, rng).items()}
    run.compare(encoder_layer, (x, p), tolerance=1e-12)
    run.compare(encoder_step, (x, wanted, p, 0.1), tolerance=1e-10)
    run.chart()
    return run


if __name__ == "__main__":
    main()
