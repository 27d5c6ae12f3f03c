"""Running statistics and a Kalman filter, in classes that keep what they have seen."""

import copy
import pickle

import cupy as cp


class RunningStatistics:
    def __init__(self):
        self.count, self.mean, self.squares, self.history = 0, None, 0.0, {}

    def push(self, x):
        self.count += 1
        if self.mean is None:
            self.mean = x * 1.0
            return
        d = x - self.mean
        self.mean = self.mean + d / self.count
        self.squares = self.squares + d * (x - self.mean)
        self.history[self.count] = float(d[0])

    def variance(self):
        return self.squares / max(self.count - 1, 1)


class Kalman:
    def __init__(self, size):
        self.x, self.p = cp.zeros(size), cp.eye(size)
        self.f = cp.eye(size) + cp.eye(size, k=1) * 0.1
        self.h = cp.zeros((1, size))
        self.h[0, 0] = 1
        self.log = []

    def predict(self):
        self.x = self.f @ self.x
        self.p = self.f @ self.p @ self.f.T + 0.01 * cp.eye(len(self.x))

    def update(self, z):
        y = z - self.h @ self.x
        s = self.h @ self.p @ self.h.T + 0.1
        k = self.p @ self.h.T / s
        self.x = self.x + (k * y).ravel()
        self.p = (cp.eye(len(self.x)) - k @ self.h) @ self.p
        self.log.append(y[0])


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)
        return self

    def apply(self, function):
        second, first = self.items.pop(), self.items.pop()
        return self.push(function(first, second))


if __name__ == "__main__":
    statistics, kalman, stack = RunningStatistics(), Kalman(3), Stack()
    for i in range(40):
        statistics.push(cp.array([i % 7, i % 5, i * 0.125]))
        kalman.predict()
        kalman.update(0.5 * i)
        stack.push(cp.full(2, i)).push(cp.ones(2)).apply(cp.add if i % 2 else cp.subtract)
    print(statistics.mean.round(9), statistics.variance().round(9), statistics.history[20])
    print(kalman.x.round(8).tolist(), kalman.p.round(8).tolist(), round(float(kalman.log[-1]), 8))
    print(len(stack.items), stack.items[-1])
    other = copy.deepcopy(kalman)
    other.update(1.0)
    kalman.update(1.0)
    print(bool((other.x == kalman.x).all()), other.x is kalman.x)
    print(pickle.loads(pickle.dumps(kalman)).x.tolist() == kalman.x.tolist())
