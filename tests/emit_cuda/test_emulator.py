"""The emulator runs right kernels as NumPy computes and finds every planted fault."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

from fusecuda.emit_cuda.backend import prelude
from tests.emulator import EmulatorError, Module, available, build

pytestmark = pytest.mark.skipif(not available(), reason="needs GCC for C++")

KERNELS = Path(__file__).parents[1] / "emulator_kernels"
ORDERS = ("forward", "reverse", "shuffled")
RNG = np.random.default_rng(7)
i32, u32, f32, u64 = np.int32, np.uint32, np.float32, np.uint64


@pytest.fixture(scope="module")
def samples():
    return Module((KERNELS / "samples.cu").read_text())


@pytest.fixture(scope="module")
def halves():
    return Module((KERNELS / "halves.cu").read_text())


@pytest.fixture(scope="module")
def faults():
    return Module((KERNELS / "faults.cu").read_text())


@pytest.mark.parametrize("order", ORDERS)
class TestSamples:
    def test_saxpy_with_tail(self, samples, order):
        x, y = RNG.random((2, 1003), f32)
        expected = f32(3) * x + y
        report = samples.launch("saxpy", 4, 256, [f32(3), x, y, i32(1003)], order=order)
        np.testing.assert_array_equal(y, expected)
        assert report.read == [0, 4012, 4012, 0]
        assert report.written == [0, 0, 4012, 0]
        assert report.touched_read == report.read and report.touched_written == report.written
        assert (report.blocks, report.threads, report.barriers) == (4, 1024, 0)

    def test_vectors_of_a_struct(self, samples, order):
        x, y = RNG.random(1002, f32), np.zeros(1002, f32)
        report = samples.launch("scale_vec", 2, 128, [x, y, f32(2), i32(1002)], order=order)
        np.testing.assert_array_equal(y, 2 * x)
        assert report.vector_accesses == 2 * 250
        assert (report.read[0], report.written[1]) == (4008, 4008)

    def test_float4_with_hints(self, samples, order):
        x, y = RNG.random(400, f32), np.zeros(400, f32)
        report = samples.launch("copy_float4", 2, 32, [x, y, i32(100)], order=order)
        np.testing.assert_array_equal(y, x)
        assert report.vector_accesses == report.accesses == 200

    def test_row_sum(self, samples, order):
        x, y = RNG.integers(0, 99, (5, 300)).astype(float), np.zeros(5)
        report = samples.launch("row_sum", 5, 128, [x, y, i32(300)], order=order)
        np.testing.assert_array_equal(y, x.sum(1))
        assert report.read[0] == x.nbytes and report.barriers == 10

    def test_last_block_finishes(self, samples, order):
        x = RNG.integers(0, 99, 3000).astype(f32)
        out, parts, counter = np.zeros(1, f32), np.zeros(7, f32), np.zeros(1, u32)
        for _ in range(2):
            args = [x, out, parts, counter, i32(3000)]
            report = samples.launch("full_sum", 7, 64, args, order=order)
            assert out[0] == x.sum() and counter[0] == 0
        assert report.written[1:4] == [4, 28, 28]
        assert report.touched_written[3] == 4 and report.read[2] == 28

    def test_every_writer_fences(self, samples, order):
        x = RNG.integers(0, 99, (50, 96)).astype(i32)
        out, parts, counter = np.zeros(96, i32), np.zeros(6 * 96, i32), np.zeros(1, u32)
        samples.launch("column_sum", 6, 96, [x, out, parts, counter, i32(50)], order=order)
        np.testing.assert_array_equal(out, x.sum(0))

    def test_one_thread_fences_for_its_block(self, samples, order):
        x = RNG.integers(0, 99, (50, 96)).astype(i32)
        out, parts, counter = np.zeros(96, i32), np.zeros(6 * 96, i32), np.zeros(1, u32)
        samples.launch("column_max", 6, 96, [x, out, parts, counter, i32(50)], order=order)
        np.testing.assert_array_equal(out, x.max(0))
        assert counter[0] == 0

    def test_transpose(self, samples, order):
        x, y = RNG.random((37, 50), f32), np.zeros((50, 37), f32)
        args = [x, y, i32(37), i32(50)]
        report = samples.launch("transpose", (4, 3), (16, 16), args, order=order)
        np.testing.assert_array_equal(y, x.T)
        assert report.touched_read[0] == report.read[0] == x.nbytes

    def test_grid_of_two_dimensions_and_struct(self, samples, order):
        class Shape(ctypes.Structure):
            _fields_ = (
                ("rows", ctypes.c_int),
                ("columns", ctypes.c_int),
                ("scale", ctypes.c_float),
            )

        y = np.zeros((9, 21), i32)
        samples.launch("plane", (3, 3), (8, 4), [y, Shape(9, 21, 100.0)], order=order)
        np.testing.assert_array_equal(y, 100 * np.arange(9)[:, None] + np.arange(21))

    def test_in_place(self, samples, order):
        x = np.arange(100, dtype=np.int64)
        report = samples.launch("square_in_place", 4, 32, [x, x, u64(100)], order=order)
        np.testing.assert_array_equal(x, np.arange(100) ** 2)
        assert (report.read, report.written) == ([800, 0, 0], [0, 800, 0])

    def test_dynamic_shared_memory(self, samples, order):
        x, y = RNG.integers(0, 255, 1000).astype(np.uint8), np.zeros(1000, np.uint8)
        args = [x, y, i32(1000)]
        samples.launch("reverse_dynamic", 1, 64, args, shared=1000, order=order)
        np.testing.assert_array_equal(y, x[::-1])

    def test_early_return(self, samples, order):
        x, y = np.arange(64, dtype=i32), np.zeros(64, i32)
        samples.launch("early_return", 1, 64, [x, y, i32(40)], order=order)
        np.testing.assert_array_equal(y, np.r_[np.arange(40)[::-1], np.zeros(24)])

    def test_negative_stride(self, samples, order):
        x, y = RNG.random(50, f32)[::-1], np.zeros(50, f32)
        samples.launch("smooth", 1, 64, [x, y, i32(-1), i32(50)], order=order)
        p = np.pad(x, 1, "edge")
        np.testing.assert_array_equal(y, p[:-2] / 4 + p[1:-1] / 2 + p[2:] / 4)

    def test_histogram(self, samples, order):
        x, bins = RNG.integers(0, 255, 5000).astype(np.uint8), np.zeros(256, u32)
        samples.launch("histogram", 3, 256, [x, bins, i32(5000)], order=order)
        np.testing.assert_array_equal(bins, np.bincount(x, minlength=256))

    def test_groups_and_votes(self, samples, order):
        x = RNG.integers(0, 99, 64).astype(i32)
        y, votes = np.zeros((2, 64), i32)
        samples.launch("groups", 1, 64, [x, y, votes], order=order)
        np.testing.assert_array_equal(y, x.reshape(8, 8).max(1).repeat(8))
        odd, some = (x & 1).reshape(2, 32).sum(1), (x > 90).reshape(2, 32).any(1)
        expected = odd + 100 * some + 1000 + 10000 * (x & 1).sum()
        np.testing.assert_array_equal(votes, expected.repeat(32))

    def test_functions(self, samples, order):
        math = pytest.importorskip("scipy.special")
        x, d = RNG.normal(size=40).astype(f32), RNG.normal(size=40)
        x[3] = np.nan
        y, e = np.zeros(40, f32), np.zeros(40)
        samples.launch("functions", 1, 64, [x, d, y, e, i32(40)], order=order)
        expected = np.where(np.isnan(x), -1, 2 * np.sqrt(np.abs(x)) + math.erf(x))
        np.testing.assert_allclose(y, expected, rtol=1e-6)
        bits = [32 - int(i).bit_length() for i in range(40)]
        expected = math.gammaln(np.abs(d) + 1) + d + 3 + bits + np.sin(x[0].astype(float))
        np.testing.assert_allclose(e, expected, rtol=1e-12, atol=1e-7)  # a sine in float

    def test_halves(self, halves, order):
        x, y = RNG.normal(size=33).astype(np.float16), np.zeros(33, np.float16)
        halves.launch("halves", 1, 64, [x, y, i32(33)], order=order)
        np.testing.assert_array_equal(y, (x.astype(f32) * 3).astype(np.float16))

    def test_chain_of_blocks(self, samples, order):
        x, y = RNG.integers(0, 99, 20).astype(i32), np.zeros(20, i32)
        sums, flags, tickets = np.zeros(20, i32), np.zeros(20, i32), np.zeros(1, i32)
        samples.launch("chain", 20, 32, [x, y, sums, flags, tickets], order=order)
        np.testing.assert_array_equal(y, x.cumsum())


def f(n):
    return np.zeros(n, f32)


def n(size):
    return np.zeros(size, i32)


def sealed(size):
    array = np.zeros(size, f32)
    array.flags.writeable = False
    return array


def sums():
    return [f(4), f(1), f(4), np.zeros(1, u32)]


FAULTS = {
    "behind the end": (
        "shifted", 2, 64, lambda: [f(100), f(100), i32(100), i32(1)],
        r"out of bounds: read of 4 bytes .* near argument 0 \(x\), byte offset 400 of 400 bytes",
    ),
    "before the start": (
        "shifted", 2, 64, lambda: [f(120)[10:110], f(100), i32(100), i32(-1)],
        r"out of bounds: read of 4 bytes .* near argument 0 \(x\), byte offset -4 of 400 bytes",
    ),
    "no tail check": (
        "no_tail", 2, 64, lambda: [f(200), f(100)], "out of bounds: write of 4 bytes"
    ),
    "null": ("no_tail", 1, 64, lambda: [None, f(64)], "out of bounds: read of 4 bytes"),
    "misaligned read": (
        "vector_copy", 1, 8, lambda: [f(40)[1:33], f(32)],
        r"misaligned 16-byte read of argument 0 \(x\)",
    ),
    "misaligned write": (
        "vector_copy", 1, 8, lambda: [f(32), f(40)[2:34]],
        r"misaligned 16-byte write of argument 1 \(y\)",
    ),
    "vector behind the end": (
        "vector_copy", 1, 8, lambda: [f(31), f(32)], "read of 16 bytes outside all arguments"
    ),
    "read-only": (
        "no_tail", 1, 64, lambda: [f(64), sealed(64)],
        r"write to read-only argument 1 \(y\), byte offset \d+",
    ),
    "no barrier": (
        "no_barrier", 1, 64, lambda: [f(64), f(64)],
        "read of shared memory that no thread|race on shared memory: .* no barrier in between",
    ),
    "no second barrier": (
        "no_second_barrier", 1, 64, lambda: [f(64), f(64)],
        "race on shared memory: .* no barrier in between",
    ),
    "shuffle orders nothing": (
        "shuffle_for_barrier", 1, 32, lambda: [f(32)], "race on shared memory: read of what"
    ),
    "__syncwarp orders a warp": (
        "syncwarp_for_barrier", 1, 64, lambda: [f(64)],
        "read of shared memory that no thread|race on shared memory: read of what",
    ),
    "unwritten": (
        "unwritten", 1, 64, lambda: [f(64), i32(63)],
        "read of shared memory that no thread of the block has written",
    ),
    "unwritten dynamic": (
        "unwritten_dynamic", 1, 64, lambda: [np.zeros(64, np.uint8)],
        "read of dynamic shared memory, byte offset 0 that no thread of the block has written",
    ),
    "outside dynamic": (
        "outside_dynamic", 1, 33, lambda: [n(33)],
        "out of bounds: write of 4 bytes at byte 128 of 128 of dynamic shared memory",
    ),
    "outside shared": (
        "outside_shared", 1, 1, lambda: [f(1), i32(32)], "index outside a local or shared array"
    ),
    "wrong mask": (
        "wrong_mask", 1, 32, lambda: [n(32)],
        "__shfl_down_sync with mask 0xffffffff names lane 16, which waits at __syncthreads",
    ),
    "caller not in mask": (
        "mask_of_others", 1, 32, lambda: [n(32)],
        r"a vote: mask 0x0000ffff does not name its caller, lane (16|31)",
    ),
    "returned lane in mask": (
        "mask_of_returned", 1, 32, lambda: [n(32)], "names lane 0, which has returned"
    ),
    "missing lane in mask": (
        "mask_of_returned", 1, 20, lambda: [n(32)], "which has returned|which does not exist"
    ),
    "lane outside mask": (
        "lane_outside_mask", 1, 32, lambda: [n(32)],
        "__shfl_xor_sync reads lane 8, which its mask 0x000000ff does not name",
    ),
    "divergent barrier": (
        "two_barriers", 1, 64, lambda: [n(64)],
        "divergent barrier: thread 0 waits at __syncthreads .*, but thread 32 waits at",
    ),
    "barrier never reached": (
        "barrier_and_shuffle", 1, 64, lambda: [n(64)],
        "__shfl_sync with mask 0xffffffff names lane 0, which waits at __syncthreads",
    ),
    "race of threads": (
        "neighbour", 1, 32, lambda: [f(32)], r"race on argument 0 \(y\), byte offset \d+ "
    ),
    "race of blocks": (
        "same_word", 2, 1, lambda: [n(1)],
        r"race .* write of what block \([01], 0, 0\), thread .* no __threadfence and atomic",
    ),
    "no fence": (
        "no_fence", 4, 1, sums, r"race on argument 2 \(parts\).* no __threadfence and atomic"
    ),
    "fence too early": (
        "fence_too_early", 4, 1, sums, r"race on argument 2 \(parts\).* no __threadfence"
    ),
    "fence of the block": (
        "block_fence", 4, 1, sums, r"race on argument 2 \(parts\).* no __threadfence and atomic"
    ),
    "fence of one thread": (
        "fence_of_one", 4, 32, lambda: [f(32), f(1), f(128), np.zeros(1, u32)],
        r"race on argument 2 \(parts\).* no __threadfence and atomic",
    ),
    "seen by one thread": (
        "seen_by_one", 4, 32, lambda: [f(4), f(4), f(4), np.zeros(1, u32)],
        r"race on argument 2 \(parts\)",
    ),
    "plain and atomic": ("plain_counter", 1, 32, lambda: [n(1)], r"race on argument 0 \(y\)"),
    "waits for another block": ("wait_for_next", 2, 1, lambda: [n(2)], "deadlock: a thread waits"),
    "division": ("divide", 1, 1, lambda: [n(2), n(1)], "integer division by zero"),
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named(faults, name, order):
    kernel, grid, block, args, pattern = FAULTS[name]
    shared = 128 if "dynamic" in name else 0
    with pytest.raises(EmulatorError) as error:
        faults.launch(kernel, grid, block, args(), shared=shared, order=order)
    assert re.search(pattern, str(error.value))
    assert f"in kernel {kernel}, block (" in str(error.value)


def test_launch_goes_on_after_a_fault(faults, samples):
    for _ in range(3):
        with pytest.raises(EmulatorError, match="race on argument"):
            faults.launch("neighbour", 1, 32, [f(32)])
    x, y = np.arange(64, dtype=i32), n(64)
    samples.launch("early_return", 1, 64, [x, y, i32(64)])
    np.testing.assert_array_equal(y, x[::-1])


def test_fault_shows_its_line(faults):
    with pytest.raises(EmulatorError, match=r">\s+\d+ \|     if \(i < n\) y\[i\] = x\[i \+ by\];"):
        faults.launch("shifted", 2, 64, [f(100), f(100), i32(100), i32(1)])


def test_compile_error_marks_the_line():
    with pytest.raises(EmulatorError, match=r"(?s)'z' was not declared.*>    2 |   y\[0\] = z;"):
        Module('extern "C" __global__ void k(int *y) {\n  y[0] = z;\n}\n')


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ([f(4), f(4), i32(4)], "takes 4 arguments, not 3"),
        ([f(4), f(4), np.int64(4), i32(0)], "argument 2 (n) of shifted is a signed integer of 4"),
        ([f(4), f(4), u32(4), i32(0)], "not uint32"),
        ([f(4), f(4), 4, i32(0)], "give a NumPy or ctypes scalar, not int"),
        ([f32(4), f(4), i32(4), i32(0)], "is a pointer"),
    ],
)
def test_arguments_are_of_their_types(faults, args, text):
    with pytest.raises(EmulatorError) as error:
        faults.launch("shifted", 1, 32, args)
    assert text in str(error.value)


def test_launch_bounds_hold(samples):
    with pytest.raises(EmulatorError, match="256 threads \\(at most 128\\)"):
        samples.launch("scale_vec", 1, 256, [f(4), f(4), f32(1), i32(4)])
    with pytest.raises(EmulatorError, match="block"):
        samples.launch("saxpy", 1, 2048, [f32(1), f(4), f(4), i32(4)])


def test_displaced_pointer(samples):
    x, y = np.arange(50, dtype=f32), f(50)
    args = [(x, 4 * 49), y, i32(-1), i32(50)]
    samples.launch("smooth", 1, 64, args)
    p = np.pad(x[::-1], 1, "edge")
    np.testing.assert_array_equal(y, p[:-2] / 4 + p[1:-1] / 2 + p[2:] / 4)


def test_empty_array(samples):
    report = samples.launch("saxpy", 1, 32, [f32(1), f(0), f(0), i32(0)])
    assert report.read == [0, 0, 0, 0]


@pytest.mark.parametrize("file", ["samples.cu", "faults.cu"])
def test_kernels_are_cuda(file):
    nvrtc = pytest.importorskip("cupy_backends.cuda.libs.nvrtc")
    program = nvrtc.createProgram((KERNELS / file).read_text(), file, [], [])
    options = ["--std=c++17", "--gpu-architecture=compute_90"]
    try:
        nvrtc.compileProgram(program, options)
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))


CLUSTERS = """
extern "C" __global__ void FC_CLUSTER(4) __launch_bounds__(64) totals(float *x, float *y)
{
    extern __shared__ float room[];
    __shared__ float own;
    const int rank = blockIdx.x % 4;
    room[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        own = 0;
        for (int i = 0; i < 64; ++i) own += room[i];
    }
    fc_meet<4>();
    float total = 0;
    for (int i = 0; i < 4; ++i) total += *fc_of_rank(&own, i);
    const float first = *fc_of_rank(room + threadIdx.x, (rank + 1) % 4);
    CLOSING
    y[blockIdx.x * 64 + threadIdx.x] = total + first;
}
"""


def clustered(closing: str, change: tuple[str, str] = ("", "")) -> None:
    """Run the kernel of CLUSTERS, ended by ``closing``, and compare what it gives."""
    text = CLUSTERS.replace("CLOSING", closing).replace(*change)
    module = Module(prelude() + text)
    for order in ORDERS:
        x, y = RNG.integers(0, 9, 512).astype(f32), np.zeros(512, f32)
        module.launch("totals", 8, 64, [x, y], shared=256, order=order)
        blocks = x.reshape(2, 4, 64)
        want = blocks.sum(axis=(1, 2))[:, None, None] + np.roll(blocks, -1, axis=1)
        np.testing.assert_array_equal(y, want.reshape(-1))


def test_clusters():
    clustered("fc_meet<4>();")
    clustered("fc_cluster_arrive(); const float kept = total; total = kept; fc_cluster_wait();")


@pytest.mark.parametrize(
    ("closing", "change", "fault"),
    [
        ("", ("", ""), "block that has ended"),
        ("own = total; fc_meet<4>();", ("", ""), "race"),
        ("fc_meet<4>();", ("fc_meet<4>();\n    f", "__syncthreads();\n    f"), "race|written"),
        ("fc_meet<4>();", ("rank + 1) % 4", "rank + 1)"), "block 4 of a cluster of 4"),
        ("if (rank) fc_meet<4>();", ("", ""), "ended"),
        ("fc_cluster_arrive(); fc_meet<4>();", ("", ""), "arrives twice"),
        ("fc_cluster_wait();", ("", ""), "has not arrived"),
        ("if (rank) fc_meet<4>(); else fc_cluster_wait();", ("", ""), "not arrived"),
        ("fc_meet<4>();", ("&own, i)", "x, i)"), "only shared memory"),
    ],
)  # fmt: skip
def test_faults_of_clusters(closing, change, fault):
    with pytest.raises(EmulatorError, match=fault):
        clustered(closing, change)


def test_a_grid_is_of_whole_clusters():
    module = Module(prelude() + CLUSTERS.replace("CLOSING", "fc_meet<4>();"))
    with pytest.raises(EmulatorError, match="in clusters of 4"):
        module.launch("totals", 6, 64, [np.zeros(512, f32)] * 2, shared=256)


READ_ONLY = """
extern "C" __global__ void shifted(const float *RESTRICT x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2;
}
"""


def test_what_is_read_only_is_not_written():
    """A pointer that is const and restrict may be read by a cache that knows nothing of writes."""
    for restrict, match in (("", None), ("__restrict__", "restrict.*byte 0 by argument 1")):
        module = Module(READ_ONLY.replace("RESTRICT", restrict))
        x = np.ones(64, f32)
        module.launch("shifted", 1, 64, [x[:32], x[32:], i32(32)])
        if match is None:
            module.launch("shifted", 1, 64, [x, x, i32(64)])
            continue
        with pytest.raises(EmulatorError, match=match):
            module.launch("shifted", 1, 64, [x, x, i32(64)])


def test_a_text_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a process has compiled serves others; of what is refused nothing is left."""
    build._header(), build._runtime()
    monkeypatch.setattr(build, "_folder", lambda: tmp_path)
    source = 'extern "C" __global__ void once(int *x) { *x = 7; }'
    library = build.compile_library(source)
    with pytest.raises(EmulatorError, match="nothing"):
        build.compile_library(source.replace("7", "nothing"))
    assert [path.name for path in tmp_path.iterdir()] == [library.name]
    monkeypatch.setattr(build, "_run", None)
    assert build.compile_library(source) == library
