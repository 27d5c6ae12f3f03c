"""The emulator as a device: a plan's own CUDA source, run on NumPy arrays."""

from __future__ import annotations

import ctypes
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from fusecuda.back_ends import BackEnd
from fusecuda.emit_cuda.backend import emit, machine, prelude, program
from fusecuda.emit_cuda.device import Node as Launched
from fusecuda.emit_cuda.device import Prepared
from fusecuda.emit_cuda.launch import CudaBound, bind
from fusecuda.emit_cuda.source import CudaSource
from fusecuda.fusion.assembly import Assembly, assemble
from fusecuda.fusion.cost import Machine
from fusecuda.fusion.kernel_ir import Compact
from fusecuda.fusion.planner import make_plan
from fusecuda.graph.dtypes import DType
from fusecuda.graph.interpret import evaluate
from fusecuda.graph.library import Into
from fusecuda.graph.node import Graph, LibraryCall, Node
from fusecuda.graph.passes import simplify
from fusecuda.streams.memory_plan import plan_memory
from tests.emulator import Module, Report

_SCALARS = {
    "bool": np.bool_, "int": np.int32, "int64_t": np.int64, "float": np.float32,
    "double": np.float64, "int32_t": np.int32, "uint64_t": np.uint64, "uint32_t": np.uint32,
    "int8_t": np.int8, "uint8_t": np.uint8, "int16_t": np.int16, "uint16_t": np.uint16,
    "unsigned": np.uint32, "fc_c64": np.complex64, "fc_c128": np.complex128,
}  # fmt: skip


