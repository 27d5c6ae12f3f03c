"""Calls: a `fused` function on CuPy arrays, recorded once and replayed under a guard.

A call is replayed if nothing was looked at or run by CuPy itself while it was recorded, its arrays
were plain, contiguous and apart from each other, and it returned new arrays. The guard asks for the
same shapes, dtypes, devices and constants, and that all the function reads is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...engine import Executable
from ..array import recorder_in_force
from ..block import Region
from ..places import is_constant, same
from ..reads import Reads
from ..recorder import _in_place
from ..replay import MISS
from . import internals
from .internals import Pending, PendingMemory, ndarray
from .region import CupyRegion
from .storages import CupyStorage, complete, table

Replay = Callable[[tuple[Any, ...]], Any]


def replay_of(region: CupyRegion, args: Sequence[Any], result: Any, reads: Reads) -> Replay | None:
    """What replays the call that ``region`` has just recorded (not yet computed), or None."""
    if region.natives or region.reports or reads.opaque or reads.volatile or reads.arrays:
        return None
    arrays = [i for i, a in enumerate(args) if type(a) is ndarray]
    if any(not is_constant(a) for i, a in enumerate(args) if i not in arrays):
        return None
    parts = result if type(result) is tuple else (result,)
    outputs = [_whole_storage(part) for part in parts]
    entries = [_entry_of(args[i]) for i in arrays]
    if any(v is None for v in (*outputs, *entries)) or not _apart([args[i] for i in arrays]):
        return None
    waiting = region.pending()
    known = [*outputs, *entries]
    if any(all(s is not k for k in known) for s in waiting):
        return None
    if any(all(o is not s for s in waiting) for o in outputs):
        return None
    leaves, executable = region.executable_for_cupy(waiting, [_in_place(s) for s in waiting])
    by_buffer = {id(e.buffer): i for e, i in zip(entries, arrays, strict=True) if e is not None}
    sources = [(by_buffer.get(id(leaf.array)), leaf.array) for leaf in leaves]
    if any(i is None and isinstance(a, ndarray) for i, a in sources):
        return None
    where = [next(n for n, s in enumerate(waiting) if s is o) for o in outputs]
    into = [
        next((i for e, i in zip(entries, arrays, strict=True) if e is s), None) for s in waiting
    ]
    shape = tuple if type(result) is tuple else None
    guard = _guard(args, arrays, reads, region.device)
    run = _runner(region, executable, sources, into, where, shape)
    return lambda given: run(given) if guard(given) else MISS


def _whole_storage(value: Any) -> CupyStorage | None:
    """The storage of a pending array that shows all of it."""
    if type(value) is not Pending:
        return None
    memory = internals.pointer_of(value).mem
    if type(memory) is not PendingMemory or not value._c_contiguous:
        return None
    storage: CupyStorage = memory.storage
    return storage if storage.shape == value.shape and value.base is None else None


def _entry_of(array: Any) -> CupyStorage | None:
    """The known storage that is just the memory of ``array``."""
    if not array._c_contiguous or array.size == 0:
        return None
    entry = table.at(internals.pointer_of(array).ptr)
    if entry is None or entry.span != internals.span_of(array) or entry.shape != array.shape:
        return None
    return entry if entry.dtype == array.dtype else None


def _apart(arrays: Sequence[Any]) -> bool:
    """True if no two of the contiguous ``arrays`` share memory."""
    spans = sorted((p, p + a.nbytes) for a in arrays for p in (internals.pointer_of(a).ptr,))
    return all(spans[i][1] <= spans[i + 1][0] for i in range(len(spans) - 1))


def _guard(
    args: Sequence[Any], arrays: Sequence[int], reads: Reads, device: int
) -> Callable[[tuple[Any, ...]], bool]:
    layouts = [(i, args[i].shape, args[i].dtype) for i in arrays]
    constants = [(i, a) for i, a in enumerate(args) if i not in arrays]
    count = len(args)

    def holds(given: tuple[Any, ...]) -> bool:
        if len(given) != count or isinstance(recorder_in_force.get(), Region):
            return False
        for i, shape, dtype in layouts:
            a = given[i]
            if type(a) is not ndarray or a.shape != shape or a.dtype != dtype:
                return False
            if not a._c_contiguous or internals.pointer_of(a).device_id != device:
                return False
        if any(not same(given[i], a) for i, a in constants) or not reads.unchanged():
            return False
        return len(layouts) < 2 or _apart([given[i] for i, _, _ in layouts])

    return holds


def _runner(
    region: CupyRegion,
    executable: Executable,
    sources: Sequence[tuple[int | None, Any]],
    into: Sequence[int | None],
    where: Sequence[int],
    shape: Any,
) -> Callable[[tuple[Any, ...]], Any]:
    space, device = region.space, region.device
    assert space is not None

    def run(given: tuple[Any, ...]) -> Any:
        if len(table):
            complete(given)
        values = [a if i is None else given[i] for i, a in sources]
        results = space.run(executable, values, device)
        for result, target in zip(results, into, strict=True):
            if target is not None and result is not None:
                space.copy(given[target], result)
        found = [results[n] for n in where]
        return found[0] if shape is None else shape(found)

    return run
