"""CuPy's device: modules are loaded once and unloaded, in the form that the driver takes."""

from __future__ import annotations

import contextlib
import gc
import threading
from types import SimpleNamespace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

import fusecuda as fc  # noqa: E402
from fusecuda.emit_cuda import cupy_device, nvrtc  # noqa: E402
from fusecuda.emit_cuda.backend import DevicePrograms  # noqa: E402
from fusecuda.emit_cuda.choice import Facts  # noqa: E402
from fusecuda.emit_cuda.cupy_device import CupyDevice, CupyLanes  # noqa: E402
from fusecuda.errors import CompilerError  # noqa: E402
from fusecuda.streams.memory_plan import plan_memory  # noqa: E402
from tests.cupy_host import host  # noqa: E402
from tests.emulated import assembled  # noqa: E402


class DriverError(Exception):
    """What the driver says to a module."""

    def __init__(self, status: int) -> None:
        super().__init__(f"error {status}")
        self.status = status


class Modules:
    """CuPy's modules, as they are loaded and unloaded."""

    def __init__(self) -> None:
        self.loaded: list[bytes] = []
        self.unloaded = 0
        self.refused: dict[str, int] = {}

    def __call__(self) -> Any:
        return _Module(self)


class _Module:
    def __init__(self, modules: Modules) -> None:
        self.modules = modules

    def load(self, code: bytes) -> None:
        kind = "cubin" if code.startswith(b"\x7fELF") else "ptx"
        if kind in self.modules.refused:
            raise DriverError(self.modules.refused[kind])
        self.modules.loaded.append(code)

    def get_function(self, symbol: str) -> Any:
        assert symbol.encode() in self.modules.loaded[-1]
        return SimpleNamespace(ptr=len(self.modules.loaded), module=self)

    def __del__(self) -> None:
        self.modules.unloaded += 1


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Modules:
    made = Modules()
    monkeypatch.setattr(cp.cuda.function, "Module", made)
    monkeypatch.setattr(cupy_device, "driver", SimpleNamespace(CUDADriverError=DriverError))
    monkeypatch.setattr(cp.cuda.runtime, "driverGetVersion", lambda: 12090)
    return made


def a_device() -> CupyDevice:
    """The device without its driver."""
    device = CupyDevice.__new__(CupyDevice)
    device.number, device.arch = 0, "sm_90"
    device.device = contextlib.nullcontext()
    device._kernels, device._streams = WeakValueDictionary(), []
    return device


def sources(*functions: Any) -> list[Any]:
    found = []
    for function in functions:
        _, emitted = assembled(fc.lower(function, np.ones(99, np.float32)).graph)
        found += [s for s in emitted if s is not None]
    return found


needs_nvrtc = pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")


@needs_nvrtc
def test_a_kernel_is_loaded_once_and_unloaded_with_the_last_program(modules: Modules) -> None:
    device = a_device()
    one, two = sources(lambda a: a + 1), sources(lambda a: a + 1, lambda a: a * a)
    first = device.load(one)
    again = device.load(one)
    assert len(modules.loaded) == 1 and again == first
    both = device.load(two)
    assert len(modules.loaded) == 2 and both[one[0].symbol] is first[one[0].symbol]
    del first, again
    gc.collect()
    assert modules.unloaded == 0
    del both
    gc.collect()
    assert modules.unloaded == 2 and not device._kernels
    device.load(one)
    assert len(modules.loaded) == 3


@needs_nvrtc
def test_a_driver_that_refuses_machine_code_is_given_ptx(modules: Modules) -> None:
    """At once from then on, and what is begun is begun so."""
    device = a_device()
    modules.refused = {"cubin": 209}
    device.load(sources(lambda a: a + 2))
    assert device.arch == "compute_90" and b".version" in modules.loaded[0]
    modules.refused = {}
    device.load(sources(lambda a: a * a))
    assert b".version" in modules.loaded[1]


@needs_nvrtc
def test_a_driver_that_refuses_both_is_named(modules: Modules) -> None:
    modules.refused = {"cubin": 209, "ptx": 222}
    with pytest.raises(CompilerError, match=r"CUDA 12\.9.*NVRTC.*sm_90: error 222"):
        a_device().load(sources(lambda a: a + 2))
    modules.refused = {"cubin": 2}  # out of memory: not the code's fault
    with pytest.raises(DriverError, match="error 2"):
        a_device().load(sources(lambda a: a + 2))


# --- several devices


def test_an_array_of_another_device_is_refused() -> None:
    """A kernel would read memory that its device may not reach."""
    device, array = a_device(), host(np.ones(4))
    assert device.address(array) == array.data.ptr
    device.number = 1
    with pytest.raises(ValueError, match="a program on device 1 takes no array on device 0"):
        device.address(array)
    with pytest.raises(TypeError, match="arguments, not numpy"):
        device.address(np.ones(4))


