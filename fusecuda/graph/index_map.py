"""IndexMap: where each element of a view comes from, as an affine map of its indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IndexMap:
    """The map (d0, d1, …) -> operand index, one affine row for each operand axis.

    ``offsets[a]`` is the constant of operand axis ``a`` and ``coefs[a][j]`` the factor of result
    axis ``j`` in it. Slices of any step, flips, transposes, broadcasts, new axes and diagonals are
    all such maps, and so is any composition of them.
    """

    rank: int  # of the result
    offsets: tuple[int, ...]
    coefs: tuple[tuple[int, ...], ...]
    known_to_fall: bool | None = field(default=None, init=False, compare=False, repr=False)

    def __call__(self, index: Sequence[int]) -> tuple[int, ...]:
        """The operand index that result index ``index`` reads."""
        return tuple(
            off + sum(c * i for c, i in zip(row, index, strict=True))
            for off, row in zip(self.offsets, self.coefs, strict=True)
        )

    @lru_cache(maxsize=8192)  # noqa: B019 - maps are small values, of which a program has few
    def then(self, inner: IndexMap) -> IndexMap:
        """The composition ``inner ∘ self``: the outer view's index straight to inner's operand."""
        offsets = inner(self.offsets)
        coefs = tuple(
            tuple(
                sum(f * self.coefs[a][j] for a, f in enumerate(row) if f) for j in range(self.rank)
            )
            for row in inner.coefs
        )
        return IndexMap(self.rank, offsets, coefs)

    def strides(self, operand_strides: Sequence[int]) -> tuple[int, ...]:
        """The stride of each result axis over an operand with the strides given."""
        return tuple(
            sum(row[j] * s for row, s in zip(self.coefs, operand_strides, strict=True))
            for j in range(self.rank)
        )

    def offset(self, operand_strides: Sequence[int]) -> int:
        """The offset of the result's first element, in the unit of the strides."""
        return sum(o * s for o, s in zip(self.offsets, operand_strides, strict=True))

    def is_identity(self) -> bool:
        """True if every element is read at its own index (the shapes may still differ)."""
        return (
            self.rank == len(self.offsets)
            and not any(self.offsets)
            and all(c == (a == j) for a, row in enumerate(self.coefs) for j, c in enumerate(row))
        )

    def falls(self) -> bool:
        """True if the strides fall from result axis to axis over any row-major operand."""
        if self.known_to_fall is None:
            ranks = []
            for j in range(self.rank):
                walked = [(a, -abs(row[j])) for a, row in enumerate(self.coefs) if row[j]]
                ranks += walked[:1]
            object.__setattr__(self, "known_to_fall", ranks == sorted(ranks))  # known from now on
        return bool(self.known_to_fall)

    def permutation(self) -> tuple[int, ...] | None:
        """The result axis that each operand axis walks if the map only permutes axes, else None."""
        if self.rank != len(self.offsets) or any(self.offsets):
            return None
        axes = tuple(row.index(1) if 1 in row else -1 for row in self.coefs)
        plain = sorted(axes) == list(range(self.rank))
        return axes if plain and all(sum(map(abs, row)) == 1 for row in self.coefs) else None

    def same_over(self, other: IndexMap, shape: Shape) -> bool:
        """True if both maps read the same at every index of ``shape``.

        Along an axis of extent 1 the factors do not matter.
        """
        return (
            self.rank == other.rank
            and self.offsets == other.offsets
            and all(
                all(c == d or n <= 1 for c, d, n in zip(row, twin, shape, strict=True))
                for row, twin in zip(self.coefs, other.coefs, strict=True)
            )
        )

    def leading(self, axes: int) -> IndexMap:
        """The map to the first ``axes`` indices of the operand alone; to a 0-d one's with none."""
        return IndexMap(self.rank, self.offsets[:axes], self.coefs[:axes])

    def along(self, axis: int) -> IndexMap:
        """The map to the index along operand axis ``axis`` alone."""
        return IndexMap(self.rank, (self.offsets[axis],), (self.coefs[axis],))

    def moved(self, by: Sequence[int]) -> IndexMap:
        """The map to an index that is larger by ``by``, one number for each operand axis."""
        offsets = tuple(o + n for o, n in zip(self.offsets, by, strict=True))
        return IndexMap(self.rank, offsets, self.coefs)

    def has_ranks(self, operand: int, result: int) -> bool:
        """True if the map takes ``result`` indices to ``operand`` ones."""
        rows = len(self.offsets) == len(self.coefs) == operand
        return rows and self.rank == result and all(len(row) == result for row in self.coefs)

    def uses_axis(self, j: int) -> bool:
        """True if the operand index depends on result axis ``j``."""
        return any(row[j] for row in self.coefs)

    def fits(self, shape: Shape, operand_shape: Shape) -> bool:
        """True if every index of ``shape`` maps inside ``operand_shape``; empty shapes fit."""
        if 0 in shape:
            return True
        for off, row, extent in zip(self.offsets, self.coefs, operand_shape, strict=True):
            low = off + sum(min(c * (n - 1), 0) for c, n in zip(row, shape, strict=True))
            high = off + sum(max(c * (n - 1), 0) for c, n in zip(row, shape, strict=True))
            if low < 0 or high >= extent:
                return False
        return True

    @lru_cache(maxsize=8192)  # noqa: B019
    def is_injective(self, shape: Shape) -> bool:
        """True if surely no two indices of ``shape`` read one element.

        An operand index tells its result axes apart where each factor is larger than all that the
        smaller ones add up to; the axes found so count no more in the other operand indices.
        """
        unknown = {j for j, n in enumerate(shape) if n > 1} if 0 not in shape else set()
        found = True
        while unknown and found:
            found = False
            for row in self.coefs:
                axes = sorted((j for j in unknown if row[j]), key=lambda j: abs(row[j]))
                if axes and _is_radix([(abs(row[j]), shape[j]) for j in axes]):
                    unknown.difference_update(axes)
                    found = True
        return not unknown

    @lru_cache(maxsize=8192)  # noqa: B019
    def repeats(self, shape: Shape) -> bool:
        """True if a step along some axis of ``shape`` leads nowhere, as in a broadcast."""
        return any(n > 1 and not self.uses_axis(j) for j, n in enumerate(shape))

    def __str__(self) -> str:
        rows = zip(self.offsets, self.coefs, strict=True)
        domain = ", ".join(f"d{j}" for j in range(self.rank))
        return f"({domain}) -> ({', '.join(map(_row_text, rows))})"


