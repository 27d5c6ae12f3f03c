"""Choice: which skeleton fits a walk, and where a block of threads can keep a row."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..fusion import kernel_ir as ir
from ..fusion.variants import stand_side_by_side
from ..fusion.walk import Walk, Walked
from ..graph.dtypes import computed_in
from ..graph.tree import SCANNED_ROW

LOOP, TILES, COMPACTION, LATE = "loop", "tiles", "compaction", "late stores"
SHORT, BLOCK, COLUMN, SCAN = "short rows", "long rows", "columns", "long scans"
LOOP_THREADS = 256  # of a block of a loop, of columns, or of a compaction
PICKS = 8  # elements, or rows, that a thread of a compaction tests
COMPACTED = PICKS * LOOP_THREADS  # that a block does
TILE, LARGE_TILE = 32, 64  # elements of a tile's side; of elements of up to 4 bytes
KEPT_BYTES = {8: 256, 16: 128}  # registers of a thread for resident rows, by warps of a block
GROUP, STEP, CHUNK = 4, 128, 512  # of the tree: neighbours, elements of a warp's step and chunk


OWN_SHARED = 4 << 10  # bytes of shared memory that a kernel has besides, if it reduces little
STATIC_SHARED = 48 << 10  # bytes of shared memory that a text may declare
WAITING_BYTES = 32  # of an element, which wait in shared memory until others have read
NEAR = 16  # elements along each axis, up to which others are read that are written late
# Of an H100, from public figures, not measured.
NS_PER_BYTE = 1 / 2900  # from and to memory
NS_PER_COST = 1 / 7_000  # a unit of the op table for an element: about two instructions in doubles
LONGEST = 32 * 1024 * CHUNK  # elements of a row that one block passes over, 1,024 chunks a warp
_LAST_ROWS = 8 * 1024 * CHUNK  # row values that one block combines
# Where a row is kept.
REGISTERS, SHARED, BOTH, NOWHERE = "registers", "shared memory", "both", "nowhere"
SHARED_WARPS = 16  # of a block that keeps its row in shared memory
BOTH_CHUNKS = 3  # of a warp in registers, where a block keeps a row in both
MOST_CHUNKS = 1024  # that are combined at once
RESERVED_SHARED = 1 << 10  # bytes of a processor's that each of its blocks takes besides


@dataclass(frozen=True, slots=True)
class Facts:
    """What launches are fitted to: a device's multiprocessors, bytes that a block can share, and
    how many blocks see each other's (see cluster.cuh).

    The default is an H100's.
    """

    multiprocessors: int = 132
    shared: int = 227 << 10
    cluster: int = 8


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where a row is kept between its stages, and by how many blocks."""

    where: str = NOWHERE
    blocks: int = 1

    def own(self, length: int) -> int:
        """The chunks of a row that each block has."""
        return -(-length // (CHUNK * self.blocks))

    def in_shared(self, length: int) -> int:
        """The elements of a row that the shared memory of a block keeps."""
        beside = SHARED_WARPS * BOTH_CHUNKS if self.where == BOTH else 0
        return min(length, CHUNK * max(0, self.own(length) - beside))


def turned_walk(kernel: ir.KernelIR, walked: Walked) -> tuple[Walked, frozenset[int]]:
    """The walk with the axis before the last along which loads are contiguous that are not along
    the last, and which these are; none if a tile would not make every access contiguous.
    """
    over = walked.elements
    last = len(over.extents) - 1
    simple = {s.form for s in kernel.stages[0].body if isinstance(s, ir.Load) and s.guard is None}
    simple -= {s.form for s in kernel.statements() if isinstance(s, ir.LookUp)}
    simple -= {s.form for s in kernel.stages[0].head if isinstance(s, ir.Load)}
    forms = [(f, form.dtype.itemsize) for f, form in enumerate(kernel.forms) if form.dtype]
    misfits = [(f, size) for f, size in forms if over.strides[f][last] not in (0, size)]
    room = sum(TILE * (TILE + 1) * size for _, size in misfits)
    if last < 1 or not all(f in simple for f, _ in misfits) or room > STATIC_SHARED:
        return walked, frozenset()
    for axis in range(last):
        large = min(over.extents[axis], over.extents[last]) >= TILE // 2
        if large and all(over.strides[f][axis] == size for f, size in misfits):
            order = [a for a in range(last) if a != axis]
            turned = Walked(
                walked.rows, over.keep([*order, axis, last]), walked.offsets, walked.places
            )
            return turned, frozenset(f for f, _ in misfits)
    return walked, frozenset()


def tile_side(kernel: ir.KernelIR, walked: Walked, turned: frozenset[int], processors: int) -> int:
    """The side of tiles: large where elements are small and all processors have some."""
    sizes = [form.dtype.itemsize for form in kernel.forms if form.dtype is not None]
    room = LARGE_TILE * (LARGE_TILE + 1) * sum(_itemsize(kernel, f) for f in turned)
    tiles = math.prod(-(-n // LARGE_TILE) for n in walked.elements.extents[-2:])
    tiles *= math.prod(walked.elements.extents[:-2])
    fits = max(sizes) <= 4 and room <= STATIC_SHARED and tiles >= 2 * processors
    return LARGE_TILE if fits else TILE


def _itemsize(kernel: ir.KernelIR, form: int) -> int:
    dtype = kernel.forms[form].dtype
    return 0 if dtype is None else dtype.itemsize


def squeezed(walked: Walked) -> Walked:
    """``walked`` without leading axes of extent 1, along which nothing is walked."""
    for name in ("rows", "elements"):
        over: Walk = getattr(walked, name)
        last = len(over.extents) - 1
        first = next((a for a, n in enumerate(over.extents) if n != 1), last)
        if first > 0:
            setattr(walked, name, over.keep(range(first, last + 1)))
    return walked


def keeping(kernel: ir.KernelIR, walked: Walked, facts: Facts) -> Keeping:
    """Where what a row keeps is kept: in the first place that has the room.

    In shared memory by so few blocks that two fit on a processor, one loading while the other
    computes; but by more where rows would leave processors idle.
    """
    skeleton = chosen_skeleton(kernel, walked)[0]
    if not kernel.resident or kernel.scans:
        return Keeping()
    length, rows = math.prod(walked.elements.extents), math.prod(walked.rows.extents)
    own, across = OWN_SHARED + LOOP_THREADS * meeting_bytes(kernel), 1
    if skeleton == COLUMN:
        if kernel.segment is not None:
            return Keeping()
        across = columns_across(length)
    else:
        if keeping_warps(kernel, length) > 0:
            return Keeping(REGISTERS)
        if skeleton == SHORT or length > MOST_CHUNKS * CHUNK:
            return Keeping()
        own = max(OWN_SHARED, 16 + 32 * meeting_bytes(kernel))
    half = (facts.shared + RESERVED_SHARED) // 2 - RESERVED_SHARED
    places = [(SHARED, half), (SHARED, facts.shared)]
    if kept_bytes(kernel) <= 4 and across == 1:
        places.append((BOTH, facts.shared))
    few = length > CHUNK and rows * facts.cluster <= facts.multiprocessors * across
    for where, room in places:
        for found in (Keeping(where, n) for n in (1, 2, 4, 8) if n <= facts.cluster):
            fits = shared_places(kernel, length, found, across)[1] <= room - own
            if fits and (found.blocks == facts.cluster or not few):
                return found
    return Keeping()


def shared_places(
    kernel: ir.KernelIR, length: int, kept: Keeping, across: int = 1
) -> tuple[dict[str, int], int]:
    """Where in shared memory a block of rows, or of columns side by side, keeps slots and tells
    what chunks come to; and its bytes.
    """
    offsets, end = slot_offsets(kernel, kept.in_shared(length) * across)
    places = {f"kept{slot}_at": at for slot, at in enumerate(offsets)}
    reduces = [r for stage in kernel.stages for r in stage.reduces]
    for reduce in reduces if across == 1 or kept.blocks > 1 else ():
        places[f"told{reduce.out}_at"] = end
        end += -(-kept.own(length) * across * _partial_bytes(reduce) // 16) * 16
    return places, end


def columns_across(length: int) -> int:
    """The columns of so many elements that a block has, whose threads share each of them."""
    return LOOP_THREADS // min(8, power_of_two(-(-max(length, 1) // GROUP)))


def meeting_bytes(kernel: ir.KernelIR) -> int:
    """The bytes of all that a thread, or a warp, brings to where those of a block meet."""
    reduces = [*(r for stage in kernel.stages for r in stage.reduces), *kernel.outer]
    return sum(map(_partial_bytes, reduces))


def _partial_bytes(reduce: ir.Reduce) -> int:
    if reduce.kind.startswith("arg"):  # with a place of 64 bits
        return 16
    item = computed_in(reduce.value_dtype).itemsize
    return item if reduce.second is None else 2 * item


def slot_offsets(kernel: ir.KernelIR, length: int) -> tuple[list[int], int]:
    """Where in shared memory each slot of a resident row starts, and the bytes of all.

    A slot takes the place of one that has been read for the last time before it is written.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    statements = (s for stage in kernel.stages for s in stage.body)
    for number, s in enumerate(statements):
        if isinstance(s, ir.Keep):
            first[s.slot] = number
        elif isinstance(s, ir.Recall):
            last[s.slot] = number
    places: list[tuple[int, int, int]] = []  # offset, bytes, the last to be there
    offsets, end = [0] * len(kernel.resident), 0
    for slot in sorted(first, key=lambda slot: first[slot]):
        size = -(-length // STEP) * STEP * kernel.resident[slot].itemsize
        for i, (offset, room, owner) in enumerate(places):
            if room == size and last.get(owner, first[owner]) < first[slot]:
                places[i] = offset, room, slot
                offsets[slot] = offset
                break
        else:
            places.append((end, size, slot))
            offsets[slot] = end
            end += size
    return offsets, end


def keeping_warps(kernel: ir.KernelIR, length: int) -> int:
    """The most warps of a block whose threads can keep a row of ``length``; 0 if none can."""
    chunks = -(-length // CHUNK)
    for warps, most in KEPT_BYTES.items():
        each = power_of_two(-(-chunks // warps))
        wide = any(d.itemsize == 8 for d in kernel.resident)
        if each * 16 * kept_bytes(kernel) <= (most // 2 if wide else most):
            return warps
    return 0


def kept_bytes(kernel: ir.KernelIR) -> int:
    """The most bytes that an element keeps from one stage to the next."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, stage in enumerate(kernel.stages):
        for s in stage.body:
            if isinstance(s, ir.Keep):
                first[s.slot] = number
            elif isinstance(s, ir.Recall):
                last[s.slot] = number
    live = [
        sum(d.itemsize for k, d in enumerate(kernel.resident) if first[k] <= n < last[k])
        for n in range(len(kernel.stages))
    ]
    return max(live, default=0)


def chosen_skeleton(kernel: ir.KernelIR, walked: Walked) -> tuple[str, tuple[bool, ...] | None]:
    """The skeleton that fits the strides, and the unit pattern along its inner axis."""
    by_row = unit_pattern(kernel, walked.elements)
    if kernel.compacts:
        return COMPACTION, by_row
    if kernel.kind == "loop":
        return (LATE, None) if kernel.late else (LOOP, by_row)
    length = math.prod(walked.elements.extents)
    if kernel.scans:
        return (SCAN if length > SCANNED_ROW else SHORT), by_row
    may_be_columns = by_row is None and stand_side_by_side(kernel, walked.rows)
    if may_be_columns and walked.rows.extents[-1] >= 8:
        by_column = unit_pattern(kernel, walked.rows)
        if by_column is not None and _may_be_columns(kernel, math.prod(walked.rows.extents)):
            return COLUMN, by_column
    short = length <= CHUNK or kernel.segment is not None
    return (SHORT if short else BLOCK), by_row


def _may_be_columns(kernel: ir.KernelIR, columns: int) -> bool:
    """True if there are columns, room for threads to meet, and one block can end all of them."""
    room = LOOP_THREADS * meeting_bytes(kernel)
    return 0 < columns <= (_LAST_ROWS if kernel.outer else columns) and room < STATIC_SHARED


def unit_pattern(kernel: ir.KernelIR, over: Walk) -> tuple[bool, ...] | None:
    """Which forms step by one element along the last axis, or None if some step otherwise."""
    pattern = []
    for form, strides in zip(kernel.forms, over.strides, strict=True):
        if form.dtype is None:
            pattern.append(False)
        elif strides[-1] in (0, form.dtype.itemsize) or over.extents[-1] < 2:
            pattern.append(strides[-1] != 0)
        else:
            return None
    return tuple(pattern)


def row_tiles(rows: int, length: int, enough: int) -> tuple[int, int, int, int]:
    """How a compaction of ``rows`` is cut: rows of a tile, tiles, parts of a row, their length.

    Several blocks share the rows of a tile where there are not ``enough`` tiles.
    """
    of_a_tile = min(COMPACTED, power_of_two(max(1, 2 * COMPACTED // length)))
    tiles = -(-rows // of_a_tile)
    parts = min(-(-length // COMPACTED), -(-enough // tiles))
    each = -(-length // (STEP * parts)) * STEP
    return of_a_tile, tiles, -(-length // each), each


def power_of_two(n: int) -> int:
    """The least power of two that is at least ``n``."""
    return 1 << max(0, n - 1).bit_length()


def chunks_of_a_group(rows: int, most: int) -> int:
    """The chunks of row values of a group, a power of two, so that there are ``most`` groups.

    One block reduces over a group, one over all groups, and neither is to take much longer.
    """
    chunks, each = -(-rows // CHUNK), 1
    while -(-chunks // each) > min(most, 32 * each):
        each *= 2
    return each
