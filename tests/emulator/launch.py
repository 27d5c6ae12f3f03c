"""Launches kernels: checks the arguments, runs the blocks, reports the traffic."""

import ctypes
import functools
import mmap
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.emulator.build import EmulatorError, compiled, marked, source_line
from tests.emulator.source import Kernel, find_kernels

_ORDERS = {"forward": 0, "reverse": 1, "shuffled": 2}
_KINDS = {"i": "i", "u": "u", "f": "f", "b": "b"}
_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_BLOCK_LIMITS = (1024, 1024, 64)
_MAX_SHARED = 227 * 1024
_MAX_BLOCKS = 1 << 21
_MAX_CLUSTER = 8
_NAMES = {"i": "signed integer", "u": "unsigned integer", "f": "float", "b": "bool", "h": "half"}
_lock = threading.Lock()


class _Parameter(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("unit", ctypes.c_uint), ("kind", ctypes.c_char)]


class _Entry(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.c_void_p),
        ("call", ctypes.c_void_p),
        ("count", ctypes.c_uint),
        ("parameters", ctypes.POINTER(_Parameter)),
    ]


class _Array(ctypes.Structure):
    _fields_ = [
        *((n, ctypes.c_uint64) for n in ("low", "high", "pointer")),
        *((n, ctypes.c_uint32) for n in ("writable", "constant", "granule", "index")),
        *((n, ctypes.c_uint32) for n in ("read_only", "of_many")),
        ("name", ctypes.c_char_p),
        *((n, ctypes.c_uint64) for n in ("read", "written", "touched_read", "touched_written")),
    ]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        *((n, ctypes.c_uint32) for n in ("shared", "order", "seed", "arrays", "cluster")),
        ("array", ctypes.POINTER(_Array)),
        ("values", ctypes.POINTER(ctypes.c_void_p)),
        ("entry", ctypes.c_void_p),
        ("kernel", ctypes.c_char_p),
        ("arena", ctypes.c_void_p),
        *((n, ctypes.c_uint64) for n in ("accesses", "vector_accesses", "barriers", "atomics")),
        ("pc", ctypes.c_uint64),
        ("line", ctypes.c_uint32),
        ("text", ctypes.c_char * 2048),
    ]


@dataclass(frozen=True)
class Report:
    """What a launch did. The lists have one number of bytes for each argument."""

    read: list[int]
    written: list[int]
    touched_read: list[int]
    touched_written: list[int]
    vector_accesses: int
    blocks: int
    threads: int
    barriers: int
    atomics: int
    accesses: int


@functools.cache
def _arena(size: int) -> tuple[int, mmap.mmap]:
    """Memory for stacks and shared memory, used by one launch after the other."""
    memory = mmap.mmap(-1, size)
    return ctypes.addressof(ctypes.c_char.from_buffer(memory)), memory


def _triple(value: int | Sequence[int], what: str, limits: Sequence[int]) -> tuple[int, ...]:
    given = (value,) if isinstance(value, int) else tuple(int(v) for v in value)
    full = given + (1,) * (3 - len(given))
    if len(full) != 3 or any(not 1 <= v <= limit for v, limit in zip(full, limits, strict=True)):
        raise EmulatorError(f"{what} {given} is not within 1 .. {tuple(limits)}")
    return full


