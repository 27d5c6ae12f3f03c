"""`cupy.cuda` on the CPU: one device and one stream, in which all is done in order.

What waits for work, or marks its end, has what is pending computed; pools hold nothing.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Self

from ...capture.record.recorder import current_recorder


def _wait() -> None:
    current_recorder().flush()


class _Context:
    """What is entered and left without an effect on order."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        """There is nothing to go back to."""

    def use(self) -> Self:
        """As `cupy.cuda.Stream.use`."""
        return self

    def synchronize(self) -> None:
        """Compute what is pending."""
        _wait()


class Event:
    """A moment, at which all that was recorded before has been computed."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._time: float | None = None
        self.done = True

    def record(self, stream: Any = None) -> None:
        """As `cupy.cuda.Event.record`."""
        _wait()
        self._time = perf_counter()

    def synchronize(self) -> None:
        """It is over."""


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two events."""
    start, end = start_event._time, end_event._time
    if start is None or end is None:
        raise RuntimeError("an event has not been recorded")
    return 1e3 * (end - start)


class Stream(_Context):
    """The one stream, whatever it is called."""

    null: Stream
    ptr = 0
    done = True

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def record(self, event: Event | None = None) -> Event:
        """As `cupy.cuda.Stream.record`."""
        event = event or Event()
        event.record()
        return event

    def wait_event(self, event: Event) -> None:
        """It is over."""

    def launch_host_func(self, callback: Callable[[Any], Any], arg: Any) -> None:
        """As `cupy.cuda.Stream.launch_host_func`, at once: all before it is computed."""
        _wait()
        callback(arg)

    def add_callback(self, callback: Callable[[Any, int, Any], Any], arg: Any) -> None:
        """As `cupy.cuda.Stream.add_callback`, without an error."""
        _wait()
        callback(self, 0, arg)


Stream.null = Stream()
Stream.ptds = Stream.null  # type: ignore[attr-defined]


class Device(_Context):
    """The one device."""

    id = 0

    def __init__(self, device: Any = 0) -> None:
        pass

    def __int__(self) -> int:
        return 0


class MemoryPool:
    """A pool that holds nothing: memory is NumPy's, or of our own pool."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def malloc(self, size: int) -> None:
        """Named, as an allocator; nobody calls it."""

    def free_all_blocks(self, stream: Any = None) -> None:
        """There are none."""

    def set_limit(self, size: Any = None, fraction: Any = None) -> None:
        """None is kept."""

    def n_free_blocks(self) -> int:
        """How many there are."""
        return 0

    used_bytes = total_bytes = free_bytes = get_limit = n_free_blocks


PinnedMemoryPool = MemoryPool
_pool = MemoryPool()


def get_default_memory_pool() -> MemoryPool:
    """As `cupy.get_default_memory_pool`."""
    return _pool


get_default_pinned_memory_pool = get_default_memory_pool


def set_allocator(allocator: Any = None) -> None:
    """Memory comes from where it comes from."""


set_pinned_memory_allocator = set_allocator


@contextlib.contextmanager
def using_allocator(allocator: Any = None) -> Iterator[None]:
    """As `set_allocator`."""
    yield


def get_current_stream(device_id: int = -1) -> Stream:
    """The one."""
    return Stream.null


def get_device_id() -> int:
    """The one."""
    return 0


def is_available() -> bool:
    """There is no GPU."""
    return False


runtime = types.SimpleNamespace(
    getDeviceCount=lambda: 0,
    getDevice=get_device_id,
    setDevice=set_allocator,
    deviceSynchronize=_wait,
    streamSynchronize=lambda stream: _wait(),
)
nvtx = types.SimpleNamespace(
    RangePush=lambda *args: None, RangePop=lambda: None, Mark=lambda *args: None
)
profiler = types.SimpleNamespace(start=lambda: None, stop=lambda: None)
