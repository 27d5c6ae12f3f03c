"""Every kernel compiles for every architecture; what the compiler says of registers is bounded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda import nvrtc
from fusecuda.emit_cuda.choice import BOTH
from fusecuda.emit_cuda.launch import CudaBound
from fusecuda.emit_cuda.packs import PACK_BYTES
from fusecuda.emit_cuda.source import CudaSource
from fusecuda.errors import CompilerError
from tests import emulated, kernel_estimates
from tests.codegen.test_compilations import PROGRAMS as SHAPED
from tests.codegen.test_compilations import cases as shaped_arguments
from tests.disassembly import accesses, disassembler
from tests.emit_cuda.test_cuda_shapes import on_device_of
from tests.fusion.test_random_dags import BATCH, cases
from tests.machine_code import read
from tests.marks import at_length, chosen, few, one_in
from tests.programs import PROGRAMS
from tests.random_graphs import merge

pytestmark = pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
_FACTS = re.compile(
    r"entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores.*?"
    r"Used (\d+) registers",
    re.DOTALL,
)


def facts(sources: Sequence[CudaSource], arch: str) -> dict[str, tuple[int, int, int]]:
    """For each kernel: bytes of stack, bytes spilled, registers of a thread."""
    flags = (*nvrtc.options(arch), "--ptxas-options=-v")
    _, log = nvrtc.compile_text(nvrtc.unit(sources), flags)
    return {name: (int(a), int(b), int(c)) for name, a, b, c in _FACTS.findall(log)}


def sources_of(function: Callable[..., Any], *args: Any) -> list[CudaSource]:
    """The CUDA sources that a function launches."""
    executable = fc.lower(function, *args)
    assembly, sources = emulated.assembled(executable.graph, executable.strides)
    steps = zip(assembly.steps, sources, strict=True)
    return [s for step, s in steps if s is not None and getattr(step, "launched", False)]


@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, ("sm_90",)))
def test_named_programs_neither_spill_nor_use_local_memory(arch: str) -> None:
    """All named programs in one module, at two sizes: short rows and long ones."""
    rng = np.random.default_rng(0)
    found = [
        source
        for program in PROGRAMS
        for n, m in ((64, 96), (48, 6000))
        for source in sources_of(program.function, *program.arguments(rng, n, m))
    ]
    measured = facts(found, arch)
    assert set(measured) == {s.symbol for s in found}
    for name, (stack, spilled, registers) in measured.items():
        assert (stack, spilled) == (0, 0), name
        assert registers <= 128, name


@pytest.mark.skipif(disassembler() is None, reason="needs nvdisasm")
@pytest.mark.parametrize(
    ("dtype", "arch"),
    [("f4", "sm_90"), ("f8", "sm_90"), ("f4", "sm_120")],
)
@pytest.mark.slow
def test_packs_are_128_bits_wide(dtype: str, arch: str) -> None:
    """Where a kernel moves packs, the machine code has 16-byte accesses, and never local memory."""
    rng = np.random.default_rng(0)
    packed = 0
    for program in PROGRAMS:
        for n, m in ((48, 6000),) if dtype == "f4" else ((64, 96), (48, 6000)):
            arguments = program.arguments(rng, n, m)
            args = [a.astype(dtype) if a.dtype.kind == "f" else a for a in arguments]
            executable = fc.lower(program.function, *args)
            assembly, sources = emulated.assembled(executable.graph, executable.strides)
            for step, source in zip(assembly.steps, sources, strict=True):
                if source is None:
                    continue
                assert isinstance(step, CudaBound)
                found = accesses([source], arch)
                assert not any(name.startswith(("LDL", "STL")) for name in found), source.symbol
                if step.variant.packed:
                    packed += 1
                    wide = {name.split(".")[0] for name in found if ".128" in name}
                    assert wide >= _packed_kinds(step), (source.symbol, found)
    assert packed >= 7


# What is below 80 % of the bandwidth by the estimate, and how far it has come.
SLOW = {
    "column mean and deviation": 0.7, "heat in place, 3-D": 0.75,
}  # fmt: skip
# What hands packs on between lanes, where rows begin anywhere, has more to do; so have sums that
# run down columns on sm_80, by half an instruction.
BUSY = {"softmax of 1001": 52, "running sums of columns": 36}
# KB under way: their columns fill a processor's shared memory.
FEW = {"batch norm": 15, "column mean and deviation": 15, "batch norm of 1000": 15}
# Where there are no clusters such columns are passed over twice.
SLOW_WITHOUT_CLUSTERS = {**SLOW, "batch norm": 0.45, "column mean and deviation": 0.45}
# Of each skeleton: at least so many KB under way on a processor, at most so many instructions for
# an element. A processor needs 15 KB.
KINDS = {
    "loop": (30, 40),
    "tiles": (96, 32),
    "short rows": (30, 34),
    "long rows": (30, 32),
    "columns": (30, 32),
    "late stores": (64, 56),
    "long scans": (64, 58),
}


@pytest.mark.skipif(disassembler() is None, reason="needs nvdisasm")
@pytest.mark.slow  # as is the table of the same kernels in test_docs_cuda.py
@pytest.mark.parametrize("arch", ["sm_90", "sm_80"])
def test_kernels_keep_memory_busy(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each class: enough bytes under way, few registers, few instructions (docs/cuda.md)."""
    slow = SLOW
    if arch == "sm_80":
        on_device_of(monkeypatch, cluster=1)
        slow = SLOW_WITHOUT_CLUSTERS
    cases = kernel_estimates.CASES
    found = {name: kernel_estimates.launches(f, *a) for name, (f, a) in cases.items()}
    codes = read([one.source for many in found.values() for one in many], arch)
    for name, many in found.items():
        for one in many:
            e = kernel_estimates.estimate(one, codes[one.source.symbol])
            assert e.share >= slow.get(name, 0.8), (name, e)
            alone = one.bound.variant.kept == BOTH  # no other block is on its processor
            assert e.registers <= (128 if alone else 96), (name, e)
            least, most = KINDS[one.bound.variant.skeleton]
            assert e.in_flight >= FEW.get(name, least) << 10, (name, e)
            assert e.instructions <= BUSY.get(name, most), (name, e)


