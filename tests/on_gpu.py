"""A plugin: the kernels that tests give to the emulator run on a GPU instead.

    python -m pytest -p tests.on_gpu --timeout-method=thread tests/emit_cuda tests/fusion

Every test whose kernels the emulator would run is taken, and no other one; its arrays stay on the
host, and each launch copies what its arguments span to the device and back. What the emulator alone
knows (traffic, wild accesses, the order of blocks) is not told: a test that asks is skipped
there. After a fault of the device the process ends, as nothing can run in it: run with several.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROUGH = ("-ftz=true",)  # as CuPy compiles; tests know IEEE's subnormal numbers
FIXTURES = {"emulated_cuda", "emitted", "emulated"}
OF_THE_EMULATOR = ("test_emulator.py", "test_cuda_compile.py", "test_docs_cuda.py", "test_gpu")
ALIGNED = 256
TO_DEVICE, TO_HOST = 1, 2  # cudaMemcpyKind


def pytest_configure(config: pytest.Config) -> None:
    """The emulator's place is taken before any test is imported."""
    import tests.emulator
    from tests import emulated

    for module in (tests.emulator, emulated):
        module.Module = GpuModule  # type: ignore[attr-defined]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Only tests that the emulator has a part in."""
    left_out = [item for item in items if not _is_emulated(item)]
    items[:] = [item for item in items if _is_emulated(item)]
    config.hook.pytest_deselected(items=left_out)


def _is_emulated(item: pytest.Item) -> bool:
    path = item.path
    if path.name.startswith(OF_THE_EMULATOR):
        return False
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if "emitted" in getattr(item, "fixturenames", ()):
        return parameters.get("emitted") == "cuda"
    return bool(FIXTURES & set(getattr(item, "fixturenames", ()))) or _speaks_of_it(path)


@functools.cache
def _speaks_of_it(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return path.parent.name == "emit_cuda" and "emulat" in text


@functools.lru_cache(256)
def _loaded(source: str) -> Any:
    """The module of ``source`` on the device."""
    import cupy

    from fusecuda.codegen.cache import default_cache, digest_of
    from fusecuda.emit_cuda.nvrtc import compile_text, options, version

    cupy.cuda.runtime.free(0)
    arch = f"sm_{cupy.cuda.Device().compute_capability}"
    flags = [f for f in options(arch) if f not in ROUGH]
    key = digest_of("on_gpu", version(), *flags, source)
    code = default_cache().load(key)
    if code is None:
        code, _ = compile_text(source, flags)
        default_cache().store(key, code)
    module = cupy.cuda.function.Module()
    module.load(code)
    return module


class GpuModule:
    """CUDA C source on the GPU, with the calls of the emulator's `Module`."""

    def __init__(self, source: str) -> None:
        from tests.emulator.source import find_kernels

        self.source = source
        self.kernels = find_kernels(source)

    def launch(
        self,
        name: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        shared: int = 0,
        order: str = "forward",
        seed: int = 0,
    ) -> Any:
        """Run the kernel; its arrays are changed in place. The report tells nothing."""
        import cupy
        from cupy.cuda import driver

        del order, seed
        try:
            function = _loaded(self.source).get_function(name)
            if shared:
                most = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                driver.funcSetAttribute(int(function.ptr), most, shared)
            values = [v if isinstance(v, tuple) else (v, 0) for v in args]
            memory = _Memory([v[0] for v in values if isinstance(v[0], np.ndarray)])
            kept = [_value(v[0], v[1], memory) for v in values]
            pointers = (ctypes.c_void_p * (len(kept) + 1))(*map(ctypes.addressof, kept))
            shape = (*_triple(grid), *_triple(block))
            driver.launchKernel(int(function.ptr), *shape, shared, 0, ctypes.addressof(pointers), 0)
            cupy.cuda.runtime.deviceSynchronize()
            memory.back()
        except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
            _say_and_end(name, error)
        return Uncounted()


class Uncounted:
    """The report of a launch: a device counts no traffic, so a test that asks is left there."""

    def __getattr__(self, name: str) -> Any:
        pytest.skip(f"a device does not tell {name}")


def _triple(value: int | Sequence[int]) -> tuple[int, ...]:
    given = (value,) if isinstance(value, int) else tuple(int(v) for v in value)
    return given + (1,) * (3 - len(given))


class _Memory:
    """What arrays span, on the device: what overlaps on the host overlaps there."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        import cupy

        spans = [np.lib.array_utils.byte_bounds(a) for a in arrays if a.size]
        full = [a for a in arrays if a.size]
        self.written = [s for s, a in zip(spans, full, strict=True) if a.flags.writeable]
        self.twins: list[tuple[int, int, Any, int]] = []  # low, high, memory there, its address
        for low, high in _merged(spans):
            room = cupy.empty(high - low + 3 * ALIGNED, cupy.uint8)
            room.data.memset(0x5A, room.nbytes)
            start = room.data.ptr + ALIGNED + low % ALIGNED
            cupy.cuda.runtime.memcpy(start, low, high - low, TO_DEVICE)
            self.twins.append((low, high, room, start))

    def at(self, address: int) -> int:
        """Where ``address`` of the host is on the device; 0 if nothing is there."""
        known = (
            start + address - low for low, high, _, start in self.twins if low <= address < high
        )
        return next(known, 0)

    def back(self) -> None:
        """The host has what the device has written."""
        import cupy

        for low, high in self.written:
            cupy.cuda.runtime.memcpy(low, self.at(low), high - low, TO_HOST)


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, those that overlap as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return found


def _value(value: Any, moved: int, memory: _Memory) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_uint64(memory.at(value.ctypes.data) + moved)
    if value is None:
        return ctypes.c_uint64(0)
    data = value.tobytes() if isinstance(value, np.generic) else bytes(value)
    return ctypes.create_string_buffer(data, len(data))


def _say_and_end(name: str, error: Exception) -> None:
    """The device is lost to this process: its tests fail, and another process goes on."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "?")
    line = f"{test}: {name}: {type(error).__name__}: {error}\n"
    path = os.environ.get("FUSECUDA_FAULTS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line)
    print(line, file=sys.stderr)
    os._exit(9)
