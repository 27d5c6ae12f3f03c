"""Emission of C: kernel IR and a variant in, the text of a kernel out; what all skeletons share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..codegen import names
from ..codegen.scalar import memory_type
from ..codegen.writer import Writer
from ..fusion import kernel_ir as ir
from ..fusion.variants import Variant
from ..graph.dtypes import DType
from . import chosen
from .dims import Dims

PLACEHOLDER = "FC_KERNEL"  # stands for the kernel's symbol, which depends on the text


class KernelEmitter:
    """What the skeletons share: declarations, pointers and indices."""

    compacted = ""  # where the element at hand of a compaction goes
    tallied: Sequence[ir.Scatter] = ()  # those whose places have tallies
    late: Sequence[int] = ()  # the forms of late stores

    def __init__(self, kernel: ir.KernelIR, variant: Variant, traffic: bool = False) -> None:
        self.traffic = traffic  # count every access (see traffic.h)
        self.kernel = kernel if traffic else chosen.with_chosen_loads(kernel, variant)
        self.variant = variant
        self.dims = Dims(kernel)
        self.w = Writer()

    def dtype(self, form: int) -> DType:
        """The type of the elements that an address form leads to."""
        dtype = self.kernel.forms[form].dtype
        assert dtype is not None
        return dtype

    def emit(self) -> str:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        raise NotImplementedError

    def dereference(self, pointer: str, displacement: str, dtype: DType, form: int) -> str:
        """The element of ``dtype`` at ``pointer`` displaced by so many bytes."""
        const = "" if self.kernel.forms[form].store else "const "
        return f"*({const}{memory_type(dtype)} *)({pointer}{displacement})"

    def counted(self, form: int, lvalue: str) -> str:
        """``lvalue``, an element of ``form``; wrapped to be counted in the instrumented build."""
        if not self.traffic:
            return lvalue
        return f"FC_{'STORED' if self.kernel.forms[form].store else 'LOADED'}({lvalue})"

    def limits_of(self, statements: Iterable[ir.Statement]) -> list[str]:
        """The names of the integer limits that ``statements`` use."""
        found = []
        for s in statements:
            if isinstance(s, ir.LookUp | ir.Scatter):
                found += [names.limit(n) for pair in s.limits for n in pair]
            elif isinstance(s, ir.InRange):
                found += [names.limit(n) for _, n in s.tests]
        return found

    def bases(
        self, forms: Sequence[int], prefix: str, source: str, axes: dict[str, str], typed: bool
    ) -> None:
        """Declare where each form stands: ``source`` displaced along ``axes`` (axis -> index)."""
        for f in forms:
            moves = "".join(f" + {i} * {names.stride(f, axis)}" for axis, i in axes.items())
            dtype = self.kernel.forms[f].dtype
            if dtype is None:
                start = source + names.index(f) if source else names.origin(f)
                self.w.line(f"const int64_t {prefix}{names.index(f)} = {start}{moves};")
                continue
            pointer = names.pointer(self.kernel, f)
            start = f"{source}{pointer}" if source else f"a->ptr[{self.pointer_number(f)}]"
            const = "" if self.kernel.forms[f].store else "const "
            if typed:
                kind = f"{const}{memory_type(dtype)} *"
                self.w.line(f"{kind}{prefix}{pointer} = ({kind})({start}{moves});")
            else:
                self.w.line(f"{const}char *{prefix}{pointer} = {start}{moves};")

    def pointer_number(self, form: int) -> int:
        """The place of address form ``form`` among the pointers."""
        return sum(f.dtype is not None for f in self.kernel.forms[:form])

    def unravel(self, position: str, axes: Sequence[str], moves: bool = False) -> dict[str, str]:
        """Declare the index along each of ``axes`` of row-major ``position``; axis -> its name.

        One that ``moves`` is changed later on.
        """
        found = {axis: f"i_{axis}" for axis in axes}
        kind = "int64_t" if moves else "const int64_t"
        if len(axes) == 1:
            self.w.line(f"{kind} {found[axes[0]]} = {position};")
            return found
        self.w.line(f"int64_t rest_{axes[0]} = {position};")
        for axis in reversed(axes):
            self.w.line(f"{kind} {found[axis]} = rest_{axes[0]} % {axis};")
            if axis != axes[0]:
                self.w.line(f"rest_{axes[0]} /= {axis};")
        return found

    def strides_of(self, forms: Iterable[int], axes: Sequence[str]) -> list[str]:
        """The names of the strides (and offsets of index forms) that walking ``forms`` uses."""
        found = []
        for f in forms:
            found += [names.stride(f, axis) for axis in axes]
            if self.kernel.forms[f].dtype is None:
                found.append(names.origin(f))
        return found

    @property
    def typed(self) -> bool:
        """True if pointers have the element's type and step by known numbers of elements."""
        return self.variant.steps is not None
