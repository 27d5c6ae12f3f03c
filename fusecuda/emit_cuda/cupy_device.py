"""The device behind CuPy: its pool, the user's current stream, and prepared launches."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import cupy
from cupy.cuda import driver

from ..codegen.kept_rows import keeps
from ..errors import CompilerError
from ..graph.dtypes import DType
from ..graph.library import Into, call, is_own
from ..graph.node import LibraryCall, Node
from .choice import Facts
from .device import Node as LaunchNode
from .device import Prepared, Start
from .driver_graph import DriverGraph, hold
from .nvrtc import architecture_for, cubin, start, version
from .source import CudaSource


def array_module() -> Any:
    """What makes arrays on the current device."""
    return cupy


class LoadedKernel:
    """A kernel; its module is unloaded when no program has any kernel of it."""

    __slots__ = ("__weakref__", "function", "ptr")

    def __init__(self, function: Any) -> None:
        self.function = function  # which keeps its module
        self.ptr = int(function.ptr)


class CupyDevice:
    """One CUDA device. Arrays are ``cupy.ndarray``; kernels run on CuPy's current stream."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.device = cupy.cuda.Device(number)
        self.arch = architecture_for(self.device.compute_capability)
        self._kernels: WeakValueDictionary[str, LoadedKernel] = WeakValueDictionary()
        self._streams: list[Any] = []  # of lanes; made once, and one too many does no harm

    def begin(self, sources: Sequence[CudaSource]) -> None:
        """Begin to compile what will be loaded."""
        if self._lacks(sources):
            start(sources, self.arch)

    def load(self, sources: Sequence[CudaSource]) -> dict[str, Any]:
        """The kernels by symbol; those that are not loaded yet come in one module."""
        kernels = {s.symbol: k for s in sources if (k := self._kernels.get(s.symbol)) is not None}
        if len(kernels) < len({s.symbol for s in sources}):
            with self.device:
                module = self._module(sources)
                for source in sources:
                    if source.symbol not in kernels:
                        kernel = LoadedKernel(module.get_function(source.symbol))
                        if "extern __shared__" in source.text:
                            self._allow_shared(kernel.ptr)
                        kernels[source.symbol] = self._kernels.setdefault(source.symbol, kernel)
        return kernels

    def _module(self, sources: Sequence[CudaSource]) -> Any:
        """The module of ``sources``: machine code, else PTX if the driver takes that only.

        Raises CompilerError, with both versions, if it takes neither.
        """
        virtual = self.arch.replace("sm_", "compute_")
        for arch in dict.fromkeys((self.arch, virtual)):
            module = cupy.cuda.function.Module()
            try:
                module.load(cubin(sources, arch))  # what `begin` has begun
            except driver.CUDADriverError as error:
                if error.status not in _REFUSED:
                    raise
                refusal = error
            else:
                self.arch = arch
                return module
        known = cupy.cuda.runtime.driverGetVersion()
        raise CompilerError(
            f"the driver, of CUDA {known // 1000}.{known % 1000 // 10}, takes neither machine code "
            f"nor PTX of NVRTC {version()} for {self.arch}: {refusal}"
        )

    def _lacks(self, sources: Sequence[CudaSource]) -> bool:
        """True if some kernel of ``sources`` is not loaded."""
        return any(source.symbol not in self._kernels for source in sources)

    def _allow_shared(self, kernel: int) -> None:
        """Let ``kernel`` ask for all the shared memory that a block can have beside its own."""
        most = cupy.cuda.runtime.getDeviceProperties(self.number)["sharedMemPerBlockOptin"]
        own = driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel)
        name = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver.funcSetAttribute(kernel, name, most - own)

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """An uninitialised array from CuPy's pool."""
        return cupy.ndarray(shape, dtype)

    def zeros(self, nbytes: int) -> Any:
        """Zeros."""
        return cupy.zeros(nbytes, cupy.uint8)

    def stream(self) -> int:
        """CuPy's current stream; the thread has a context of the device from then on."""
        if self.number not in _thread.ready:  # the driver's own calls want it
            cupy.cuda.runtime.free(0)
            _thread.ready.add(self.number)
        return int(_current_stream().ptr)

    def kept_stream(self) -> Any:
        """CuPy's current stream itself."""
        return _current_stream()

    def is_capturing(self, stream: int) -> bool:
        """True if the user captures ``stream``, which the legacy default stream cannot be."""
        return stream > 1 and bool(cupy.cuda.runtime.streamIsCapturing(stream))

    def hold(self, stream: int, *values: Any) -> None:
        """The graph that is captured keeps ``values``."""
        hold(stream, values)

    def constant(self, value: Any) -> Any:
        """A constant operand of a library call, there for all streams."""
        with self.device:
            array = cupy.asarray(value)
            _current_stream().synchronize()
        return array

    def address(self, array: Any) -> int:
        """The device address of the first element.

        Raises TypeError for another kind of array, ValueError for one on another device.
        """
        if type(array) is not _ndarray and not isinstance(array, _ndarray):
            kind = f"{type(array).__module__}.{type(array).__name__}"
            raise TypeError(f"a program on {self.arch} takes cupy.ndarray arguments, not {kind}")
        pointer = array.data
        if pointer.device_id != self.number:
            raise ValueError(
                f"a program on device {self.number} takes no array on device {pointer.device_id}"
            )
        return pointer.ptr  # type: ignore[no-any-return]

    def told(self, array: Any) -> list[int]:
        """The elements, as CuPy's own ``x[mask]`` waits for their number."""
        return array.tolist()  # type: ignore[no-any-return]

    def cut(self, array: Any, count: int) -> Any:
        """The first ``count`` rows, where they lie if they are many."""
        if count == len(array):
            return array
        rows = cupy.ndarray((count, *array.shape[1:]), array.dtype, memptr=array.data)
        return rows if keeps(array.nbytes, count, len(array)) else rows.copy()

    def starter(self, kernel: Any, prepared: Prepared) -> Start:
        """The driver's own launch; it copies the parameters before it returns."""
        grid, block = (prepared.grid, 1, 1), (*prepared.block, 1)
        return partial(driver.launchKernel, kernel.ptr, *grid, *block, prepared.shared)

    def graph(self, nodes: Sequence[LaunchNode]) -> DriverGraph:
        """A graph of the driver's."""
        return DriverGraph(nodes)

    def view(self, base: Any, offset: int, shape: Any, strides: Any, dtype: DType) -> Any:
        """Memory of ``base`` under a shape and strides; ``base`` itself where it is that."""
        is_plain = not offset and type(base) is cupy.ndarray and base.dtype == dtype
        if is_plain and (base.shape, base.strides) == (shape, strides):
            return base
        pointer = base.data + offset
        return cupy.ndarray(tuple(shape), dtype, memptr=pointer, strides=tuple(strides))

    def library(self, node: Node, operands: Sequence[Any], out: Any, apart: bool) -> None:
        """CuPy's own function of the name; raises NotImplementedError where CuPy has none."""
        if not isinstance(node.attr, LibraryCall):
            raise NotImplementedError(f"{node.op} on {node.dtype} has no kernel")
        if not hasattr(cupy, node.attr.name) and not is_own(node.attr.name):
            raise NotImplementedError(f"CuPy has no {node.attr.name}")
        if apart:
            Into(node.attr, cupy, node.line)(operands, out)
        else:
            out[...] = call(node.attr, operands, cupy, node.line)

    def lanes(self, count: int, events: int) -> CupyLanes:
        """Lanes on streams that wait for no other one by themselves."""
        with self.device:
            while len(self._streams) < count - 1:
                self._streams.append(cupy.cuda.Stream(non_blocking=True))
            return CupyLanes(self._streams[: count - 1], events)