@pytest.mark.skipif(disassembler() is None, reason="needs nvdisasm")
def test_what_machine_code_says_of_a_sum() -> None:
    """Four loads of 16 bytes on the way through a chunk; the tail is another way."""
    (one,) = kernel_estimates.launches(np.sum, fc.spec((1 << 24,), np.float32))
    code = read([one.source], "sm_90")[one.source.symbol]
    (chunk,) = [code.stretch(*loop) for loop in code.loops(0, code.meeting)]
    assert (chunk.loads, chunk.loaded, chunk.widest, chunk.stored) == (4, 64, 16, 0)
    assert 1 <= chunk.waits <= 4
    assert code.stretch(0, code.meeting).fences >= 1


@pytest.mark.parametrize("dtype", chosen(("f4", "f8"), ("f4",)))
@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, ("sm_90",)))
def test_columns_with_many_reductions_do_not_spill(arch: str, dtype: str) -> None:
    """The bound that leaves a thread of columns registers is far from what it needs."""

    def many(x: Any) -> Any:
        return x.sum(axis=0), x.max(axis=0), x.argmin(axis=0), (x * x).sum(axis=0)

    def standard(x: Any) -> Any:
        return (x - x.mean(axis=0)) / x.std(axis=0)

    wide, tall = (5000, 3000), (90_000, 1600)
    found = []
    for shape in (wide, tall):
        x = fc.spec(shape, np.dtype(dtype))
        if shape == wide:
            found += sources_of(many, x)
        found += sources_of(standard, x)
    for name, (stack, spilled, _) in facts(found, arch).items():
        assert (stack, spilled) == (0, 0), name


KEPT = (("f4", 65_536), ("f4", 500_000), ("f8", 65_536), ("f2", 90_001))


