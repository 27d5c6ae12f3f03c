"""Programs of learning: what networks compute forward and backward, and what updates them."""

from __future__ import annotations

from typing import Any

import numpy

from .program import Program, rows_of_1000, uniform, whole


def softmax(xp: Any, x: Any) -> Any:
    """Over rows."""
    e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def log_softmax(xp: Any, x: Any) -> Any:
    """Over rows."""
    shifted = x - xp.max(x, axis=1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))


def cross_entropy(xp: Any, logits: Any, labels: Any) -> Any:
    """The mean loss of a batch."""
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    log_sum = xp.log(xp.sum(xp.exp(shifted), axis=1))
    return xp.mean(log_sum - shifted[xp.arange(len(labels)), labels])


def cross_entropy_gradient(xp: Any, logits: Any, labels: Any) -> Any:
    """Its gradient: probabilities, less one at each label."""
    e = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    p = e / xp.sum(e, axis=1, keepdims=True)
    p[xp.arange(len(labels)), labels] -= 1.0
    return p / len(labels)


def layer_norm(xp: Any, x: Any, gain: Any, bias: Any) -> Any:
    """Over rows."""
    d = x - xp.mean(x, axis=1, keepdims=True)
    return gain * d / xp.sqrt(xp.mean(d * d, axis=1, keepdims=True) + 1e-5) + bias


def layer_norm_backward(xp: Any, x: Any, gain: Any, dy: Any) -> Any:
    """The gradients of the input, the gain and the bias."""
    d = x - xp.mean(x, axis=1, keepdims=True)
    scale = 1.0 / xp.sqrt(xp.mean(d * d, axis=1, keepdims=True) + 1e-5)
    hat = d * scale
    dh = dy * gain
    means = xp.mean(dh, axis=1, keepdims=True), xp.mean(dh * hat, axis=1, keepdims=True)
    dx = scale * (dh - means[0] - hat * means[1])
    return dx, xp.sum(dy * hat, axis=0), xp.sum(dy, axis=0)


def rms_norm(xp: Any, x: Any, gain: Any) -> Any:
    """Over rows."""
    return x / xp.sqrt(xp.mean(x * x, axis=1, keepdims=True) + 1e-6) * gain


def batch_norm(xp: Any, x: Any, gain: Any, bias: Any) -> Any:
    """Of images in a batch, for each channel; its statistics are results too."""
    mean = xp.mean(x, axis=(0, 2, 3), keepdims=True)
    variance = xp.var(x, axis=(0, 2, 3), keepdims=True)
    y = (x - mean) / xp.sqrt(variance + 1e-5) * gain[None, :, None, None]
    return y + bias[None, :, None, None], mean.ravel(), variance.ravel()


