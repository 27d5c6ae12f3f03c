"""Functions that change their arguments, parts of them, lists of them, and give them back."""

import cupy as cp


def scale(a, k):
    a *= k


def clamp(a, low, high):
    a[a < low] = low
    a[a > high] = high
    return a


def rows(a):
    return a[0], a[1:]


def exchange(a, b):
    kept = a.copy()
    a[:] = b
    b[:] = kept


def extend(items, a):
    items.append(a)
    items[0] = items[0] + a
    return items


class Grid:
    def __init__(self, n):
        self.a = cp.zeros((n, n))
        self.inner = self.a[1:-1, 1:-1]
        self.rows = [self.a[i] for i in range(n)]

    def fill(self, v):
        self.inner[...] = v

    def bump(self, i, v):
        self.rows[i] += v
        return self.rows[i]

    def row(self, i):
        return self.a[i]

    def turn(self):
        self.a, self.before = self.a.T, self.a

    def total(self):
        total = 0.0
        for row in self.rows:
            total = total + row.sum()
        return total


x, y, items = cp.arange(12.0).reshape(3, 4), cp.ones((3, 4)), [cp.zeros((3, 4))]
for step in range(30):
    scale(x, 1.125)
    clamped = clamp(x, 0.5, 9.0)
    assert clamped is x
    first, rest = rows(x)
    first += 1
    rest -= 0.25
    exchange(x, y)
    extend(items, y)
    scale(x[1], 0.5)
    scale(x.T[0], 2)
    clamp(x[:, 1:3], 1, 2)
    if step == 20:
        scale(x[::2], 3)
print(x, y, items[0].round(9), len(items), items[3] is items[5], items[3] is y)

grid = Grid(6)
for step in range(30):
    grid.fill(step * 0.5)
    bumped = grid.bump(step % 6, 1.0)
    bumped -= 0.25
    second = grid.row(2)
    second[0] = step
    if step == 12:
        grid.a[:, 3] = -1
    if step == 20:
        grid.turn()
print(grid.a, cp.diagonal(grid.a).sum(), grid.total(), grid.before)