def _is_radix(digits: Sequence[tuple[int, int]]) -> bool:
    """True if each (factor, extent), ascending, has a factor beyond the sum of those before."""
    reach = 0
    for factor, extent in digits:
        if factor <= reach:
            return False
        reach += factor * (extent - 1)
    return True


def _row_text(row: tuple[int, tuple[int, ...]]) -> str:
    offset, coefs = row
    terms = [f"d{j}" if c == 1 else f"{c}*d{j}" for j, c in enumerate(coefs) if c]
    if offset or not terms:
        terms.append(str(offset))
    return " + ".join(terms)


def contiguous_strides(shape: Shape, unit: int = 1) -> tuple[int, ...]:
    """Row-major strides of ``shape`` in multiples of ``unit``."""
    strides = []
    step = unit
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


@lru_cache(maxsize=64)
def identity(rank: int) -> IndexMap:
    """The map that reads every element at its own index."""
    return axis_map([(0, 1, a) for a in range(rank)], rank)


def axis_map(rows: Sequence[tuple[int, int, int | None]], rank: int) -> IndexMap:
    """A map whose operand axis ``a`` is ``offset + step * d_j``, ``(offset, step, j) = rows[a]``.

    ``j`` is None where the operand axis is fixed at the offset.
    """
    return IndexMap(
        rank,
        tuple(row[0] for row in rows),
        tuple(tuple(step if j == axis else 0 for j in range(rank)) for _, step, axis in rows),
    )


def broadcast(shape: Shape, target: Shape) -> IndexMap:
    """The map that broadcasts ``shape`` to ``target`` by NumPy's rule; the shapes must agree."""
    lead = len(target) - len(shape)
    rows = [
        (0, 1, a + lead) if extent == target[a + lead] else (0, 0, None)
        for a, extent in enumerate(shape)
    ]
    return axis_map(rows, len(target))


def transpose(axes: Sequence[int]) -> IndexMap:
    """The map of NumPy's ``transpose(axes)``: result axis ``j`` walks operand axis ``axes[j]``."""
    position = {axis: j for j, axis in enumerate(axes)}
    return axis_map([(0, 1, position[a]) for a in range(len(axes))], len(axes))


def split_axes(shape: Shape, target: Shape) -> IndexMap | None:
    """The map of a reshape from ``shape`` to ``target`` if it is affine, else None.

    Affine are the reshapes that only merge operand axes' indices from result axes: those in which
    every operand axis is a product of whole result axes (and extents of one come and go).
    """
    if 0 in shape:
        return IndexMap(len(target), (0,) * len(shape), ((0,) * len(target),) * len(shape))
    rows: list[tuple[int, ...]] = []
    j = 0
    for extent in shape:
        row = [0] * len(target)
        group: list[int] = []
        size = 1
        while j < len(target) and (size < extent or (extent == 1 == target[j] and not group)):
            group.append(j)
            size *= target[j]
            j += 1
        if size != extent:
            return None
        step = 1
        for axis in reversed(group):
            row[axis] = step
            step *= target[axis]
        rows.append(tuple(row))
    if any(target[k] != 1 for k in range(j, len(target))):
        return None
    return IndexMap(len(target), (0,) * len(shape), tuple(rows))


def reshape_strides(shape: Shape, strides: Sequence[int], target: Shape) -> Shape | None:
    """The strides with which ``target`` walks the memory of ``shape`` without a copy, else None.

    Follows NumPy's rule: the axes of ``shape`` that one axis of ``target`` merges must be laid out
    as one run.
    """
    if 0 in shape or 0 in target:
        return contiguous_strides(target)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    result: list[int] = []
    i = j = 0
    while j < len(target):
        if target[j] == 1:
            result.append(0)
            j += 1
            continue
        first_i, first_j = i, j
        have, want = old[i][0], target[j]
        while have != want:
            if have < want:
                i += 1
                have *= old[i][0]
            else:
                j += 1
                want *= target[j]
        if any(s0 != s1 * n1 for (_, s0), (n1, s1) in pairwise(old[first_i : i + 1])):
            return None
        step = old[i][1]
        group: list[int] = []
        for axis in range(j, first_j - 1, -1):
            group.append(step)
            step *= target[axis]
        result.extend(reversed(group))
        i, j = i + 1, j + 1
    return tuple(result)
