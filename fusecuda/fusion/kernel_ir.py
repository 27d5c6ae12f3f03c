"""Kernel IR: what one kernel does, free of shapes; between the plan and the emitters.

A kernel walks rows, and in each row elements. Its values stand at one of four levels: *element*
(one for each element of a row), *row* (one for each row), *final* (one for the launch) and *foot*
(one for each place in a row, when all rows are done, as totals stand below a table). Elements
are computed in stages, one pass over the row each; a reduction made in one stage is a row value for
the next, a cross reduction one at the foot. A loop kernel is one row of all elements in one stage
with no reduction.

Extents, strides and offsets are arguments of the kernel. A *form* is an affine function of the loop
indices: the address of an access, or an index as a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..graph.dtypes import DType

ELEMENT, ROW, FINAL, FOOT = "element", "row", "final", "foot"


@dataclass(frozen=True, slots=True)
class Form:
    """An affine function of the loop indices, whose offset and strides are given at bind time.

    ``dtype`` is the element type behind an address form and None for an index form.
    """

    dtype: DType | None
    store: bool


@dataclass(frozen=True, slots=True)
class Argument:
    """``out`` is scalar argument ``number``."""

    out: int
    dtype: DType
    number: int


@dataclass(frozen=True, slots=True)
class Load:
    """``out`` is read at address form ``form``; with a ``guard`` only where that bool holds."""

    out: int
    dtype: DType
    form: int
    guard: int | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """``out`` is index form ``form``, int64."""

    out: int
    dtype: DType
    form: int


@dataclass(frozen=True, slots=True)
class InRange:
    """``out`` is true where ``guard`` holds and each (form, limit) has its form in [0, limit)."""

    out: int
    dtype: DType
    tests: tuple[tuple[int, int], ...]
    guard: int | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """``out`` is the value of the first test that holds, else ``otherwise``."""

    out: int
    dtype: DType
    tests: tuple[int, ...]
    values: tuple[int, ...]
    otherwise: int


@dataclass(frozen=True, slots=True)
class ChosenLoad:
    """``out`` is read from the first of ``sources`` of which the test holds, else from the last.

    Nothing is read where ``guard`` does not hold. A source is a form, or the tests and sources of
    another choice. A back end makes it of selects among loads.
    """

    out: int
    dtype: DType
    tests: tuple[int, ...]
    sources: tuple[int | Choice, ...]
    guard: int | None = None


Choice = tuple[tuple[int, ...], tuple["int | Choice", ...]]


@dataclass(frozen=True, slots=True)
class Gather:
    """``out`` is read at ``form`` displaced by the ``indices``; (extent, stride) are limits.

    A negative index counts from the end; one out of range sets the status word. Without a ``site``
    there are neither.
    """

    out: int
    dtype: DType
    form: int
    indices: tuple[int, ...]
    limits: tuple[tuple[int, int], ...]
    site: int


@dataclass(frozen=True, slots=True)
class Search:
    """``out`` is how many elements of an array are before ``value``, on a ``side`` of it.

    The array, sorted, begins at ``form``; its extent and stride are ``limits``. Its elements are
    compared in ``value_dtype``.
    """

    out: int
    dtype: DType
    form: int
    value: int
    value_dtype: DType
    limits: tuple[tuple[int, int], ...]
    side: str


@dataclass(frozen=True, slots=True)
class Compute:
    """``out`` is op-table row ``op`` of the operands, which have ``operand_dtype``.

    A quotient ``is_small`` if what it is of is below `SMALL` in size.
    """

    out: int
    dtype: DType
    op: str
    operands: tuple[int, ...]
    operand_dtypes: tuple[DType, ...]
    site: int = -1
    is_small: bool = False


QUOTIENTS = frozenset({"floor_divide", "remainder", "fmod"})
SMALL = 1 << 21  # integers below that are divided as floats (cpu_fallback/division.h)


@dataclass(frozen=True, slots=True)
class Keep:
    """``value``, of the element at hand, is kept in resident row ``slot`` for later stages."""

    slot: int
    value: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Recall:
    """``out`` is what resident row ``slot`` keeps for the element at hand."""

    out: int
    dtype: DType
    slot: int


@dataclass(frozen=True, slots=True)
class Scan:
    """``out`` combines ``value`` over the elements of the row up to the one at hand, in order."""

    out: int
    dtype: DType
    kind: str  # "sum" or "prod"
    value: int


@dataclass(frozen=True, slots=True)
class Store:
    """``value`` is written at address form ``form``.

    If it is ``late``, others read what stands there: it waits until they have.
    """

    form: int
    value: int
    dtype: DType
    late: bool = False


@dataclass(frozen=True, slots=True)
class Scatter:
    """``value`` is written at ``form`` displaced by the ``indices``, as a gather would read there.

    With an ``op``, a row of the op table, it is combined with what stands there. Elements are taken
    in order, one after the other.
    """

    form: int
    indices: tuple[int, ...]
    limits: tuple[tuple[int, int], ...]
    value: int
    dtype: DType
    op: str | None
    site: int


@dataclass(frozen=True, slots=True)
class Compact:
    """``value`` is written behind those before it, from where ``form`` is, if ``mask`` holds.

    All of a kernel have one mask; in rows it is a row value. The second status word is how many
    elements, or rows, there are.
    """

    form: int
    mask: int
    value: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Fill:
    """All elements of memory from ``form`` on are ``value``, before the first one is scattered.

    The ``limits`` are the extents of that memory.
    """

    form: int
    limits: tuple[int, ...]
    value: int
    dtype: DType


Effect = Keep | Store | Scatter | Compact  # statements that give no value
Valued = (
    Argument
    | Load
    | Index
    | InRange
    | Select
    | ChosenLoad
    | Gather
    | Search
    | Compute
    | Recall
    | Scan
)
Statement = Valued | Effect
LookUp = Gather | Search  # what reads an array at places that values tell
Reporting = Compute | Gather | Scatter  # statements that may set the status word


def reports(statement: Statement) -> bool:
    """True if ``statement`` may set the status word, as a power of floats does not."""
    if isinstance(statement, Compute):
        return statement.site >= 0 and statement.dtype.kind == "i"
    return isinstance(statement, Reporting) and statement.site >= 0


@dataclass(frozen=True, slots=True)
class Reduce:
    """``out`` combines ``value`` over the elements of a row, or over the rows of a launch.

    A kind with two results has ``second``, of the same type, for the other one. A sum that is
    ``from_zero`` is +0.0 where all is -0.0.
    """

    out: int
    dtype: DType  # of the result
    kind: str
    value: int
    value_dtype: DType
    second: int | None = None
    from_zero: bool = True


@dataclass(frozen=True, slots=True)
class Segment:
    """Which elements of each row are there: from row value ``first`` on, before ``last``.

    A row where these are no elements, or none of the row's, sets the status word.
    """

    first: int
    last: int
    site: int


@dataclass(slots=True)
class Stage:
    """One pass over a row: row values first, then for each element the body, then reductions.

    Those that ``cross`` combine the elements at one place of all rows.
    """

    head: list[Statement] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    reduces: list[Reduce] = field(default_factory=list)
    cross: list[Reduce] = field(default_factory=list)


@dataclass(slots=True)
class KernelIR:
    """One kernel: stages over each row, its tail, reductions over rows, final part and foot."""

    name: str
    kind: str  # "loop" or "reduction"
    row_rank: int  # axes that count rows
    rank: int  # axes within a row
    forms: list[Form] = field(default_factory=list)
    limits: int = 0
    scalars: list[DType] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    tail: list[Statement] = field(default_factory=list)
    outer: list[Reduce] = field(default_factory=list)
    final: list[Statement] = field(default_factory=list)
    foot: list[Statement] = field(default_factory=list)
    resident: list[DType] = field(default_factory=list)
    comment: str = ""
    segment: Segment | None = None  # of all its rows, each of one axis; known in the first head
    fills: list[Fill] = field(default_factory=list)  # of memory that scatters then go on in
    checks_first: bool = False  # all indices of its scatters, before anything is written

    def statements(self) -> Iterator[Statement]:
        """Every statement, in the order of execution."""
        for stage in self.stages:
            yield from stage.head
            yield from stage.body
        yield from self.tail
        yield from self.final
        yield from self.foot

    @property
    def is_ordered(self) -> bool:
        """True if elements are taken in order, one after the other."""
        return any(isinstance(s, Scatter | Compact) for stage in self.stages for s in stage.body)

    @property
    def compacts(self) -> bool:
        """True for a compaction: threads take runs of elements, which are joined at the end."""
        return any(isinstance(s, Compact) for stage in self.stages for s in stage.body)

    @property
    def searches(self) -> bool:
        """True if each element is looked for in a sorted array."""
        return any(isinstance(s, Search) for stage in self.stages for s in stage.body)

    @property
    def late(self) -> list[Store]:
        """The stores that wait for reads of what they overwrite."""
        return [s for s in self.statements() if isinstance(s, Store) and s.late]

    @property
    def scans(self) -> bool:
        """True if something runs on from element to element of a row."""
        return any(isinstance(s, Scan) for stage in self.stages for s in stage.body)

    @property
    def cross(self) -> list[Reduce]:
        """The reductions at each place of all rows."""
        return [r for stage in self.stages for r in stage.cross]

    @property
    def reductions(self) -> list[Reduce]:
        """All reductions, in the order of execution."""
        inside = [r for stage in self.stages for r in (*stage.reduces, *stage.cross)]
        return inside + self.outer

    @property
    def splittable(self) -> bool:
        """True if one row may be cut into parts that are reduced apart and combined afterwards."""
        if self.kind != "reduction" or len(self.stages) > 1 or self.segment is not None:
            return False
        return not self.compacts and not self.scans and not self.cross

    @property
    def phases(self) -> int:
        """In how many passes a row is computed; parts of it may be, one pass after the other."""
        ordered = any(isinstance(s, Scan | Scatter | Compact) for s in self.statements())
        if ordered or self.segment is not None or self.cross:
            return 1  # one element after the other, each row as long as it is, or groups of rows
        return sum(bool(stage.body or stage.reduces) for stage in self.stages)
