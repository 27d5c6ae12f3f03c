"""Every constant of the cost model, in one place, and the prices made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..graph.bounds import are_inside
from ..graph.dtypes import DType
from ..graph.node import LibraryCall, Node
from ..graph.ops import OPS
from ..graph.structure import structure_of

NS_PER_BYTE = 0.1  # one core streaming from memory, about 10 GB/s
_UNIT_BYTES = 8  # of an element of which the op table says the cost
LAUNCH_NS = 5000  # of one more kernel, with what it does to the caches
NS_PER_COST = 0.15  # one op-table cost unit per element, vectorised, on that core
MAX_STATEMENTS = 320  # in one kernel: beyond, compilers slow down more than launches cost
MAX_STAGED = 12  # reductions of one kernel that need others of it: each is a page of text
LARGEST = (
    MAX_STATEMENTS * 5 // 4
)  # of one whose operations several values share: they are cut together
SELECTED_COST = 8  # of an element of a part: what may fail, a gather or integer power, costs more
SLICE_COST = 64  # the same of an element of three slices or more, which nothing makes an error
LINE_COST = 400  # of finding, for a line of elements, which of three slices or more they are in
FUNCTION_COST = 8  # in units of the op table, of a function, which takes much longer but in vectors
GRAIN_ELEMENTS = 32768  # work below which a second thread costs more than it brings
STREAM_BYTES = 1 << 26  # moved by a kernel, from which on caches do not hold what it writes
SPLIT_ELEMENTS = 16384  # a row longer than twice this is split over threads when rows are few


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a plan is to run, as far as the planner minds.

    A kernel passes over a row more than once if ``rows`` rows or more are worked on at a time, or
    if the row has at most ``row_bytes``, which is kept between passes; few longer ones are arrays,
    and a second pass is a second kernel, which all of the machine works on. So it is for rows that
    lie ``across`` side by side in memory, taken together, and ``row_blocks`` may keep parts of one
    where that keeps half of the machine busy. On the CPU all threads pass over a row together. No
    kernel passes twice over a row of more than ``longest`` elements. A lane of the reduction tree
    takes ``group`` neighbours at a time; a row of at most ``short`` elements is not worth a loop,
    nor is one of ``inner`` elements whose value others reduce or are a part of, nor are windows
    that overlap and cost at most ``window`` additions each.
    Rows of ``crossed`` elements, fewest and most, are reduced along and across in one pass.
    Where it is ``ordered``, a thread taking one element after the other pays: scatters are kernels.
    So are running sums where ``scanned_row`` is not 0; rows of more elements are shared by blocks
    that reduce nothing besides. Where it ``compacts``, so is what masks pick. An update may read
    elements that it overwrites if it ``waits``, as far away along each axis: each is written when
    it has been read; those of a kernel are of at most ``late_bytes`` an element. ``ns_per_byte``
    and ``ns_per_cost`` are the prices of a byte that is moved and of a unit of the op table, which
    is of eight bytes: vectors hold more elements of fewer, down to the ``narrowest``. Where
    bytes are dear beside those, what is computed again is charged for what it ``reads_again``, too.
    A byte that a kernel reads again, at another place, costs ``ns_per_near_byte``, if that is less:
    it is in the caches.
    """

    rows: int
    row_bytes: int
    row_blocks: int = 1
    across: int = 1
    group: int = 1
    short: int = 0
    inner: int = 0
    window: int = 0
    crossed: tuple[int, int] = (1, 0)
    ordered: bool = False
    compacts: bool = False
    waits: int = 0
    late_bytes: int = 1 << 62
    scanned_row: int = 0
    longest: int = 1 << 62
    ns_per_byte: float = NS_PER_BYTE
    ns_per_cost: float = NS_PER_COST
    narrowest: int = 1
    reads_again: bool = False
    ns_per_near_byte: float | None = None


_WRITTEN = 1.7  # bytes for one that is written, since its line is read before
SHORT = 8  # elements of a row that are written one by one
WINDOW = 130  # additions of a window that is part of one loop over all: compilers take a second

# Passes wait for all threads.
CPU = Machine(
    rows=2, row_bytes=1 << 62, short=SHORT, window=WINDOW, crossed=(2, 1 << 14), ordered=True,
    compacts=True, waits=1 << 62, scanned_row=1 << 62, ns_per_near_byte=0.005,
)  # fmt: skip


def op_cost(node: Node) -> int:
    """The cost of one element of ``node``, in units of one addition."""
    if node.op in OPS:
        return computed_cost(node.op, [o.dtype for o in node.operands])
    return structure_of(node).cost


def price(node: Node, machine: Machine = CPU) -> float:
    """What one element of ``node`` costs on ``machine``, in additions of doubles."""
    widest = max([node.dtype.itemsize, *(o.dtype.itemsize for o in node.operands)])
    return op_cost(node) * min(1.0, max(widest, machine.narrowest) / _UNIT_BYTES)


def computed_cost(op: str, dtypes: Sequence[DType]) -> int:
    """What one element of ``op`` of ``dtypes`` costs, in the op table's units.

    The absolute value of a complex number is a hypotenuse.
    """
    of_complex = op == "absolute" and dtypes[0].kind == "c"
    return OPS["hypot" if of_complex else op].cost


def may_fail(node: Node) -> bool:
    """True if some values make the operation an error."""
    if isinstance(node.attr, LibraryCall):
        return node.attr.name in ("power", "scatter")
    row = OPS.get(node.op)
    if row is None:
        return structure_of(node).may_fail and not (
            node.op in ("gather", "scatter") and are_inside(node)
        )
    return bool(row.may_fail) and node.dtype.kind == "i"


def broadcast_pays(
    node: Node, cone_price: float, times: int, follows: bool, machine: Machine
) -> bool:
    """True if computing ``node`` anew ``times`` costs less than a launch that stores it.

    An element has that `price` with all that it is computed from. What ``follows`` a reduction of
    its shape, which would be stored, is stored in its place.
    """
    again = (times - 1) * cone_price * machine.ns_per_cost * node.size
    return again <= (0 if follows else LAUNCH_NS + 2 * node.nbytes * machine.ns_per_byte)


def recompute_pays(
    node: Node, cone_price: float, copies: int, machine: Machine, read: float = 0.0
) -> bool:
    """True if computing ``node`` in ``copies`` places costs less than storing and reading it.

    An element has that `price` with all that it is computed from. All but the first read ``read``
    bytes for an element of it, and for nothing else.
    """
    again = (copies - 1) * cone_price * machine.ns_per_cost + read * machine.ns_per_byte
    kept = (1 + copies) * node.dtype.itemsize * machine.ns_per_byte
    return again <= kept


def again_pays(node: Node, cone_price: float, places: int, machine: Machine) -> bool:
    """As `recompute_pays`, for ``places`` of one kernel, which reads from memory once."""
    if machine.ns_per_near_byte is None:
        return recompute_pays(node, cone_price, places, machine)
    again = (places - 1) * cone_price * machine.ns_per_cost
    kept = (1 + _WRITTEN) * machine.ns_per_byte + (places - 2) * machine.ns_per_near_byte
    return again <= kept * node.dtype.itemsize