@at_length
@pytest.mark.parametrize("kept", few(KEPT, 1), ids=lambda kept: f"{kept[0]}-{kept[1]}")
@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, ("sm_90",)))
def test_what_clusters_keep_does_not_spill(arch: str, kept: tuple[str, int]) -> None:
    """Long rows in shared memory, and beside it in registers; long columns."""
    dtype, length = kept

    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def loss(x: Any) -> Any:
        most = x.max(axis=1)
        return (np.log(np.exp(x - most[:, None]).sum(axis=1)) + most).mean()

    def standard(x: Any) -> Any:
        d = x - x.mean(axis=0)
        return d / np.sqrt((d * d).mean(axis=0) + 1e-5)

    x = fc.spec((4000, length), np.dtype(dtype))
    found = sources_of(softmax, x) + sources_of(loss, x)
    if dtype != "f2":
        rows = {"f4": 9000, "f8": 4000}[dtype]
        found += sources_of(standard, fc.spec((rows, 8192), np.dtype(dtype)))
    found = list({s.symbol: s for s in found if "FC_CLUSTER" in s.text}.values())
    assert len(found) >= (2 if dtype == "f2" else 3)
    for name, (stack, spilled, registers) in facts(found, arch).items():
        assert (stack, spilled) == (0, 0), name
        assert registers <= 128, name
    ptx = nvrtc.cubin(found, "compute_90").decode()
    assert ptx.count(".reqnctapercluster") == len(found)
    for entry in ptx.split(".visible .entry ")[1:]:
        assert "mapa" in entry and "barrier.cluster.arrive" in entry


def _packed_kinds(step: CudaBound) -> set[str]:
    """Loads and stores of which a packed kernel claims 16 bytes at a time."""
    assert step.variant.unit is not None
    forms = zip(step.lowered.ir.forms, step.variant.unit, strict=True)
    sizes = {form: form.dtype.itemsize for form, unit in forms if unit and form.dtype is not None}
    wide = [form for form, size in sizes.items() if step.variant.width * size >= PACK_BYTES]
    return {"STG" if form.store else "LDG" for form in wide}


BATCHES = ((0, 4), *((first, BATCH) for first in range(0, 100, BATCH)))


