"""CUDA C: an executable's kernels, and a host function that launches them on a stream."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from ...capture.record.leaf import Leaf
from ...codegen.packing import NUMBER_BYTES
from ...emit_cuda.backend import prelude
from ...emit_cuda.device import Prepared
from ...emit_cuda.program import CudaProgram
from ...emit_cuda.source import CudaSource
from ...engine import Executable
from ...errors import NotFusedError
from ...graph.dtypes import ELEMENT_TYPES
from .numbers import POWER, Statements, float_text
from .signature import Codes, Signature, header, message_function, wrapped

_PACK = 16  # bytes, at a multiple of which arrays begin
_BLOCK = 256  # and the workspace
_CUDA = -100  # less the number of an error of CUDA's
NEGATIVE = {
    -1: "the workspace is NULL",
    -2: f"an array does not start at a multiple of {_PACK} bytes, or the workspace of {_BLOCK}",
}
_FLOATS = {"float": "=f", "double": "=d"}
_COMPLEX = {"fc_c64": "=2f", "fc_c128": "=2d"}


class _NoDevice:
    """Takes kernels, and runs none."""

    def __init__(self) -> None:
        self.sources: list[CudaSource] = []

    def load(self, sources: Sequence[CudaSource]) -> dict[str, Any]:
        """None is loaded."""
        self.sources = list(sources)
        return {}

    def constant(self, value: Any) -> Any:
        """The value itself."""
        return value


class CudaText:
    """The CUDA C texts of ``executable``, whose parameters stand for ``leaves``."""

    def __init__(self, executable: Executable, leaves: Sequence[Leaf], own: Signature) -> None:
        self.executable, self.leaves, self.own = executable, leaves, own
        self.codes = Codes()
        self.numbers = Statements(own.numbers, self.codes)
        device: Any = _NoDevice()
        memory, assembly = executable.memory, executable.assembly
        program = CudaProgram(assembly, executable.sources, memory, device)
        self.sources: dict[str, CudaSource] = {s.symbol: s for s in device.sources}
        self.prepared: list[Prepared] = [
            program.prepared[n] for _, _, n in memory.commands if n in program.prepared
        ]
        self.counters_at = -(-memory.block_bytes // _BLOCK) * _BLOCK
        words = sum(bound.counters for p in self.prepared for bound in p.bounds)
        self.counter_bytes = 4 * words
        self._bases = self._named_bases()
        self._launches = [line for p in self.prepared for line in self._launch(p)]

    @property
    def workspace_bytes(self) -> int:
        """The size of the workspace: temporaries, and counters behind them."""
        return self.counters_at + self.counter_bytes

    def _named_bases(self) -> list[str]:
        """The expressions of what pointers count from: arrays, temporaries, counters."""
        buffers = self.executable.assembly.buffers
        arguments = {p.argument: p.name for p in self.own.parameters if p.argument is not None}
        outputs = {p.output: p.name for p in self.own.parameters if p.output is not None}
        found = [arguments[b.argument] for b in buffers if b.argument is not None]
        found += [outputs[b.output] for b in buffers if b.output is not None]
        return [*found, "fc_block", "fc_counters"]

    def _launch(self, prepared: Prepared) -> list[str]:
        """The statements that launch one kernel."""
        source, bound = self.sources[prepared.symbol], prepared.bounds[0]
        dynamic = {at // NUMBER_BYTES: number for at, _, number in prepared.dynamic}
        lines = ["{"]
        for i, (name, ctype) in enumerate(prepared.parameters):
            if "*" in ctype:
                base, offset = prepared.pointers[i]
                start = f"(const char *){self._bases[base]} + {offset}"
                lines.append(f"    const void *fc_{name} = {start};")
            else:
                text = self._number(dynamic[i]) if i in dynamic else _constant(prepared, i, ctype)
                lines.append(f"    {ctype} fc_{name} = {text};")
        listed = [f"(void *)&fc_{name}" for name, _ in prepared.parameters]
        args = wrapped("        void *fc_args[] = {", listed, "};").strip()
        lines += [
            f"    {args}".replace("\n    ", "\n"),
            f"    fc_kernel = (const void *){source.symbol};",
        ]
        if bound.shared:
            most = "cudaFuncAttributeMaxDynamicSharedMemorySize"
            lines.append(f"    fc_error = cudaFuncSetAttribute(fc_kernel, {most}, {bound.shared});")
            lines.append(f"    if (fc_error) return {_CUDA} - (int)fc_error;")
        x, y = bound.block
        shape = f"dim3({prepared.grid}), dim3({x}, {y}), fc_args, {bound.shared}, stream"
        lines.append(f"    fc_error = cudaLaunchKernel(fc_kernel, {shape});")
        return [*lines, f"    if (fc_error) return {_CUDA} - (int)fc_error;", "}"]

    def _number(self, number: int) -> str:
        """The expression of a number of the caller's."""
        dtype = self.executable.graph.parameters[number].dtype
        if ELEMENT_TYPES[dtype].computes:
            raise NotFusedError(f"a number becomes a {dtype}: give an array of no axes")
        return self.numbers.cast(self.leaves[number].array, dtype)

    def kernels(self) -> str:
        """The text of all kernels, which only their file knows."""
        text = "\n".join(source.text for source in self.sources.values())
        return text.replace('extern "C" __global__', "static __global__")

    def function(self) -> str:
        """The host's text."""
        name = self.own.name
        lines = [f"size_t {name}_workspace_bytes(void) {{ return {self.workspace_bytes}; }}", ""]
        if self.numbers.has_power:
            lines.append(POWER)
        lines += [self._declared(), "{", *(f"    {line}" for line in self._body()), "}", ""]
        told = message_function(name, self.codes, NEGATIVE)
        cuda = f"if (code <= {_CUDA}) return cudaGetErrorString((cudaError_t)({_CUDA} - code));"
        told = told.replace("    switch", f"    {cuda}\n    switch", 1)
        return "\n".join([*lines, told])

    def _declared(self) -> str:
        return self.own.declared(["void *workspace", "cudaStream_t stream"])

    def _body(self) -> list[str]:
        """The statements of the function."""
        if not self.prepared:
            return [*self.numbers.lines, "(void)workspace;", "(void)stream;", "return 0;"]
        lines = [*self.numbers.lines]
        lines += [f"if ((uintptr_t){name} % {_PACK}) return -2;" for name in self._bases[:-2]]
        if self.workspace_bytes:
            lines.append("if (!workspace) return -1;")
            lines.append(f"if ((uintptr_t)workspace % {_BLOCK}) return -2;")
        lines += ["cudaError_t fc_error = cudaSuccess;", "const void *fc_kernel;"]
        lines += ["char *fc_block = (char *)workspace;", "(void)fc_block;"]
        if self.counter_bytes:
            lines.append(f"char *fc_counters = fc_block + {self.counters_at};")
            lines.append(
                f"fc_error = cudaMemsetAsync(fc_counters, 0, {self.counter_bytes}, stream);"
            )
            lines.append(f"if (fc_error) return {_CUDA} - (int)fc_error;")
        return [*lines, *self._launches, "return 0;"]

    def source(self, head: str) -> str:
        """The CUDA C file."""
        above = f'{head}#include "{self.own.name}.h"\n#include <math.h>\n'
        return "\n".join([above, prelude(), self.kernels(), HOST, self.function()])

    def header(self, opening: str) -> str:
        """The header, for the host's C++ and for CUDA C."""
        name = self.own.name
        contract = _CONTRACT.format(name=name, pack=_PACK, block=_BLOCK)
        include = "#include <cuda_runtime.h>"
        others = _OTHERS.format(name=name)
        return header(self.own, opening, include, self._declared(), contract, others)