def test_each_device_has_a_program_with_counters_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.lazy_device import LazyDevice

    devices = [LazyDevice(), LazyDevice()]
    for number, device in enumerate(devices):
        device.number = number  # type: ignore[attr-defined]
    current = [0]
    monkeypatch.setattr(cupy_device, "current_device", lambda: devices[current[0]])
    x = np.ones((600, 600))
    assembly, emitted = assembled(fc.lower(lambda a: a.sum(), x).graph)
    programs = DevicePrograms(assembly, emitted, plan_memory(assembly, 1), False)
    results = []
    for current[0] in (0, 1, 0):
        results.append(programs([x])[0])
        devices[current[0]].finish([0])
    assert all(r == x.sum() for r in results)
    one, two = programs._programs.values()
    assert one is not two and one._counters[0, 0][0] is not two._counters[0, 0][0]
    assert [len(d.reports) for d in devices] == [2, 1]


def test_counters_keep_their_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is destroyed may leave its number to another, which waits for nothing of it."""
    from tests.lazy_device import LazyDevice

    stream, device = object(), LazyDevice()
    device.number = 0  # type: ignore[attr-defined]
    monkeypatch.setattr(device, "kept_stream", lambda: stream)
    monkeypatch.setattr(cupy_device, "current_device", lambda: device)
    assembly, emitted = assembled(fc.lower(lambda a: a.sum(), np.ones((600, 600))).graph)
    programs = DevicePrograms(assembly, emitted, plan_memory(assembly, 1), False)
    programs([np.ones((600, 600))])
    device.finish([0])
    (program,) = programs._programs.values()
    assert [found[-1] for found in program._counters.values()] == [stream]


def test_a_thread_has_a_context_of_each_device(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(cupy_device, "_thread", cupy_device._Thread())
    monkeypatch.setattr(cupy_device, "_current_stream", lambda: SimpleNamespace(ptr=7))
    monkeypatch.setattr(cp.cuda.runtime, "free", made.append)
    one, two = a_device(), a_device()
    two.number = 1
    assert [d.stream() for d in (one, one, two, one)] == [7] * 4
    assert made == [0, 0]


# --- lanes


class Log:
    """CuPy's streams and events, which write down what they are told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        log = self
        self.told: list[str] = []
        self.events = self.streams = 0
        self.current = self.user = self.stream("user")

        class Event:
            def __init__(self, block: bool = False, disable_timing: bool = False) -> None:
                assert disable_timing and not block
                self.number = log.events
                log.events += 1

            def record(self, stream: Any) -> None:
                log.told.append(f"{stream.name} records {self.number}")

        def stream(non_blocking: bool = False) -> Any:
            assert non_blocking
            log.streams += 1
            return log.stream(f"lane {log.streams}")

        monkeypatch.setattr(cp.cuda, "Event", Event)
        monkeypatch.setattr(cp.cuda, "Stream", stream)
        monkeypatch.setattr(cp.cuda, "get_current_stream", lambda: log.current)

    def stream(self, name: str) -> Any:
        log = self

        class Stream:
            def __init__(self) -> None:
                self.name, self.ptr = name, id(self)

            def use(self) -> None:
                log.current = self

            def record(self, event: Any) -> Any:
                event.record(self)
                return event

            def wait_event(self, event: Any) -> None:
                log.told.append(f"{self.name} waits for {event.number}")

        return Stream()


def test_lanes_begin_and_end_on_the_user_s_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams are made once for all calls and threads, events once for those of one at a time."""
    log, device = Log(monkeypatch), a_device()
    lanes = device.lanes(3, 2)
    for _ in range(2):
        log.told.clear()
        lanes.begin()
        lanes.record(0)
        assert lanes.use(2) == log.current.ptr
        lanes.wait(0)
        lanes.record(1)
        lanes.use(0)
        assert log.current is log.user
        lanes.use(1)
        lanes.join()
        lanes.end()
        assert log.current is log.user
        assert log.told[:3] == ["user records 0", "lane 2 waits for 0", "lane 2 records 1"]
        joined = [line.split()[1:3] for line in log.told[3:]]
        assert joined == [["1", "records"], ["waits", "for"], ["2", "records"], ["waits", "for"]]
    other = device.lanes(2, 1)
    assert log.streams == 2 and isinstance(other, CupyLanes)
    assert other._events[0].number not in [e.number for e in lanes._events]


def test_lanes_of_threads_share_streams_and_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    log, device = Log(monkeypatch), a_device()
    made: list[Any] = []
    device.lanes(4, 0)
    threads = [threading.Thread(target=lambda: made.append(device.lanes(4, 3))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.streams == 3
    assert len({id(e) for lanes in made for e in lanes._events}) == 12


def test_launches_are_fitted_to_what_all_devices_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters only if each has them, which older CuPys do not tell."""
    new = {"multiProcessorCount": 132, "sharedMemPerBlockOptin": 232448, "major": 9}
    old = {"multiProcessorCount": 108, "sharedMemPerBlockOptin": 166912, "major": 8}
    for every, facts in (
        ([new], (132, 232448, 8)),
        ([new, old], (108, 166912, 1)),
        ([new | {"clusterLaunch": 0}], (132, 232448, 1)),
        ([new | {"clusterLaunch": 1}] * 2, (132, 232448, 8)),
    ):
        runtime = SimpleNamespace(
            getDeviceCount=lambda every=every: len(every),
            getDeviceProperties=lambda n, every=every: every[n],
            CUDARuntimeError=RuntimeError,
        )
        monkeypatch.setattr(cupy_device.cupy.cuda, "runtime", runtime)
        assert cupy_device.least_facts() == Facts(*facts)
    runtime.getDeviceCount = lambda: 0
    assert cupy_device.least_facts() is None
