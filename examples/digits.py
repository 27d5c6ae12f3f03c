"""Softmax regression on handwritten digits: trained with fusion off and on, with a timeline.

The pictures are scikit-learn's, 8 × 8 pixels, where it is installed; else digits are drawn in seven
segments. A step is two products of matrices and what lies between and behind them.
"""

import copy

import numpy as np
from common import Example, host

import fusecuda as fc

BATCH, RATE = 100, 0.5


def load(count):
    """Pictures with values from 0 to 1 and their labels, and where they come from."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return *drawn(count), "digits drawn in seven segments"
    pictures, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(labels))[:count]
    return pictures[order] / 16, labels[order], "scikit-learn's handwritten digits"


SEGMENTS = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")
PLACES = {"a": np.s_[0, 2:6], "b": np.s_[0:4, 5], "c": np.s_[3:7, 5], "d": np.s_[6, 2:6],
          "e": np.s_[3:7, 2], "f": np.s_[0:4, 2], "g": np.s_[3, 2:6]}  # fmt: skip


def drawn(count):
    """Digits in seven segments, each moved a little and noisy."""
    rng = np.random.default_rng(3)
    labels, pictures = rng.integers(0, 10, count), np.zeros((count, 8, 8))
    for picture, label in zip(pictures, labels, strict=True):
        for segment in SEGMENTS[label]:
            picture[PLACES[segment]] = 1.0
        picture[...] = np.roll(picture, rng.integers(-1, 2), axis=1)
    return np.clip(pictures + rng.normal(0, 0.2, pictures.shape), 0, 1).reshape(count, 64), labels


def softmax(x):
    shares = np.exp(x - x.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def train_step(weights, bias, pictures, wanted):
    """One step of gradient descent, in place; the mean loss of the batch before it."""
    p = softmax(pictures @ weights + bias)
    loss = -(wanted * np.log(p + 1e-12)).sum(axis=1).mean()
    error = (p - wanted) / len(pictures)
    weights -= RATE * (pictures.T @ error)
    bias -= RATE * error.sum(axis=0)
    return loss


def train(step, model, batches, epochs):
    """The loss of each step."""
    return [float(step(*model, *batch)) for _ in range(epochs) for batch in batches]


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=1797, quick=300)
    pictures, labels, source = load(run.size)
    wanted, cut = np.eye(10)[labels], len(labels) * 4 // 5 // BATCH * BATCH
    batches = [(run.array(pictures[k : k + BATCH]), run.array(wanted[k : k + BATCH]))
               for k in range(0, cut, BATCH)]  # fmt: skip
    model = run.array(np.zeros((64, 10))), run.array(np.zeros(10))
    run.compare(train_step, (*model, *batches[0]), tolerance=1e-10)

    fused_step, epochs = fc.fused(train_step, strict=True), 3 if run.quick else 30
    off, on = copy.deepcopy(model), copy.deepcopy(model)
    losses = train(train_step, off, batches, epochs)
    with fc.profile() as profile:
        fused_losses = train(fused_step, on, batches, epochs)
    said = run.check("training", (off, losses), (on, fused_losses), tolerance=1e-9)
    weights, bias = host(on)
    right = np.mean(np.argmax(pictures[cut:] @ weights + bias, axis=1) == labels[cut:])
    print(f"{source}: loss {losses[0]:.3f} → {losses[-1]:.3f} in {len(losses)} steps, "
          f"{right:.1%} of {len(labels) - cut} others read; {said}")  # fmt: skip
    timeline = run.path("_timeline.json")
    profile.save_trace(timeline)
    print(f"wrote {timeline}: open it in Perfetto or chrome://tracing")
    run.picture(np.hstack([portrait(w) for w in weights.T]), zoom=8)
    run.chart()
    return run


def portrait(weight):
    """What speaks for a digit light, what speaks against it dark."""
    return np.pad(127.5 + 127.5 * weight.reshape(8, 8) / np.abs(weight).max(), 1)


if __name__ == "__main__":
    main()
