"""The CUDA device as the benchmark sees it: events, cold caches, ceilings, clocks.

Before each sample a scratch larger than the L2 cache is read (written lines would have to be put
back while the clock runs), then a kernel holds the stream while the host enqueues what is timed, so
that events show the device's time and not the host's. A sample before which the start event had
come already is taken again, the stream held for longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

import fusecuda as fc

from . import gpu_rivals
from .gpu_cases import Case
from .gpu_measure import Maker, reason, while_held

SCRATCH_BYTES = 256 << 20
HOLD_NS = 300_000
_SOURCE = r"""
extern "C" __global__ void hold(unsigned long long ns) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - start < ns);
}
template <int N> __device__ __forceinline__
void copy_some(const float4 *__restrict__ in, float4 *__restrict__ out, unsigned n) {
    unsigned first = blockIdx.x * blockDim.x * N + threadIdx.x;
    float4 kept[N];
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (first + k * blockDim.x < n) kept[k] = in[first + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (first + k * blockDim.x < n) out[first + k * blockDim.x] = kept[k];
}
extern "C" __global__ void copy1(const float4 *in, float4 *out, unsigned n) {
    copy_some<1>(in, out, n);
}
extern "C" __global__ void copy4(const float4 *in, float4 *out, unsigned n) {
    copy_some<4>(in, out, n);
}
extern "C" __global__ void fill4(const float4 *, float4 *out, unsigned n) {
    unsigned first = blockIdx.x * blockDim.x * 4 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (first + k * blockDim.x < n) out[first + k * blockDim.x] = make_float4(1, 2, 3, 4);
}
extern "C" __global__ void sum4(const float4 *__restrict__ in, float *out, unsigned n) {
    unsigned step = gridDim.x * blockDim.x, id = blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0;
    for (unsigned i = id; i < n; i += 4 * step) {
        float4 kept[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
            kept[k] = i + k * step < n ? in[i + k * step] : make_float4(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < 4; ++k) total += kept[k].x + kept[k].y + kept[k].z + kept[k].w;
    }
    for (int lanes = 16; lanes; lanes /= 2) total += __shfl_xor_sync(~0u, total, lanes);
    if (threadIdx.x % 32 == 0) out[id / 32] = total;
}
"""
_THREADS = 256


class CudaDevice:
    """CuPy's current device."""

    def __init__(self) -> None:
        self.number = cupy.cuda.runtime.getDevice()
        self.properties = cupy.cuda.runtime.getDeviceProperties(self.number)
        self._scratch = cupy.zeros(SCRATCH_BYTES, cupy.uint8)
        self._sums = cupy.zeros(1 << 20, cupy.float32)
        self._start, self._stop = cupy.cuda.Event(), cupy.cuda.Event()
        module = cupy.RawModule(code=_SOURCE, options=("--std=c++17",))
        names = ("hold", "copy1", "copy4", "fill4", "sum4")
        self._kernels = {name: module.get_function(name) for name in names}

    # --- timing

    def timed(self, call: Callable[[], Any]) -> float:
        """Seconds that the device spends on ``call``, its caches cold."""

        def sample(nanoseconds: int) -> tuple[bool, float]:
            self._flush()
            self._kernels["hold"]((1,), (1,), (cupy.uint64(nanoseconds),))
            self._start.record()
            call()
            self._stop.record()
            is_pending = not self._start.done
            self._stop.synchronize()
            taken = cupy.cuda.get_elapsed_time(self._start, self._stop)
            return is_pending, float(taken) / 1e3

        return while_held(sample, HOLD_NS)

    def wall(self, call: Callable[[], Any], wait: Callable[[], None]) -> float:
        """Seconds from the call until its results are there, the device's caches cold."""
        self._flush()
        self.wait()
        start = time.perf_counter()
        call()
        wait()
        return time.perf_counter() - start

    def _flush(self) -> None:
        blocks = self.properties["multiProcessorCount"] * 8
        arguments = (self._scratch, self._sums, cupy.uint32(SCRATCH_BYTES // 16))
        self._kernels["sum4"]((blocks,), (_THREADS,), arguments)

    def wait(self) -> None:
        """All work is done; raises if the device can no longer be used."""
        cupy.cuda.runtime.deviceSynchronize()

    def free(self) -> None:
        """CuPy's pool is given back."""
        cupy.get_default_memory_pool().free_all_blocks()
        gpu_rivals.free()

    # --- ceilings

    def ceilings(self, size: int) -> list[tuple[str, str, float, Callable[[], Any]]]:
        """Copies, fills and read-only sums of ``size`` bytes, by hand and by the runtime."""
        first, second = (cupy.zeros(size, cupy.uint8) for _ in range(2))
        sums = cupy.zeros(1 << 20, cupy.float32)
        count = size // 16

        def started(name: str, blocks: int, target: Any = second) -> Callable[[], Any]:
            arguments = (first, target, cupy.uint32(count))
            return lambda: self._kernels[name]((blocks,), (_THREADS,), arguments)

        def blocks(each: int) -> int:
            return -(-count // (_THREADS * each))

        few = self.properties["multiProcessorCount"] * 8
        return [
            ("copy", "copy by cudaMemcpyAsync", 2.0 * size,
             lambda: second.data.copy_from_device_async(first.data, size)),
            ("copy", "copy kernel, 16 bytes a thread", 2.0 * size, started("copy1", blocks(1))),
            ("copy", "copy kernel, 64 bytes a thread", 2.0 * size, started("copy4", blocks(4))),
            ("fill", "fill by cudaMemsetAsync", 1.0 * size,
             lambda: second.data.memset_async(1, size)),
            ("fill", "fill kernel, 64 bytes a thread", 1.0 * size, started("fill4", blocks(4))),
            ("read", "sum kernel, 8 blocks a multiprocessor", 1.0 * size,
             started("sum4", few, sums)),
            ("read", "sum kernel, 32 blocks a multiprocessor", 1.0 * size,
             started("sum4", 4 * few, sums)),
        ]  # fmt: skip

    # --- compiling

    def phases(self, case: Case, size: int) -> dict[str, float]:
        """Seconds for planning, for the first call and for a second one, of a new executable."""
        inputs = case.inputs(size, np.dtype(case.dtype))
        arrays = [cupy.asarray(a) for a in inputs]
        specs = [fc.spec(a.shape, a.dtype) for a in inputs]
        self.wait()
        times = [time.perf_counter()]
        executable = fc.lower(case.make(np), *specs, device="cuda")
        times.append(time.perf_counter())
        for _ in range(2):
            executable.run(arrays)
            self.wait()
            times.append(time.perf_counter())
        names = ("plan", "first call", "second call")
        return {name: times[i + 1] - times[i] for i, name in enumerate(names)}

    # --- facts

    def makers(self, everyone: bool) -> tuple[dict[str, Maker], dict[str, str]]:
        """Ours and CuPy, or all that are installed, and why others are left out."""
        return gpu_rivals.makers(everyone)

    def facts(self) -> dict[str, Any]:
        """What the figures depend on."""
        name = self.properties["name"]
        return {
            "device": name.decode() if isinstance(name, bytes) else str(name),
            "multiprocessors": self.properties["multiProcessorCount"],
            "memory": f"{self.properties['totalGlobalMem'] / 2**30:.1f} GiB",
            "L2 cache": f"{self.properties['l2CacheSize'] / 2**20:.0f} MiB",
            "driver": cupy.cuda.runtime.driverGetVersion(),
            "CUDA runtime": cupy.cuda.runtime.runtimeGetVersion(),
            "CuPy": cupy.__version__,
        }

    def clocks(self) -> dict[str, Any]:
        """NVML's clocks, power, temperature and reasons for slower clocks."""
        try:
            import pynvml
        except ImportError as error:
            return {"unknown": reason(error)}
        try:
            pynvml.nvmlInit()
            bus = cupy.cuda.runtime.deviceGetPCIBusId(self.number)
            return _nvml(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(bus.encode()))
        except Exception as error:  # NVML's absence is no failure
            return {"unknown": reason(error)}


def _nvml(nvml: Any, handle: Any) -> dict[str, Any]:
    """Each figure that this device offers."""
    calls: dict[str, Callable[[], Any]] = {
        "SM MHz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "SM MHz at most": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM),
        "memory MHz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        "memory MHz at most": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM),
        "watts": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
        "degrees": lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        "reasons for slower clocks": lambda: hex(
            nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        ),
    }
    found: dict[str, Any] = {}
    for name, call in calls.items():
        try:
            found[name] = call()
        except Exception as error:  # not supported here
            found[name] = reason(error)
    return found
