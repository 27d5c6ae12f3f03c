"""Errors at each call of a function, those that are caught and one that is not."""

import cupy as cp


class NotConvergedError(Exception):
    def __init__(self, steps, x):
        super().__init__(f"after {steps} steps")
        self.x = x


def bad(x, kind):
    if kind == 0:
        return x + cp.ones(7)
    if kind == 1:
        return x[99]
    if kind == 2:
        return x.reshape(3, 9)
    if kind == 3:
        return cp.concatenate([x, cp.ones((2, 2))])
    if kind == 4:
        x[2:5] = cp.ones(2)
    if kind == 5:
        return cp.linalg.inv(cp.ones((2, 3)))
    if kind == 6:
        return x.sum(axis=3)
    if kind == 7:
        return int(x)
    if kind == 8:
        raise RuntimeError("mine")
    if kind == 9:
        return x[cp.array([1, 50])]
    return x


def newton(f, slope, x, steps=20):
    for step in range(steps):
        change = f(x) / slope(x)
        x = x - change
        if float(cp.abs(change).max()) < 1e-12:
            return x, step
    raise NotConvergedError(steps, x)


def half_done(x, i):
    x[:i] = -1
    if i > 3:
        raise ValueError("late")
    x[i:] += 1
    return x


x = cp.arange(5.0)
for _ in range(4):
    for kind in range(11):
        try:
            print(kind, bad(x, kind))
        except Exception as error:
            print(kind, type(error).__name__, str(error)[:60])
for start in (1.0, 5.0, 1e9):
    try:
        print(*newton(lambda v: v**3 - 2, lambda v: 3 * v**2, cp.array([start, start + 1])))
    except NotConvergedError as error:
        print(error, error.x.round(3))
z = cp.zeros(6)
for i in range(12):
    try:
        half_done(z, i % 6)
    except ValueError:
        z[5] += 0.5
print(z)
half_done(z, 5)