class CupyLanes:
    """The user's current stream and ours, and events that hold no times.

    Calls of several threads may share the streams, never the events.
    """

    def __init__(self, streams: Sequence[Any], events: int) -> None:
        self._streams = [None, *streams]
        self._events = [cupy.cuda.Event(disable_timing=True) for _ in range(events)]

    def begin(self) -> None:
        """The current stream is lane 0."""
        self._streams[0] = cupy.cuda.get_current_stream()

    def use(self, lane: int) -> int:
        """The stream of ``lane`` is CuPy's current one, for library calls too."""
        stream = self._streams[lane]
        stream.use()
        return int(stream.ptr)

    def record(self, event: int) -> None:
        """Record on the current stream."""
        self._events[event].record(cupy.cuda.get_current_stream())

    def wait(self, event: int) -> None:
        """Let the current stream wait."""
        cupy.cuda.get_current_stream().wait_event(self._events[event])

    def join(self) -> None:
        """Let lane 0 wait for the others."""
        for stream in self._streams[1:]:
            self._streams[0].wait_event(stream.record(cupy.cuda.Event(disable_timing=True)))

    def end(self) -> None:
        """The user's stream is current again, and no longer kept."""
        self._streams[0].use()
        self._streams[0] = None


_CLUSTER = 8  # blocks, on every device that has clusters at all
_REFUSED = (200, 209, 218, 222)  # image, binary for this GPU, PTX, version of PTX


class _Thread(threading.local):
    """The devices of which a thread has a context."""

    def __init__(self) -> None:
        self.ready: set[int] = set()


_thread = _Thread()
_current_stream = cupy.cuda.get_current_stream
_ndarray = cupy.ndarray


def device_names() -> list[str]:
    """The names of the CUDA devices, in their order; empty without a driver."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        return []
    properties = (cupy.cuda.runtime.getDeviceProperties(n) for n in range(count))
    return [p["name"].decode() for p in properties]


def least_facts() -> Facts | None:
    """What every CUDA device has at least; None without a driver."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        return None
    every = [cupy.cuda.runtime.getDeviceProperties(n) for n in range(count)]
    if not every:
        return None
    return Facts(
        min(p["multiProcessorCount"] for p in every),
        min(p["sharedMemPerBlockOptin"] for p in every),
        _CLUSTER if all(p.get("clusterLaunch", p["major"] >= 9) for p in every) else 1,
    )


_devices: dict[int, CupyDevice] = {}


def current_device() -> CupyDevice:
    """CuPy's current device; raises CuPy's error where there is none."""
    number = cupy.cuda.runtime.getDevice()
    if number not in _devices:
        _devices[number] = CupyDevice(number)
    return _devices[number]
