"""Traffic: how often each array element is loaded and stored, counted by an instrumented build."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cpu_fallback import backend
from ..cpu_fallback.drafting import blueprint
from ..cpu_fallback.program import Program
from ..engine import Executable
from ..fusion.binding import Bound

NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Traffic:
    """Counts of one run. ``loads[n]`` and ``stores[n]`` have one count for each element of array n.

    The arrays are those in ``arrays``: arguments first, then results. ``strays`` counts accesses to
    any other memory: temporaries between kernels, or an address out of bounds.
    """

    arrays: list[NDArray]
    loads: list[NDArray]
    stores: list[NDArray]
    strays: int

    @property
    def bytes_moved(self) -> int:
        """All bytes loaded and stored."""
        counts = zip(self.arrays, self.loads, self.stores, strict=True)
        return int(sum(a.itemsize * (r.sum() + w.sum()) for a, r, w in counts))


class _Watch(ctypes.Structure):
    _fields_ = (
        ("low", ctypes.c_void_p),
        ("high", ctypes.c_void_p),
        ("item", ctypes.c_int64),
        ("loads", ctypes.c_void_p),
        ("stores", ctypes.c_void_p),
    )


def count_traffic(executable: Executable, arguments: Sequence[Any]) -> Traffic:
    """The traffic of one run of ``executable`` on contiguous ``arguments``, on one thread.

    Raises CompilerError if the instrumented kernels cannot be compiled.
    """
    assembly = executable.assembly
    sources = [
        backend.emit(step, traffic=True) if isinstance(step, Bound) else None
        for step in assembly.steps
    ]
    drawn = blueprint(assembly, sources, executable.memory)
    program = Program(drawn, sources, traffic=True)
    results = [np.zeros(o.shape, o.dtype) for o in assembly.plan.graph.outputs]
    program.place_results(results)
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    arrays += [r for i, r in enumerate(results) if assembly.plan.graph.target(i) is None]
    loads = [np.zeros(a.size, np.int64) for a in arrays]
    stores = [np.zeros(a.size, np.int64) for a in arrays]
    watches = (_Watch * len(arrays))()
    for watch, a, r, w in zip(watches, arrays, loads, stores, strict=True):
        assert a.flags.c_contiguous, "traffic is counted on contiguous arrays"
        watch.low, watch.item = a.ctypes.data, a.itemsize
        watch.high = a.ctypes.data + a.nbytes
        watch.loads, watch.stores = r.ctypes.data, w.ctypes.data
    for library in program.libraries:
        library.fc_watch_arrays(ctypes.byref(watches), ctypes.c_int64(len(arrays)))
    program(arguments)
    strays = 0
    for library in {id(lib): lib for lib in program.libraries}.values():
        library.fc_stray_count.restype = ctypes.c_int64
        strays += library.fc_stray_count()
    shaped = [(a.shape, r, w) for a, r, w in zip(arrays, loads, stores, strict=True)]
    return Traffic(
        arrays, [r.reshape(s) for s, r, _ in shaped], [w.reshape(s) for s, _, w in shaped], strays
    )
