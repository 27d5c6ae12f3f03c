"""A small neural network that learns to read scikit-learn's handwritten digits."""

import sys
from itertools import pairwise

import cupy as cp
import numpy as np
from sklearn.datasets import load_digits

CLASSES, HIDDEN, BATCH = 10, (48, 24), 150


def load(share=0.8, seed=3):
    """Pictures in [0, 1] with their labels, for training and for testing."""
    pictures, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    pictures, labels = cp.asarray(pictures[order] / 16.0), cp.asarray(labels[order])
    cut = int(share * len(labels)) // BATCH * BATCH
    return (pictures[:cut], labels[:cut]), (pictures[cut:], labels[cut:])


def standardize(train, test):
    """Both with the mean and the spread of the training pictures taken out."""
    mean = train.mean(axis=0)
    spread = train.std(axis=0) + 1e-2
    return (train - mean) / spread, (test - mean) / spread


def softmax(scores):
    """Probabilities of the classes, row by row."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    weights = cp.exp(shifted)
    return weights / weights.sum(axis=1, keepdims=True)


def gelu(x):
    """A smooth rectifier, in its tanh form, and its slope."""
    inner = 0.7978845608028654 * (x + 0.044715 * x**3)
    t = cp.tanh(inner)
    slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * 0.7978845608028654 * (1 + 0.134145 * x**2)
    return 0.5 * x * (1 + t), slope


def adam(p, g, first, second, step, rate, decay):
    """A parameter and its moments after one more gradient."""
    first *= 0.9
    first += 0.1 * g
    second *= 0.999
    second += 0.001 * g * g
    unbiased = first / (1 - 0.9**step)
    scale = cp.sqrt(second / (1 - 0.999**step)) + 1e-8
    p -= rate * (unbiased / scale + decay * p)


class Layer:
    """Weights and biases, with what Adam remembers of their gradients."""

    def __init__(self, inputs, outputs, rng):
        self.weight = cp.asarray(rng.normal(size=(inputs, outputs)) * (2.0 / inputs) ** 0.5)
        self.bias = cp.zeros(outputs)
        self.moments = [(cp.zeros_like(p), cp.zeros_like(p)) for p in (self.weight, self.bias)]

    def __call__(self, x):
        return x @ self.weight + self.bias

    def update(self, gradients, step, rate=2e-3, decay=1e-4):
        """One step of Adam with decoupled weight decay."""
        parameters = (self.weight, self.bias)
        for p, g, moments in zip(parameters, gradients, self.moments, strict=True):
            adam(p, g, *moments, step, rate, decay)


class Network:
    """Two hidden layers."""

    def __init__(self, inputs, seed=5):
        rng = np.random.default_rng(seed)
        sizes = (inputs, *HIDDEN, CLASSES)
        self.layers = [Layer(a, b, rng) for a, b in pairwise(sizes)]
        self.step = 0

    def forward(self, x):
        """The scores, and what the way back needs of each layer."""
        kept = []
        for layer in self.layers[:-1]:
            value, slope = gelu(layer(x))
            kept.append((x, slope))
            x = value
        kept.append((x, None))
        return self.layers[-1](x), kept

    def train(self, x, labels):
        """One step on a batch; its mean loss."""
        scores, kept = self.forward(x)
        p = softmax(scores)
        wanted = cp.eye(CLASSES)[labels]
        loss = -(wanted * cp.log(p + 1e-12)).sum(axis=1).mean()
        error = (p - wanted) / len(labels)
        self.step += 1
        for layer, (given, slope) in zip(self.layers[::-1], kept[::-1], strict=True):
            if slope is not None:
                error = error * slope
            gradients = given.T @ error, error.sum(axis=0)
            error = error @ layer.weight.T
            layer.update(gradients, self.step)
        return loss

    def read(self, x):
        """The likeliest class of each picture and how sure it is."""
        p = softmax(self.forward(x)[0])
        return p.argmax(axis=1), p.max(axis=1)


def confusion(labels, found):
    """How often each class was read as each."""
    return cp.bincount(labels * CLASSES + found, minlength=CLASSES**2).reshape(CLASSES, CLASSES)


def main(epochs=4, seed=11):
    (x, labels), (x_test, labels_test) = load()
    x, x_test = standardize(x, x_test)
    network = Network(x.shape[1])
    rng = np.random.default_rng(seed)
    losses = cp.zeros(epochs)
    for epoch in range(epochs):
        order = cp.asarray(rng.permutation(len(labels)))
        for start in range(0, len(labels), BATCH):
            batch = order[start : start + BATCH]
            losses[epoch] += network.train(x[batch], labels[batch])
        losses[epoch] /= len(labels) // BATCH
        found, sure = network.read(x_test)
        right = float((found == labels_test).mean())
        print(f"epoch {epoch}: loss {float(losses[epoch]):.4f}, right {right:.3f}")
    table = confusion(labels_test, found)
    print(f"sure {float(sure.mean()):.4f}, hardest {int(table.diagonal().argmin())}")
    return {
        "losses": cp.asnumpy(losses),
        "confusion": cp.asnumpy(table),
        "weights": cp.asnumpy(network.layers[0].weight),
        "sure": cp.asnumpy(sure),
    }


if __name__ == "__main__":
    results = main(*map(int, sys.argv[1:]))
