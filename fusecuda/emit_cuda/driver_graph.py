"""Graphs of kernels by CUDA's driver, which CuPy has no functions for: nodes, edges, parameters.

Nothing is captured. A graph that a user captures can be told to keep what it uses.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import Any

from ..errors import GraphRefusedError
from .device import Node

_POINTER = ctypes.c_void_p
_MOVE = 1  # CU_GRAPH_USER_OBJECT_MOVE: the graph gets our reference
_NO_SYNC = 1  # CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
_ACTIVE = 1  # CU_STREAM_CAPTURE_STATUS_ACTIVE


class KernelNodeParams(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h."""

    _fields_ = (
        ("func", _POINTER),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("parameters", _POINTER),
        ("extra", _POINTER),
        ("kernel", _POINTER),
        ("context", _POINTER),
    )


class DriverGraph:
    """An instance of a graph of launches; see `Instance` of streams/graphs.py."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._driver = driver()
        self._kernels = [node.kernel for node in nodes]  # are unloaded after the graph
        self._instance = _POINTER()
        self._graph = _POINTER()
        self._nodes: list[tuple[Any, Any]] = []
        self._call("cuGraphCreate", ctypes.byref(self._graph), 0)
        for node in nodes:
            self._add(node)
        self._call(
            "cuGraphInstantiateWithFlags", ctypes.byref(self._instance), self._graph,
            ctypes.c_ulonglong(0),
        )  # fmt: skip
        self._launch = self._driver.cuGraphLaunch

    def _add(self, node: Node) -> None:
        """A kernel node, its parameters read now."""
        prepared = node.prepared
        grid, block = (prepared.grid, 1, 1), (*prepared.block, 1)
        parameters = KernelNodeParams(
            node.kernel.ptr, grid, block, prepared.shared, node.frame.parameters
        )
        after = (_POINTER * len(node.after))(*[self._nodes[n][0].value for n in node.after])
        made = _POINTER()
        self._call(
            "cuGraphAddKernelNode_v2", ctypes.byref(made), self._graph, after,
            ctypes.c_size_t(len(node.after)), ctypes.byref(parameters),
        )  # fmt: skip
        self._nodes.append((made, parameters))

    def update(self) -> None:
        """Give all nodes what is in their frames now."""
        for node, parameters in self._nodes:
            self._call(
                "cuGraphExecKernelNodeSetParams_v2",
                self._instance,
                node,
                ctypes.byref(parameters),
            )

    def launch(self, stream: int) -> None:
        """Start all nodes."""
        status = self._launch(self._instance, _POINTER(stream))
        if status:
            raise GraphRefusedError(f"cuGraphLaunch gave error {status}")

    def _call(self, name: str, *given: Any) -> None:
        status = getattr(self._driver, name)(*given)
        if status:
            raise GraphRefusedError(f"{name} gave error {status}")

    def __del__(self) -> None:
        if getattr(self, "_instance", None):
            self._driver.cuGraphExecDestroy(self._instance)
        if getattr(self, "_graph", None):
            self._driver.cuGraphDestroy(self._graph)


@cache
def driver() -> Any:
    """The driver's library; raises GraphRefusedError where it is missing or has no such graphs."""
    try:
        found = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        for name in ("cuGraphAddKernelNode_v2", "cuGraphExecKernelNodeSetParams_v2"):
            getattr(found, name)
    except (OSError, AttributeError) as error:
        raise GraphRefusedError(f"the driver has no graphs of kernels: {error}") from None
    return found


# --- what a user's graph keeps

_held: dict[int, tuple[Any, ...]] = {}
_numbers = itertools.count(1)
_dropped: deque[int] = deque()  # by a thread of the driver's, which may do nothing else
_DROP = ctypes.CFUNCTYPE(None, _POINTER)
_drop = _DROP(_dropped.append)


def hold(stream: int, values: tuple[Any, ...]) -> None:
    """Keep ``values`` as long as the graph that is being captured on ``stream``.

    Where the driver does not tell of its end, they are kept as long as the process.
    """
    while _dropped:
        _held.pop(_dropped.popleft(), None)
    number = next(_numbers)
    _held[number] = values
    try:
        known = driver()
    except GraphRefusedError:
        return
    status, graph, kept = ctypes.c_int(), _POINTER(), _POINTER()
    own = ctypes.c_uint64()
    failed = known.cuStreamGetCaptureInfo_v2(
        _POINTER(stream), ctypes.byref(status), ctypes.byref(own), ctypes.byref(graph), None, None
    )
    if failed or status.value != _ACTIVE:
        return
    one = ctypes.c_uint(1)
    if known.cuUserObjectCreate(ctypes.byref(kept), _POINTER(number), _drop, one, _NO_SYNC):
        return
    if known.cuGraphRetainUserObject(graph, kept, one, _MOVE):
        known.cuUserObjectRelease(kept, one)