def gelu(xp: Any, x: Any) -> Any:
    """By the hyperbolic tangent."""
    return 0.5 * x * (1.0 + xp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def masked_attention_softmax(xp: Any, scores: Any, mask: Any) -> Any:
    """Weights of the keys that each query may see."""
    seen = xp.where(mask, scores * 0.125, -1e30)
    e = xp.exp(seen - xp.max(seen, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def adam(xp: Any, weights: Any, gradients: Any, first: Any, second: Any) -> None:
    """One step of many arrays, in place."""
    for w, g, m, v in zip(weights, gradients, first, second, strict=True):
        m[...] = 0.9 * m + 0.1 * g
        v[...] = 0.999 * v + 0.001 * g * g
        w[...] -= 0.001 * (m / (1.0 - 0.9**3)) / (xp.sqrt(v / (1.0 - 0.999**3)) + 1e-8)


def lamb(xp: Any, weights: Any, gradients: Any, first: Any, second: Any) -> None:
    """One step of many arrays, each as long as its own norm says."""
    for w, g, m, v in zip(weights, gradients, first, second, strict=True):
        m[...] = 0.9 * m + 0.1 * g
        v[...] = 0.999 * v + 0.001 * g * g
        step = m / (xp.sqrt(v) + 1e-6) + 0.01 * w
        trust = xp.sqrt(xp.sum(w * w)) / xp.sqrt(xp.sum(step * step))
        w[...] -= 0.001 * trust * step


def segment_softmax(xp: Any, x: Any, segment: Any, count: int) -> Any:
    """Over the elements of each of ``count`` segments, in any order."""
    top = xp.full(count, -xp.inf)
    xp.maximum.at(top, segment, x)
    e = xp.exp(x - top[segment])
    return e / xp.bincount(segment, weights=e, minlength=count)[segment]


def lstm_cell(xp: Any, x: Any, h: Any, c: Any, wx: Any, wh: Any, bias: Any) -> Any:
    """One step of a batch: the new output and the new cell."""
    gates = x @ wx + h @ wh + bias
    n = c.shape[1]
    i, f, o = (1.0 / (1.0 + xp.exp(-gates[:, k * n : (k + 1) * n])) for k in range(3))
    new = f * c + i * xp.tanh(gates[:, 3 * n :])
    return o * xp.tanh(new), new


def max_pool(xp: Any, x: Any) -> Any:
    """The largest of two by two points."""
    upper = xp.maximum(x[..., ::2, ::2], x[..., ::2, 1::2])
    return xp.maximum(upper, xp.maximum(x[..., 1::2, ::2], x[..., 1::2, 1::2]))


def rotary_embedding(xp: Any, x: Any, cos: Any, sin: Any) -> Any:
    """Pairs of features turned by angles that grow along the sequence."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return xp.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1)


def gated_unit(xp: Any, gate: Any, x: Any) -> Any:
    """SwiGLU, in half precision."""
    return gate / (1.0 + xp.exp(-gate)) * x


def focal_loss(xp: Any, x: Any, target: Any) -> Any:
    """The mean over a batch, in which what is easy counts little."""
    log = xp.maximum(x, 0.0) - x * target + xp.log1p(xp.exp(-xp.abs(x)))
    p = 1.0 / (1.0 + xp.exp(-x))
    miss = p + target - 2.0 * p * target
    return xp.mean(0.25 * miss * miss * log)


def _labelled(n: int) -> tuple[Any, ...]:
    (x,) = rows_of_1000(n)
    return x, whole(0, 1000, len(x))


def _images(n: int) -> tuple[Any, ...]:
    x = uniform(-1, 1, 8, max(1, n // 2048), 16, 16)
    return x, *uniform(0.5, 1, 2, x.shape[1])


def _scores(n: int) -> tuple[Any, ...]:
    length = 128 if n >= 1 << 15 else 16
    mask = uniform(0, 1, length, length) < 0.7
    mask[:, 0] = True
    return uniform(-20, 20, max(1, n // length**2), length, length), mask


def _network(n: int) -> tuple[Any, ...]:
    sizes = [max(1, n // k) for k in (4, 8, 8, 16, 16, 32, 64, 128, 256, 512)]
    return tuple([uniform(low, 1, size) for size in sizes] for low in (-1.0, -0.5, -1.5, 0.0))


def _sequences(n: int) -> tuple[Any, ...]:
    length = 256 if n >= 1 << 15 else 8
    angles = uniform(0, 6, length, 32)
    x = uniform(-1, 1, max(1, n // (64 * length)), length, 64)
    return tuple(a.astype("f4") for a in (x, numpy.cos(angles), numpy.sin(angles)))


def _halves(n: int) -> tuple[Any, ...]:
    return tuple(uniform(-4, 4, 2, n).astype("f2"))


def _logits(n: int) -> tuple[Any, ...]:
    return uniform(-6, 6, n).astype("f4"), (uniform(0, 1, n) < 0.2).astype("f4")


def _segments(n: int) -> tuple[Any, ...]:
    count = max(1, n // 20)
    return uniform(-5, 5, n), numpy.sort(whole(0, count, n)), count


def _cell(n: int) -> tuple[Any, ...]:
    size = 64 if n >= 1 << 15 else 16
    batch = max(1, n // (4 * size))
    state = uniform(-1, 1, 3, batch, size)
    return (*state, *uniform(-0.1, 0.1, 2, size, 4 * size), uniform(-1, 1, 4 * size))


ROWS = "one pass: a row stays in cache between its reductions"

PROGRAMS = (
    Program("softmax", softmax, rows_of_1000, why=ROWS, rtol=1e-14),
    Program("log-softmax", log_softmax, rows_of_1000, why=ROWS, rtol=1e-14),
    Program("cross-entropy", cross_entropy, _labelled, why=ROWS, rtol=1e-14),
    Program("cross-entropy gradient", cross_entropy_gradient, _labelled, why=ROWS, rtol=1e-14),
    Program("layer norm", layer_norm, lambda n: (*rows_of_1000(n), *uniform(0, 1, 2, 1000)),
            why=ROWS, rtol=1e-14),
    Program("layer norm backward", layer_norm_backward,
            lambda n: (*rows_of_1000(n), uniform(0, 1, 1000), 0.1 * rows_of_1000(n)[0]),
            why="one pass: a row stays in cache, and adds to the sums of the columns", rtol=1e-13),
    Program("RMS norm", rms_norm, lambda n: (*rows_of_1000(n), uniform(0, 1, 1000)),
            why=ROWS, rtol=1e-14),
    Program("batch norm", batch_norm, _images,
            why="one pass: a channel stays in cache between its reductions", rtol=1e-13),
    Program("GELU", gelu, lambda n: (uniform(-4, 4, n),), rtol=1e-14),
    Program("masked attention softmax", masked_attention_softmax, _scores, why=ROWS, rtol=1e-14),
    Program("Adam, ten arrays", adam, _network, written=(0, 2, 3),
            why="one pass: all arrays in one launch"),
    Program("LAMB, ten arrays", lamb, _network, written=(0, 2, 3), rtol=1e-14,
            why="one launch for all arrays, each passed over again when its norms are known",
            above="the norms of all arrays are one launch, their updates another"),
    Program("segment softmax", segment_softmax, _segments,
            why="one pass: a segment stays in cache between its reductions", rtol=1e-14,
            above="exponentials are stored, for all threads compute them and one adds; "
                  "whether the segments fit is asked before"),
    Program("max pooling", max_pool,
            lambda n: (uniform(0, 1, max(1, n // 4096), 64, 64).astype("f4"),)),
    Program("rotary embedding", rotary_embedding, _sequences),
    Program("gated unit of halves", gated_unit, _halves, rtol=2e-4),
    Program("focal loss", focal_loss, _logits, rtol=1e-6),
    Program("LSTM cell", lstm_cell, _cell, minimum=3,
            why="two products (library) and one pass over the gates", rtol=1e-13,
            passes=lambda x, h, c, wx, wh, bias: 16 * c.nbytes),
)  # fmt: skip