@pytest.mark.parametrize("batch", few(BATCHES, 1), ids=lambda batch: f"{batch[1]} from {batch[0]}")
def test_random_graphs_compile(batch: tuple[int, int]) -> None:
    """Kernels of random graphs, one architecture after the other."""
    first, count = batch
    case = merge(cases(first, exact=first % 40 == 0, failing=False)[:count])
    _, sources = emulated.assembled(case.graph, case.strides)
    wanted = [s for s in sources if s is not None]
    assert nvrtc.cubin(wanted, ARCHITECTURES[first // BATCH % len(ARCHITECTURES)])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1100, BATCH))
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_hundreds_of_random_graphs_compile(first: int, arch: str) -> None:
    """As above, for every architecture."""
    case = merge(cases(first, exact=first % 40 == 0, failing=False))
    _, sources = emulated.assembled(case.graph, case.strides)
    assert nvrtc.cubin([s for s in sources if s is not None], arch)


@pytest.mark.parametrize("program", SHAPED, ids=lambda p: p.__name__)
@one_in(6)
def test_a_hundred_shapes_have_few_texts(program: Callable[..., Any]) -> None:
    """One program in a hundred shapes and layouts needs at most 12 runs of the compiler.

    One more is for arguments that lie by columns, results of which do so, too.
    """
    texts = set()
    for x, gain, bias in shaped_arguments():
        if program.__name__ != "softmax" or x.shape[1]:
            texts.add(nvrtc.unit(sources_of(program, x, gain, bias)))
    texts.discard(nvrtc.unit([]))
    assert len(texts) <= 13


def test_emitted_text_is_complete() -> None:
    """`emit` gives CUDA C on a machine without a GPU; an architecture has it compiled."""
    x = np.ones((8, 100), np.float32)
    executable = fc.lower(lambda a: (a * 2).sum(axis=1), x)
    (text,) = executable.emit("cuda", arch="sm_90")
    assert '#include "fusecuda.cuh"' in text
    assert "__global__" in text
    with pytest.raises(ValueError, match="target"):
        executable.emit("opencl")


def test_a_refused_text_is_shown() -> None:
    """The error names the line and shows it."""
    bad = CudaSource("f", 'extern "C" __global__ void f(int *a) { a[0] = nothing; }', ())
    with pytest.raises(CompilerError, match=r"> +\d+ \|.*nothing"):
        nvrtc.cubin([bad], "sm_90")


def test_a_missing_library_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy's binding is there wherever CuPy is, and looks for NVRTC when it is first called."""

    def missing() -> None:
        raise RuntimeError("libnvrtc.so.13 was not found")

    monkeypatch.setattr(nvrtc, "_binding", lambda: SimpleNamespace(getVersion=missing))
    nvrtc.version.cache_clear()
    try:
        assert not nvrtc.available()
        with pytest.raises(CompilerError, match="libnvrtc"):
            nvrtc.version()
    finally:
        nvrtc.version.cache_clear()


def test_a_device_newer_than_the_compiler_gets_ptx() -> None:
    """Of the newest virtual architecture before it; the driver does the rest."""
    assert nvrtc.architecture_for("90") == "sm_90"
    newest = nvrtc.architecture_for("999")
    assert newest.startswith("compute_")
    assert nvrtc.architecture_for("76") in ("sm_76", "compute_75")
    code = nvrtc.cubin(sources_of(lambda a: a + a, np.ones(9)), newest)
    assert f".target {newest.replace('compute', 'sm')}".encode() in code
    with pytest.raises(CompilerError, match="10"):
        nvrtc.architecture_for("10")


def test_a_second_module_comes_from_the_cache() -> None:
    """NVRTC runs once for one text."""
    x = np.ones(77)
    sources = sources_of(lambda a: a + a, x)
    nvrtc.cubin(sources, "sm_80")
    before = fc.compile_count()
    nvrtc.cubin(sources, "sm_80")
    assert fc.compile_count() == before


def test_several_plans_are_compiled_at_a_time() -> None:
    """Begun in threads, each once; who asks for the code waits for it."""
    plans = [sources_of(f, np.ones(77)) for f in (np.sqrt, np.floor, np.sum, np.exp, np.argmax)]
    texts = {nvrtc.unit(p) for p in plans}
    for plan in plans:
        nvrtc.start(plan, "sm_86")
    codes = [nvrtc.cubin(plan, "sm_86") for plan in plans]
    assert all(codes) and len(set(codes)) == len(texts)
    before = fc.compile_count()
    assert [nvrtc.cubin(plan, "sm_86") for plan in plans] == codes
    assert fc.compile_count() == before
    assert not nvrtc._jobs


def test_a_text_refused_in_a_thread_is_reported_to_who_asks() -> None:
    """The same error, with the line marked."""
    bad = CudaSource("g", 'extern "C" __global__ void g(int *a) { a[0] = nobody; }', ())
    nvrtc.start([bad], "sm_90")
    with pytest.raises(CompilerError, match=r"> +\d+ \|.*nobody"):
        nvrtc.cubin([bad], "sm_90")


def test_a_plan_for_a_device_is_begun_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as its sources are there, with those that are launched; not without a device."""
    from fusecuda.emit_cuda import backend, cupy_device

    begun: list[list[str]] = []

    class Device:
        def begin(self, sources: Sequence[CudaSource]) -> None:
            begun.append([s.symbol for s in sources])

    x = np.ones(91)
    fc.lower(lambda a: a * 3 - a.sum(), x, device="cuda")
    assert not begun
    monkeypatch.setattr(backend, "has_device", lambda: True)
    monkeypatch.setattr(cupy_device, "current_device", Device)
    executable = fc.lower(lambda a: a * 3 + a.max(), x, device="cuda")
    assert begun == [[s.symbol for s in executable.sources if s]]


def test_contraction_is_the_users_choice() -> None:
    """Products and sums are rounded one by one unless ``contract=True`` frees them."""
    x = np.ones(100, np.float32)
    (exact,) = fc.lower(lambda a: a * 2 + a, x).emit("cuda")
    (free,) = fc.lower(lambda a: a * 2 + a, x, contract=True).emit("cuda")
    assert "__fmul_rn" in exact
    assert "__fadd_rn" in exact
    assert "_rn" not in free
    assert "v0 * v1" in free or "v1 * v0" in free