class EmulatedDevice:
    """Runs kernels block by block and keeps each launch's report."""

    def __init__(self, order: str = "forward") -> None:
        self.order = order
        self.reports: list[tuple[Prepared, Report]] = []
        self.modules: list[Module] = []
        self.arrays: dict[int, np.ndarray] = {}  # by their addresses
        self.graphs: list[EmulatedGraph] = []

    def load(self, sources: Sequence[CudaSource]) -> dict[str, Any]:
        """Each kernel is the module that holds it."""
        texts = dict.fromkeys(s.text for s in sources)
        module = Module(prelude() + "\n" + "\n".join(texts))
        return {s.symbol: module for s in sources}

    def empty(self, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
        """Memory full of a pattern that no kernel would write."""
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = 0xA5
        return array

    def zeros(self, nbytes: int) -> np.ndarray:
        """Zeros."""
        return np.zeros(nbytes, np.uint8)

    def constant(self, value: Any) -> np.ndarray:
        """NumPy's array."""
        return np.asarray(value)

    def stream(self) -> int:
        """There is one."""
        return 0

    def kept_stream(self) -> None:
        """There is one for ever."""

    def is_capturing(self, stream: int) -> bool:
        """There are no users' graphs; see `LazyDevice`."""
        return False

    def hold(self, stream: int, *values: Any) -> None:
        """Nothing is held, as nothing is captured."""
        raise NotImplementedError

    def address(self, array: np.ndarray) -> int:
        """The address of the first element, where the array is found again."""
        address = int(array.__array_interface__["data"][0])
        known = self.arrays.get(address)
        if known is None or _span(known) <= _span(array):
            self.arrays[address] = array
        return address

    def told(self, array: np.ndarray) -> list[int]:
        """The elements: what was started is done."""
        return array.tolist()

    def cut(self, array: np.ndarray, count: int) -> np.ndarray:
        """The first rows."""
        return array[:count]

    def starter(self, kernel: Any, prepared: Prepared) -> Callable[[int, int, int], None]:
        """What starts ``kernel`` with the parameters at an address, as a driver's own call does."""

        def start(stream: int, parameters: int, extra: int) -> None:
            assert extra == 0
            self.start(self.work(kernel, prepared, parameters), stream)

        return start

    def work(self, kernel: Any, prepared: Prepared, parameters: int) -> Callable[[], None]:
        """One launch, in the order of this device; its parameters are read now."""
        shared = len(prepared.bounds) > 1
        args = []
        for i, (name, ctype) in enumerate(prepared.parameters):
            (place,) = struct.unpack("=Q", ctypes.string_at(parameters + 8 * i, 8))
            if "*" in ctype:
                offset = prepared.pointers[i][1]
                (pointer,) = struct.unpack("=Q", ctypes.string_at(place, 8))
                own, _, member = name.rpartition("_") if shared else (name, "", "0")
                of, base = prepared.bounds[int(member)], self.arrays[pointer - offset]
                args.append(_window(of, own, base, offset, ctype))
            else:
                kind = _SCALARS[ctype]
                raw = ctypes.string_at(place, np.dtype(kind).itemsize)
                args.append(np.frombuffer(raw, kind)[0])

        def run() -> None:
            report = kernel.launch(
                prepared.symbol, (prepared.grid,), prepared.block, args, prepared.shared, self.order
            )
            self.reports.append((prepared, report))

        return run

    def graph(self, nodes: Sequence[Launched]) -> Any:
        """An instance of a graph."""
        return EmulatedGraph(self, nodes)

    def start(self, work: Callable[[], None], stream: int | None = None) -> None:
        """Do ``work``, which the host has started; here at once."""
        work()

    def view(self, base: Any, offset: int, shape: Any, strides: Any, dtype: DType) -> Any:
        """Memory of ``base`` under a shape and strides."""
        return _at(base, offset, shape, strides, dtype)

    def library(self, node: Node, operands: Sequence[Any], out: Any, apart: bool) -> None:
        """NumPy's own value, straight into its memory where it may be."""

        def run() -> None:
            with np.errstate(all="ignore"):
                if apart and isinstance(node.attr, LibraryCall):
                    Into(node.attr)(operands, out)
                else:
                    out[...] = evaluate(node, [np.asarray(o) for o in operands])

        self.start(run)

    def lanes(self, count: int, events: int) -> Any:
        """There is one stream; see `LazyDevice` for more."""
        raise NotImplementedError


class EmulatedGraph:
    """An instance of a graph: its parameters are those of when it was made, or updated last."""

    def __init__(self, device: EmulatedDevice, nodes: Sequence[Launched]) -> None:
        self.device, self.nodes = device, nodes
        self.updates = self.launches = 0
        self.works: list[Callable[[], None]] = []
        device.graphs.append(self)
        self._take()

    def _take(self) -> None:
        self.works = [
            self.device.work(n.kernel, n.prepared, n.frame.parameters) for n in self.nodes
        ]

    def update(self) -> None:
        """Take what is in the frames now."""
        self.updates += 1
        self._take()

    def launch(self, stream: int) -> None:
        """All nodes, the last first among those that wait for nothing any more."""
        self.launches += 1
        works, edges = list(self.works), [set(n.after) for n in self.nodes]

        def run() -> None:
            left = dict(enumerate(edges))
            while left:
                ready = max(n for n, after in left.items() if not after & left.keys())
                del left[ready]
                works[ready]()

        self.device.start(run, stream)


def _span(array: np.ndarray) -> int:
    low, high = byte_bounds(array)
    return high - low


def _window(bound: CudaBound, name: str, base: Any, offset: int, ctype: str) -> Any:
    """What a pointer opens to the kernel: exactly what its form walks, or an area."""
    digits = "".join(c for c in name if c.isdigit())
    kernel = bound.lowered.ir
    if name.startswith(("in", "out")) and name[2 if name[0] == "i" else 3 :].isdigit():
        form = int(digits)
        dtype = kernel.forms[form].dtype
        assert dtype is not None
        gathered = any(getattr(s, "limits", None) and s.form == form for s in kernel.statements())
        axes = [a for a in bound.integers if a[0] in "nm" and a[1:].isdigit()]
        strides = [bound.integers[f"s{form}_{a}"] * dtype.itemsize for a in axes]
        extents = [bound.integers[a] if s else 1 for a, s in zip(axes, strides, strict=True)]
        compacted = any(isinstance(s, Compact) and s.form == form for s in kernel.statements())
        if gathered or compacted or _guarded(bound, form):
            low, _ = byte_bounds(base)
            node = bound.lowered.accesses[form].node
            of_many = node is not None and base.nbytes > node.size * dtype.itemsize  # temporaries
            return _bytes(base), offset + base.__array_interface__["data"][0] - low, of_many
        return _at(base, offset, extents, strides, dtype)
    return _bytes(base)[offset:]


def _bytes(array: Any) -> Any:
    """All the memory that ``array`` spans, as bytes."""
    low, high = byte_bounds(array)
    inside = low - array.__array_interface__["data"][0]
    return _at(array, inside, (high - low,), (1,), np.dtype(np.uint8))


def _guarded(bound: CudaBound, form: int) -> bool:
    return any(
        getattr(s, "guard", None) is not None and getattr(s, "form", None) == form
        for s in bound.lowered.ir.statements()
    )


def _at(base: Any, offset: int, shape: Any, strides: Any, dtype: DType) -> Any:
    if 0 in tuple(shape):
        return np.empty(tuple(shape), dtype)
    window = _Window(base, offset, tuple(shape), tuple(strides), dtype)
    return np.asarray(window).view(dtype)  # of some types the interface tells only the size


class _Window:
    def __init__(self, base: Any, offset: int, shape: Any, strides: Any, dtype: DType) -> None:
        self.base = base
        self.__array_interface__ = {
            "version": 3,
            "data": (base.__array_interface__["data"][0] + offset, not base.flags.writeable),
            "shape": shape,
            "strides": strides,
            "typestr": np.dtype(dtype).str,
        }


def assembled(
    graph: Graph, strides: Any = None, contract: bool = False, plan_for: Machine | None = None
) -> tuple[Assembly, list]:
    """The plan of ``graph`` bound for a device, and its sources."""
    plan = make_plan(simplify(graph), strides or {}, machine=plan_for or machine())
    assembly = assemble(plan, strides or {}, partial(bind, contract=contract), shared=True)
    sources = [
        emit(step, contract) if isinstance(step, CudaBound) else None for step in assembly.steps
    ]
    return assembly, sources


def run(
    graph: Graph,
    arguments: Sequence[Any],
    strides: Any = None,
    order: str = "forward",
    plan_for: Machine | None = None,
    contract: bool = False,
) -> tuple[list[Any], EmulatedDevice]:
    """The results of ``graph`` by its emulated CUDA kernels, and the device with its reports."""
    assembly, sources = assembled(graph, strides, contract, plan_for)
    device = EmulatedDevice(order)
    ready = program(assembly, sources, plan_memory(assembly, 1), device)
    return ready(arguments), device


def launches(device: EmulatedDevice) -> Counter[str]:
    """How often each kernel was launched."""
    return Counter(b.lowered.ir.name for p, _ in device.reports for b in p.bounds)


def back_end(device: EmulatedDevice) -> BackEnd:
    """A back end for the engine that runs CUDA kernels on ``device``, on NumPy's arrays."""
    return BackEnd(
        machine,
        lambda options: partial(bind, contract=options.contract),
        lambda launch, options: emit(launch, options.contract),
        lambda assembly, sources, memory, _: program(assembly, sources, memory, device),
        lambda: 1,
        shares_launches=True,
    )
