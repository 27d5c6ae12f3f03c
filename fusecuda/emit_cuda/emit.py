"""Emission of CUDA C: what the skeletons share.

A kernel names its arguments; `Text.parameters` lists the ones that its text uses, and the launch
supplies them by name. Strides and extents are in elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..codegen import names
from ..codegen.scalar import c_type, loaded, memory_type, stored
from ..codegen.statements import Scope
from ..codegen.writer import Writer
from ..fusion import kernel_ir as ir
from ..graph.dtypes import DType
from ..graph.ops import OPS
from .choice import BOTH, SHARED
from .dialect import expression
from .packs import PACK_BYTES, WARP
from .quotients import DOWN, FACTOR
from .variant import Variant

PLACEHOLDER = "FC_KERNEL"  # stands for the kernel's symbol, which depends on the text
BLOCK = 256  # threads of a loop's block


@dataclass(frozen=True, slots=True)
class Text:
    """The text of one kernel, and its parameters in order: name and C type.

    ``function`` is the same as a function of the block's number; ``bounds`` those of its launches.
    """

    text: str
    parameters: tuple[tuple[str, str], ...]
    function: str = ""
    bounds: str = ""


class CudaScope(Scope):
    """Statements of one scope: where its forms stand is in ``emitter.at``."""

    def __init__(self, emitter: CudaEmitter, place: dict[str, str], element: str = "") -> None:
        self.emitter = emitter
        self.place = place  # axis -> the C expression of the index along it
        self.element = element  # the position within a pack, for forms that are packed

    def address(self, form: int) -> str:
        emitter = self.emitter
        if self.element and form in emitter.packed:
            return f"{emitter.pack(form)}.at[{self.element}]"
        return f"{emitter.pointer(form)}[{emitter.offset(form, self.place)}]"

    def index(self, form: int) -> str:
        origin = self.emitter.integer(names.origin(form), wide=True)
        terms = [f"(int64_t){i} * {self.emitter.integer(names.stride(form, axis), wide=True)}"
                 for axis, i in self.place.items()]  # fmt: skip
        return " + ".join([origin, *terms])

    def argument(self, number: int, dtype: DType) -> str:
        return loaded(dtype, self.emitter.parameter(f"k{number}", memory_type(dtype)))

    def limit(self, number: int) -> str:
        return self.emitter.integer(names.limit(number), wide=True)

    def kept(self, slot: int) -> str:
        if self.emitter.variant.kept != BOTH:
            return f"keep{slot}[{self.emitter.kept_at}]"
        return f"(slot < 0 ? shared{slot}[{self.emitter.kept_at}] : keep{slot}[slot + e])"

    def compact(self, statement: ir.Compact) -> list[str]:
        place = f"{self.emitter.pointer(statement.form)}[{self.emitter.to}]"
        return [f"{place} = {stored(statement.dtype, self.name(statement.value))};"]

    def expression(
        self, op: str, dtype: DType, operand_dtypes: Sequence[DType], operands: Sequence[str]
    ) -> str:
        if op == "divide" and operands[1] in self.emitter.divisors:
            return f"fc_quotient({operands[0]}, over_{operands[1]}, odd)"
        return expression(op, dtype, operand_dtypes, operands, self.emitter.contract)

    def gather(self, statement: ir.Gather) -> list[str]:
        out, emitter = statement.out, self.emitter
        lines, terms = [], []
        for i, (index, (extent, stride)) in enumerate(
            zip(statement.indices, statement.limits, strict=True)
        ):
            n, at = emitter.integer(names.limit(extent)), f"g{out}_{i}"
            kind = emitter.index_type
            lines.append(f"const {kind} {at} = fc_wrap<{kind}>({self.name(index)}, {n});")
            terms.append(f"{at} * {emitter.integer(names.limit(stride))}")
        rest = emitter.offset(statement.form, self.place)
        text = f"{emitter.pointer(statement.form)}[{' + '.join([rest, *terms])}]"
        value = loaded(statement.dtype, text)
        return [*lines, self.define(out, c_type(statement.dtype), value)]

    def entry(self, statement: ir.Search) -> str:
        ((_, stride),) = statement.limits
        step = self.emitter.integer(names.limit(stride), wide=True)
        return f"{self.emitter.pointer(statement.form)}[entry * {step}]"

    def dtype_of(self, form: int) -> DType:
        dtype = self.emitter.kernel.forms[form].dtype
        assert dtype is not None
        return dtype


class CudaEmitter:
    """What the skeletons share: parameters, addresses, packs and statements."""

    to = ""  # where a compaction writes the element at hand

    def __init__(self, kernel: ir.KernelIR, variant: Variant, contract: bool) -> None:
        self.kernel = kernel
        self.variant = variant
        self.contract = contract
        self.index_type = "int64_t" if variant.wide else "int"
        self.row_axes = [f"m{a}" for a in range(variant.row_rank)]
        self.axes = [f"n{a}" for a in range(variant.rank)]
        self.w = Writer()
        self.packed: set[int] = set()
        self.held: set[int] = set()  # forms whose packs have been loaded before
        self.divisors: list[str] = []  # of which a stage makes quotients that may be odd
        self.kept_at = ""
        self._parameters: dict[str, str] = {}

    def emit(self) -> Text:
        """The text of the kernel, with PLACEHOLDER for its symbol."""
        raise NotImplementedError

    # --- parameters

    def parameter(self, name: str, ctype: str) -> str:
        """``name``, which becomes a parameter of the kernel."""
        self._parameters[name] = ctype
        return name

    def integer(self, name: str, wide: bool = False) -> str:
        """An integer parameter; as wide as indices are unless it has to be 64 bits."""
        known = self._parameters.get(name)
        return self.parameter(name, "int64_t" if wide or known == "int64_t" else self.index_type)

    def over(self, position: str, divisor: str) -> str:
        """The quotient of an index by the integer ``divisor``, without a division."""
        by, down = self.integer(f"{divisor}_{FACTOR}"), self.integer(f"{divisor}_{DOWN}")
        return f"fc_over({position}, {by}, {down})"

    def pointer(self, form: int) -> str:
        """The pointer parameter of address form ``form``."""
        name = names.pointer(self.kernel, form)
        dtype = self.kernel.forms[form].dtype
        assert dtype is not None
        const = "" if self.kernel.forms[form].store else "const "
        restrict = "" if form in self.variant.aliased else "__restrict__ "
        return self.parameter(name, f"{const}{memory_type(dtype)} *{restrict}")

    def offset(self, form: int, place: dict[str, str]) -> str:
        """The C expression of the element offset of ``form`` at ``place``."""
        unit = self.variant.unit_axis
        terms = []
        for axis, i in place.items():
            if axis == unit and self.variant.unit is not None:
                if self.variant.unit[form]:
                    terms.append(i)
            else:
                terms.append(f"{i} * {self.integer(names.stride(form, axis))}")
        return " + ".join(terms) or "0"

    def text(self, head: str, bounds: str) -> Text:
        """The finished kernel: ``head`` comments, its signature, and the lines written so far."""
        order = sorted(self._parameters, key=self._rank)
        listed = [declared(p, self._parameters[p]) for p in order]
        body = "".join(f"    {line}\n" if line else "\n" for line in self.w.text().splitlines())
        parameters = tuple((p, self._parameters[p].strip()) for p in order)
        text = head + kernel_text(PLACEHOLDER, bounds, listed, body, self.variant.blocks)
        inner = body.replace("blockIdx.x", "block")
        return Text(text, parameters, function_text(PLACEHOLDER, listed, inner), bounds)

    def _rank(self, name: str) -> tuple[int, int, str]:
        ctype = self._parameters[name]
        digits = "".join(c for c in name.split("_", maxsplit=1)[0] if c.isdigit())
        kind = 0 if "*" in ctype else 1 if name[0] == "k" else 2
        return kind, int(digits or 0), name

    # --- pieces of text

    def unravel(self, position: str, axes: Sequence[str], prefix: str = "i_") -> dict[str, str]:
        """Declare the index along each of ``axes`` of row-major ``position``; axis -> its name."""
        if len(axes) == 1:
            return {axes[0]: position}
        found = {axis: prefix + axis for axis in axes}
        rest = position
        for axis in reversed(axes[1:]):
            n = self.integer(axis)
            over = self.over(rest, axis)
            self.w.line(f"const {self.index_type} over_{axis} = {over};")
            self.w.line(f"const {self.index_type} {found[axis]} = {rest} - over_{axis} * {n};")
            rest = f"over_{axis}"
        found[axes[0]] = rest
        return found

    def pack(self, form: int) -> str:
        """The name of the pack of ``form``."""
        return f"{names.pointer(self.kernel, form)}_pack"

    @property
    def width(self) -> int:
        """The elements of a pack."""
        return self.variant.width

    def pack_type(self, form: int) -> str:
        """The C type of the pack of ``form``."""
        dtype = self.kernel.forms[form].dtype
        assert dtype is not None
        return f"fc_pack<{memory_type(dtype)}, {self.width}>"

    def packable(self, statements: Iterable[ir.Statement]) -> tuple[list[int], list[int]]:
        """The forms that ``statements`` load, and store, element after element of a pack."""
        unit = self.variant.unit
        if not self.variant.packed:
            return [], []
        loads: dict[int, None] = {}
        stores: dict[int, None] = {}
        for s in statements:
            if isinstance(s, ir.Load) and s.guard is None and (unit is None or unit[s.form]):
                loads[s.form] = None
            elif isinstance(s, ir.Store) and (unit is None or unit[s.form]):
                stores[s.form] = None
        looked_up = {s.form for s in statements if isinstance(s, ir.LookUp)}
        guarded = {s.form for s in statements if isinstance(s, ir.Load) and s.guard is not None}
        taken = looked_up | guarded
        return [f for f in loads if f not in taken], [f for f in stores if f not in taken]

    def take(
        self, statements: list[ir.Statement], place: dict[str, str], then: list[str],
        before: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """The body of one pack: loads of all that is packed, each element, then the stores.

        An element's lines have others ``before`` them and ``then`` more. ``place`` gives the index
        along each axis of the first element; the last axis advances.
        """
        loads, stores = self.packable(statements)
        self.packed = {*loads, *stores}
        for form in loads:
            if form in self.held:
                continue
            source = f"{self.pointer(form)} + {self.offset(form, place)}"
            self.w.line(f"const auto {self.pack(form)} = {self.loaded(form, source)};")
        for form in stores:
            self.w.line(f"{self.pack_type(form)} {self.pack(form)};")
        loop = f"for (int e = 0; e < {self.width}; ++e)"
        axis = self.axes[-1]
        e = f"{WARP} * e" if self.variant.spread else "e"
        inner = {**place, axis: f"({place[axis]} + {e})" if self.width > 1 else place[axis]}
        if self.width > 1:
            self._each(loop, statements, inner, then, before)
            self._odd(lambda: self._each(loop, statements, inner, then, before))
        else:
            self.w.lines([*before])
            self.elements(statements, inner, then, element="0")
        for form in stores:
            self.w.lines(self.stored(form, place))
        self.packed = set()

    def _each(
        self, loop: str, statements: list[ir.Statement], place: dict[str, str], then: list[str],
        before: Sequence[str],
    ) -> None:  # fmt: skip
        """Each element of a pack."""
        self.w.line("#pragma unroll")
        with self.w.block(loop):
            if not self.harmless(statements) or then:
                self.w.line("if (e >= live) continue;")
            self.w.lines([*before])
            self.elements(statements, place, then)

    def _odd(self, again: Callable[[], None]) -> None:
        """The elements once more, with divisions, where a quotient was odd."""
        if self.divisors:
            kept, self.divisors = self.divisors, []
            with self.w.block("if (odd)"):
                again()
            self.divisors = kept

    def remaining(self, end: str, at: str, most: int) -> str:
        """How many elements there are from ``at`` on, as an int; if not, or if there are many, any
        number that tells so. Of 64 bits ``most`` is said of more.
        """
        return f"{end} - {at}" if self.index_type == "int" else f"fc_clamp({end} - {at}, {most})"

    def loaded(self, form: int, source: str) -> str:
        """The pack of ``form``, whose first element is at ``source``."""
        return f"{self._mover('fc_load', form)}({source}, live)"

    def stored(self, form: int, place: dict[str, str]) -> list[str]:
        """The lines that store the pack of ``form``, the first element at ``place``."""
        target = f"{self.pointer(form)} + {self.offset(form, place)}"
        return [f"{self._mover('fc_store', form)}({target}, {self.pack(form)}, live);"]

    def _mover(self, name: str, form: int) -> str:
        """The function that loads or stores a pack of ``form``."""
        if self.variant.spread:
            return f"{name}_each<{self.width}, {WARP}>"
        return f"{name}{'_each' if form in self.variant.apart else ''}<{self.width}>"

    def _costly(self, stage: ir.Stage) -> bool:
        """True if the body calls functions, as opposed to instructions, on doubles.

        They keep the arithmetic units busy as they are; unrolled they would spill.
        """
        return any(
            isinstance(s, ir.Compute) and s.dtype.itemsize == 8 and OPS[s.op].is_expensive
            for s in stage.body
        )

    def harmless(self, statements: list[ir.Statement]) -> bool:
        """True if computing elements that do not exist touches no memory."""
        if self.variant.kept in (SHARED, BOTH) and any(
            isinstance(s, ir.Keep | ir.Recall) for s in statements
        ):
            return False
        direct = (ir.Load, ir.Gather, ir.Store)
        return all(
            s.form in self.packed or (self.variant.unit is not None and self._still(s))
            for s in statements
            if isinstance(s, direct)
        )

    def _still(self, s: ir.Load | ir.Gather | ir.Store) -> bool:
        assert self.variant.unit is not None
        return isinstance(s, ir.Load) and not self.variant.unit[s.form]

    def elements(
        self, statements: list[ir.Statement], place: dict[str, str], then: list[str],
        element: str = "e",
    ) -> None:  # fmt: skip
        """The statements of one element."""
        scope = CudaScope(self, place, element)
        for statement in statements:
            self.w.lines(scope.lines(statement))
        self.w.lines(then)


def kernel_text(
    symbol: str, bounds: str, parameters: list[str], body: str, blocks: int = 1
) -> str:  # fmt: skip
    """A kernel; ``bounds`` are those of its launches, in which so many ``blocks`` are a cluster."""
    cluster = f"FC_CLUSTER({blocks}) " if blocks > 1 else ""
    head = f'extern "C" __global__ void {cluster}__launch_bounds__({bounds})\n{symbol}('
    return head + _wrapped(parameters) + ")\n{\n" + body + "}\n"


def function_text(symbol: str, parameters: list[str], body: str) -> str:
    """What one block of a kernel does, as a function."""
    head = f"static __device__ __forceinline__ void\n{symbol}("
    return head + _wrapped(["const unsigned block", *parameters]) + ")\n{\n" + body + "}\n"


def declared(name: str, ctype: str) -> str:
    """The declaration of a parameter."""
    if "*" in ctype:
        return f"{ctype.strip()} {name}".replace("* ", "*")
    return f"const {ctype} {name}"


def _wrapped(items: list[str], width: int = 96) -> str:
    """The items, comma-separated, in lines of at most ``width`` characters."""
    lines, line = [], ""
    for i, item in enumerate(items):
        piece = item + (", " if i + 1 < len(items) else "")
        if line and len(line) + len(piece) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
    lines.append(line)
    return ("\n    ".join(lines)) if len(lines) == 1 else "\n    " + "\n    ".join(lines)


assert PACK_BYTES == 16  # fc_pack of fusecuda.cuh


__all__ = ["BLOCK", "PLACEHOLDER", "CudaEmitter", "CudaScope", "Text"]