def _shape(
    kernel: Kernel, grid: int | Sequence[int], block: int | Sequence[int], shared: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Grid and block as triples, if a GPU (and the emulator) would take them."""
    grid3 = _triple(grid, "grid", _GRID_LIMITS)
    block3 = _triple(block, "block", _BLOCK_LIMITS)
    blocks, threads = int(np.prod(grid3)), int(np.prod(block3))
    if grid3[0] % kernel.cluster or kernel.cluster > _MAX_CLUSTER:
        raise EmulatorError(f"{kernel.name}: a grid of {grid3} in clusters of {kernel.cluster}")
    limit = min(1024, kernel.max_threads or 1024)
    if threads > limit or blocks > _MAX_BLOCKS or not 0 <= shared <= _MAX_SHARED:
        raise EmulatorError(
            f"{kernel.name}: {threads} threads (at most {limit}), {blocks} blocks (at most "
            f"{_MAX_BLOCKS}), {shared} bytes of shared memory (at most {_MAX_SHARED})"
        )
    return grid3, block3


def _pointer(address: int) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(address.to_bytes(8, "little"), 8)


def _array(
    value: np.ndarray, moved: int, of_many: bool, parameter: _Parameter, index: int, kernel: Kernel
) -> _Array:  # fmt: skip
    """The memory that an array argument opens to the kernel; perhaps ``of_many`` arrays."""
    name = kernel.parameters[index] if index < len(kernel.parameters) else "?"
    low, high = np.lib.array_utils.byte_bounds(value) if value.size else (value.ctypes.data,) * 2
    units = (n & -n for n in (value.dtype.itemsize, parameter.unit) if n)
    return _Array(
        low=low,
        high=high,
        pointer=value.ctypes.data + moved,
        writable=value.flags.writeable,
        constant=parameter.kind == b"q",
        granule=min(max(units).bit_length() - 1, 3),
        index=index,
        read_only=index < len(kernel.read_only) and kernel.read_only[index],
        of_many=of_many,
        name=name.encode(),
    )


def _bytes_of(value: Any, parameter: _Parameter, what: str) -> ctypes.Array[ctypes.c_char]:
    """A by-value argument as the bytes that the kernel gets, if it is of the parameter's type."""
    kind = parameter.kind.decode()
    if isinstance(value, np.generic):
        given, size, data = value.dtype.kind, value.dtype.itemsize, value.tobytes()
    elif isinstance(value, ctypes.Structure | ctypes._SimpleCData):
        dtype = np.dtype(type(value))
        given, size, data = dtype.kind, ctypes.sizeof(value), bytes(value)
    else:
        raise EmulatorError(f"{what}: give a NumPy or ctypes scalar, not {type(value).__name__}")
    given = "h" if given == "f" and size == 2 else _KINDS.get(given, "s")
    if given != kind or size != parameter.size:
        wanted = f"{_NAMES.get(kind, 'struct')} of {parameter.size} bytes"
        if kind in "pq":
            wanted = "pointer"
        raise EmulatorError(f"{what} is a {wanted}, not {type(value).__name__} of {size} bytes")
    return ctypes.create_string_buffer(data, len(data))


class Module:
    """CUDA C source, compiled for the host.

    Raises EmulatorError with the compiler's text where the source does not compile.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.kernels = find_kernels(source)
        self._library = compiled(source)

    def launch(
        self,
        name: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        shared: int = 0,
        order: str = "forward",
        seed: int = 0,
    ) -> Report:
        """What the kernel did; its arrays are changed in place. Raises EmulatorError on a fault.

        Arrays are passed as the address of their first element, a pair (array, bytes) as one that
        many bytes behind it, None as a null pointer, NumPy and ctypes scalars by value. `order`
        also turns the threads within a block around.
        """
        kernel = self.kernels.get(name)
        if kernel is None:
            raise EmulatorError(f"no kernel {name!r}: the source has {sorted(self.kernels)}")
        grid3, block3 = _shape(kernel, grid, block, shared)
        launch = _Launch(
            shared=shared, order=_ORDERS[order], seed=seed, cluster=kernel.cluster,
            kernel=name.encode(),
        )  # fmt: skip
        launch.grid[:], launch.block[:] = grid3, block3
        entry = _Entry.in_dll(self._library, f"emu_entry_{name}")
        launch.entry = ctypes.addressof(entry)
        arrays, keep = self._bind(launch, entry, kernel, args)
        self._run(launch)
        del keep

        def each(field: str) -> list[int]:
            by_index = {a.index: getattr(a, field) for a in arrays}
            return [by_index.get(i, 0) for i in range(len(args))]

        fields = ("read", "written", "touched_read", "touched_written")
        return Report(
            *(each(field) for field in fields),
            vector_accesses=launch.vector_accesses,
            blocks=int(np.prod(grid3)),
            threads=int(np.prod(grid3)) * int(np.prod(block3)),
            barriers=launch.barriers,
            atomics=launch.atomics,
            accesses=launch.accesses,
        )

    def _bind(
        self, launch: _Launch, entry: _Entry, kernel: Kernel, args: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        """The arrays as the runtime sees them, and what must stay alive until it is done."""
        if len(args) != entry.count:
            raise EmulatorError(f"{kernel.name} takes {entry.count} arguments, not {len(args)}")
        values, arrays = [], []
        for i, value in enumerate(args):
            parameter = entry.parameters[i]
            name = kernel.parameters[i] if i < len(kernel.parameters) else "?"
            what = f"argument {i} ({name}) of {kernel.name}"
            kind = parameter.kind.decode()
            memory, moved, of_many = (*(value if isinstance(value, tuple) else (value,)), 0, False)[
                :3
            ]
            if kind in "pq" and isinstance(memory, np.ndarray):
                arrays.append(_array(memory, moved, of_many, parameter, i, kernel))
                values.append(_pointer(arrays[-1].pointer))
            elif kind in "pq" and memory is None:
                values.append(_pointer(0))
            else:
                values.append(_bytes_of(value, parameter, what))
        launch.arrays = len(arrays)
        array = (_Array * max(1, len(arrays)))(*arrays)
        launch.array = ctypes.cast(array, ctypes.POINTER(_Array))
        pointers = (ctypes.c_void_p * (len(values) + 1))(*(ctypes.addressof(v) for v in values))
        launch.values = ctypes.cast(pointers, ctypes.POINTER(ctypes.c_void_p))
        return array[: len(arrays)], [array, pointers, values, args]

    def _run(self, launch: _Launch) -> None:
        library = self._library
        with _lock:
            library.emu_arena_bytes.restype = ctypes.c_ulong
            size = library.emu_arena_bytes()
            launch.arena = _arena(size)[0]
            failed = library.emu_launch(ctypes.byref(launch))
        if not failed:
            return
        line = launch.line or (source_line(library, launch.pc) if launch.pc else None)
        text = launch.text.decode(errors="replace")
        raise EmulatorError(f"{text}\n{marked(self.source, line)}" if line else text)
