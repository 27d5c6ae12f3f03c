"""Graphs by the driver's own functions, told to a driver that writes down what it is told."""

from __future__ import annotations

import ctypes
import gc
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fusecuda.emit_cuda import driver_graph
from fusecuda.emit_cuda.device import Node, Prepared
from fusecuda.emit_cuda.driver_graph import DriverGraph, hold
from fusecuda.errors import GraphRefusedError

SOURCE = Path(__file__).parents[1] / "stub_driver.c"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    target = tmp_path_factory.mktemp("driver") / "libcuda.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", target, SOURCE], check=True, timeout=60)
    made = ctypes.CDLL(str(target))
    made.stub_told.restype = ctypes.c_char_p
    return made


@pytest.fixture
def stub(library: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(driver_graph, "driver", lambda: library)
    library.stub_capture(0)
    library.stub_fail(0)
    gc.collect()
    library.stub_clear()
    yield library
    driver_graph._held.clear()


def told(stub: Any) -> list[str]:
    """What the driver has been told since it was asked last."""
    lines = stub.stub_told().decode().splitlines()
    stub.stub_clear()
    return lines


def node(count: int, grid: int, after: tuple[int, ...]) -> Node:
    """A launch of a kernel of so many parameters, in a frame of its own."""
    bound = SimpleNamespace(grid=grid, block=(64, 2), shared=48)
    template = b"".join(struct.pack("=Q8x", 0x100 * grid + i) for i in range(count))
    names = tuple((f"p{i}", "float *") for i in range(count))
    prepared = Prepared("k", names, [bound], [], lambda *_: None, [], template)  # type: ignore[list-item]
    return Node(SimpleNamespace(ptr=count), prepared, prepared.frame(), after)


def diamond() -> list[Node]:
    return [node(1, 1, ()), node(3, 2, (0,)), node(2, 3, (0,)), node(1, 4, (1, 2))]


HEAD = "grid {},1,1 block 64,2,1 shared 48: "


def test_nodes_edges_and_parameters(stub: Any) -> None:
    """As the frames hold them when the graph is made; a later change is not seen."""
    nodes = diamond()
    graph = DriverGraph(nodes)
    struct.pack_into("=Q", nodes[1].frame.buffer, 16, 0xABC)
    graph.launch(0xF00D0000BEEF)
    assert told(stub) == [
        "instantiate",
        "launch on f00d0000beef",
        HEAD.format(1) + "100",
        HEAD.format(2) + "200 201 202 after 0",
        HEAD.format(3) + "300 301 after 0",
        HEAD.format(4) + "400 after 1 after 2",
    ]


def test_an_update_gives_all_nodes_what_frames_hold(stub: Any) -> None:
    nodes = diamond()
    graph = DriverGraph(nodes)
    told(stub)
    for number, one in enumerate(nodes):
        struct.pack_into("=Q", one.frame.buffer, 0, 0xA0 + number)
    graph.update()
    graph.launch(7)
    lines = told(stub)
    assert lines[:4] == ["set"] * 4
    assert [line.split(": ")[1].split()[0] for line in lines[5:]] == ["a0", "a1", "a2", "a3"]


def test_it_is_destroyed_with_what_it_is_made_of(stub: Any) -> None:
    graph = DriverGraph(diamond())
    told(stub)
    del graph
    gc.collect()
    assert told(stub) == ["destroy instance", "destroy graph"]


def test_errors_are_refusals_that_name_the_function(stub: Any) -> None:
    nodes = diamond()
    stub.stub_fail(801)
    with pytest.raises(GraphRefusedError, match="cuGraphCreate gave error 801"):
        DriverGraph(nodes)
    graph = DriverGraph(nodes)
    stub.stub_fail(1)
    with pytest.raises(GraphRefusedError, match="cuGraphExecKernelNodeSetParams_v2 gave error 1"):
        graph.update()
    stub.stub_fail(700)
    with pytest.raises(GraphRefusedError, match="cuGraphLaunch gave error 700"):
        graph.launch(0)


def test_a_driver_without_graphs_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    driver_graph.driver.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    with pytest.raises(GraphRefusedError, match="no graphs of kernels"):
        driver_graph.driver()


# --- what a user's graph keeps


class Kept:
    """Something that can be seen to be kept."""


def test_values_are_kept_until_the_user_s_graph_ends(stub: Any) -> None:
    """Its end is told by a thread of the driver's; what was kept is let go by the next call."""
    stub.stub_capture(1)
    first, second = Kept(), Kept()
    hold(5, (first,))
    hold(5, (second,))
    assert len(driver_graph._held) == 2
    thread = threading.Thread(target=stub.stub_end_user_graph)
    thread.start()
    thread.join()
    hold(5, ())
    assert list(driver_graph._held.values()) == [()]


@pytest.mark.parametrize("case", ["not captured", "no object"])
def test_where_nothing_tells_of_the_end_values_stay(stub: Any, case: str) -> None:
    stub.stub_capture(int(case != "not captured"))
    if case == "no object":
        stub.stub_fail(1)
    hold(5, (Kept(),))
    stub.stub_end_user_graph()
    hold(5, ())
    assert len(driver_graph._held) == 2