HOST = "// --- the host's function"

_CONTRACT = """\
Arrays are in the device's memory, C-contiguous, and start at multiples of {pack} bytes; one that is
written shares no memory with another. `workspace`, on the device too, has
{name}_workspace_bytes() bytes and starts at a multiple of {block} (NULL if it is 0);
calls that may run at once need one each. Kernels are started on `stream`, and nothing is waited
for. Gives 0, or a code if not all of them were started. Indices out of bounds wrap around, as
CuPy's do."""

_OTHERS = """\
// What a code means, with the line of the Python source.
const char *{name}_message(int code);

size_t {name}_workspace_bytes(void);
"""


def _constant(prepared: Prepared, i: int, ctype: str) -> str:
    """The expression of a parameter that is the same in all calls."""
    raw = prepared.template[NUMBER_BYTES * i : NUMBER_BYTES * (i + 1)]
    if ctype in _FLOATS:
        (value,) = struct.unpack_from(_FLOATS[ctype], raw)
        return float_text(value) + "f" * (ctype == "float" and math.isfinite(value))
    if ctype in _COMPLEX:
        parts = struct.unpack_from(_COMPLEX[ctype], raw)
        cast = f"({'float' if ctype == 'fc_c64' else 'double'})"
        return f"{{{', '.join(cast + float_text(part) for part in parts)}}}"
    (number,) = struct.unpack_from("=q", raw)
    if ctype == "bool":
        return "true" if number & 1 else "false"
    if -(2**31) < number < 2**31:
        return str(number)
    return f"{number}LL" if number > -(2**63) else "INT64_MIN"
