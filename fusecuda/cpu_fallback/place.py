"""Place: how the statements of kernel IR are written in C where they stand."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from ..codegen import names
from ..codegen.scalar import c_type, computed, loaded, memory_type, stored, suffix, zero
from ..codegen.statements import Scope
from ..fusion import kernel_ir as ir
from ..fusion.variants import ANY_STEP
from ..graph.dtypes import ELEMENT_TYPES, DType, hlo_name
from ..graph.ops import OPS
from . import chosen, quotients, tallies
from .index_tests import NO_TESTS, Tests

if TYPE_CHECKING:
    from .emit_runs import RunEmitter


class Place(Scope):
    """How the statements of one scope are written: element values, row values, or final ones.

    ``step`` is the loop variable of the elements, empty for row values; ``axis`` the axis it walks.
    ``tests`` have been made: what they guard is read anyway. ``steps`` tell how forms walk that
    axis: as the kernel's variant says, unless it is another axis; None for any strides.
    """

    def __init__(
        self, emitter: RunEmitter, step: str, axis: str, base: str, tests: Tests = NO_TESTS
    ) -> None:
        self.emitter = emitter
        self.step = step
        self.axis = axis
        self.base = base  # prefix of the pointers and indices that the scope starts from
        self.tests = tests
        self.steps = emitter.variant.steps

    def lines(self, statement: ir.Statement) -> list[str]:
        if statement in self.tests.made:
            return []
        if isinstance(statement, ir.Load) and statement.form in self.tests.guards:
            statement = dataclasses.replace(statement, guard=None)
        if isinstance(statement, ir.Compute) and self._is_by_shared_divisor(statement):
            value, divisor = statement.operands
            given = statement.op, statement.dtype, self.name(value), divisor
            text, note = quotients.quotient(*given)
            return [self.define(statement.out, c_type(statement.dtype), text), note]
        if isinstance(statement, ir.Compute) and statement.is_small:
            both = ", ".join(map(self.name, statement.operands))
            text = f"fc_small_{statement.op}_{suffix(statement.dtype)}({both})"
            return [self.define(statement.out, c_type(statement.dtype), text)]
        return super().lines(statement)

    def _is_by_shared_divisor(self, statement: ir.Compute) -> bool:
        return quotients.is_quotient(statement) and statement.operands[1] in self.emitter.divisors

    def address(self, form: int) -> str:
        if form in self.emitter.late:
            return f"late{form}[{self.step}]"
        if form in self.emitter.streamed:
            return f"to{form}[{self.step}]"
        if form in self.emitter.wide:
            return f"wide{form}[{self.step}]"
        if form in self.emitter.near:
            return f"near{form}[{self.step}]"
        return self.emitter.counted(form, self.lvalue(form))

    def lvalue(self, form: int) -> str:
        """The element at hand of ``form`` in memory."""
        kernel, steps = self.emitter.kernel, self.steps
        name = self.base + names.pointer(kernel, form)
        dtype = kernel.forms[form].dtype
        assert dtype is not None
        if not self.step:
            return self.emitter.dereference(name, "", dtype, form)
        is_counted = self.emitter.traffic and form in self.emitter.variant.turned
        if steps is not None and (steps[form] == ANY_STEP or is_counted):
            name = f"({'' if kernel.forms[form].store else 'const '}char *){name}"
        elif steps is not None:
            return self.stepped(name, steps[form])
        return self.emitter.dereference(name, f" + {self.step} * {self.stride(form)}", dtype, form)

    def chosen_load(self, statement: ir.ChosenLoad) -> list[str]:
        assert self.steps is not None
        step = chosen.step_of(statement, self.steps)
        element = self.stepped(chosen.pointer(statement), step)
        kind = c_type(statement.dtype)
        return [self.define(statement.out, kind, loaded(statement.dtype, element))]

    def stepped(self, pointer: str, step: int) -> str:
        """The element at hand from ``pointer``, in elements, on."""
        if pointer in self.emitter.spread:
            return f"{self.emitter.spread[pointer]}[{self.step} - from]"
        times = {1: "", -1: "-"}.get(step, f"{step} * ")
        return f"{pointer}[{times}{self.step}]" if step else f"*{pointer}"

    def stride(self, form: int) -> str:
        """The name of the bytes from one element to the next."""
        if self.tests.guards.get(form):
            return f"step_{names.pointer(self.emitter.kernel, form)}"
        return names.stride(form, self.axis)

    def index(self, form: int) -> str:
        name = self.base + names.index(form)
        return f"{name} + {self.step} * {names.stride(form, self.axis)}" if self.step else name

    def argument(self, number: int, dtype: DType) -> str:
        return loaded(dtype, f"a->scalar[{number}].{hlo_name(dtype)}")

    def kept(self, slot: int) -> str:
        return f"keep{slot}[{self.step}]"

    def choice(self, test: int, value: str, other: str, dtype: DType) -> str:
        if test not in self.tests.steady or dtype.kind == "c":
            return super().choice(test, value, other, dtype)
        return f"fc_choose_{suffix(dtype)}(mask{test}, {value}, {other})"

    def cast(self, dtype: DType, source: DType, operand: str) -> str:
        match source.kind + dtype.kind:
            case "bf":  # gcc makes no vectors of a bool that is cast
                literal = ELEMENT_TYPES[dtype].literal
                return f"{operand} ? 1.0{literal} : 0.0{literal}"
            case "if" | "uf" if source.itemsize == 8:
                return f"fc_{hlo_name(dtype)}_of_{hlo_name(source)}({operand})"
            case "fi" | "fu" if dtype.itemsize == 8:
                return f"fc_{hlo_name(dtype)}_of_f64({operand})"
        return super().cast(dtype, source, operand)

    def failure(self, statement: ir.Compute, operands: list[str]) -> list[str]:
        if not ir.reports(statement):
            return []
        return [self.failed(statement.site, OPS[statement.op].fails.format(*operands))]

    def failed(self, site: int, test: str) -> str:
        """The statement that reports what ``test`` finds."""
        if site in self.emitter.watched_sites:
            return f"failed{site} |= {test};"
        return f"if ({test}) a->status[0] = {site + 1};"

    def gather(self, statement: ir.Gather) -> list[str]:
        out = statement.out
        lines, displaced, inside = self.displaced(f"g{out}", statement)
        pointer = self.base + names.pointer(self.emitter.kernel, statement.form)
        element = self.emitter.dereference(
            f"(const char *){pointer}", displaced, statement.dtype, statement.form
        )
        element = self.emitter.counted(statement.form, element)
        value, nothing = loaded(statement.dtype, element), zero(statement.dtype)
        if self.emitter.variant.sure or statement.site < 0:
            return [*lines, self.define(out, c_type(statement.dtype), value)]
        lines.append(f"const bool ok{out} = {inside};")
        lines.append(self.failed(statement.site, f"!ok{out}"))
        lines.append(self.define(out, c_type(statement.dtype), f"ok{out} ? {value} : {nothing}"))
        return lines

    def entry(self, statement: ir.Search) -> str:
        ((_, stride),) = statement.limits
        dtype, form = self.dtype_of(statement.form), statement.form
        step = names.limit(stride)
        if self.emitter.variant.dense:
            step = f"(int64_t)sizeof({memory_type(dtype)})"
        pointer = f"(const char *){self.base}{names.pointer(self.emitter.kernel, form)}"
        element = self.emitter.dereference(pointer, f" + entry * {step}", dtype, form)
        return self.emitter.counted(form, element)

    def dtype_of(self, form: int) -> DType:
        dtype = self.emitter.kernel.forms[form].dtype
        assert dtype is not None
        return dtype

    def scatter(self, statement: ir.Scatter) -> list[str]:
        form, dtype = statement.form, statement.dtype
        lines, displaced, inside = self.displaced(f"to{form}", statement)
        kind = memory_type(dtype)
        pointer = self.base + names.pointer(self.emitter.kernel, form)
        value = self.name(statement.value)
        if statement.op is not None:
            pair = [loaded(dtype, f"*to{form}"), value]
            value = computed(statement.op, dtype, (dtype, dtype), pair, self.expression)
        target = self.emitter.counted(form, f"*to{form}")
        there = f"(char *){pointer}{displaced}"
        if statement in self.emitter.tallied:
            there = tallies.place(statement, f"to{form}_0", self.step, there)
        written = [
            f"{kind} *const to{form} = ({kind} *)({there});",
            f"{target} = {stored(dtype, value)};",
        ]
        if statement.site < 0:
            return [*lines, *written]
        failed = f"}} else a->status[0] = {statement.site + 1};"
        return [*lines, f"if ({inside}) {{", *(f"    {line}" for line in written), failed]

    def asked(self, statement: ir.Gather) -> str:
        """The statement by which memory is asked for a gather's element, wherever that leads."""
        indices = zip(statement.indices, statement.limits, strict=True)
        terms = [f" + {self.name(index)} * {names.limit(stride)}" for index, (_, stride) in indices]
        pointer = self.base + names.pointer(self.emitter.kernel, statement.form)
        return f"__builtin_prefetch((const char *){pointer}{''.join(terms)});"

    def found(self, statement: ir.Gather) -> list[str]:
        """Where a gather reads from, if the indices are the same for all of a run."""
        out = statement.out
        lines, terms, inside = self._counted_indices(f"g{out}", statement)
        pointer = self.base + names.pointer(self.emitter.kernel, statement.form)
        kind = f"const {memory_type(statement.dtype)} *"
        if statement.site >= 0:
            lines += [
                f"if (!({inside})) {{",
                f"    a->status[0] = {statement.site + 1};",
                "    return;",
                "}",
            ]
        return [
            *lines,
            f"{kind}const from{out} = ({kind})((const char *){pointer}{terms});",
        ]

    def gathered(self, statement: ir.Gather) -> str:
        """The element of a gather whose place has been found."""
        assert self.emitter.variant.steps is not None
        out, step = statement.out, self.emitter.variant.steps[statement.form]
        element = self.emitter.counted(statement.form, f"from{out}[{step} * {self.step}]")
        return self.define(out, c_type(statement.dtype), loaded(statement.dtype, element))

    def compact(self, statement: ir.Compact) -> list[str]:
        pointer = names.pointer(self.emitter.kernel, statement.form)
        element = self.emitter.counted(statement.form, f"{pointer}[{self.emitter.compacted}]")
        return [f"{element} = {stored(statement.dtype, self.name(statement.value))};"]

    def displaced(self, name: str, statement: ir.Gather | ir.Scatter) -> tuple[list[str], str, str]:
        """Computed indices counted from the start, the bytes to where they lead, a test of them."""
        lines, terms, inside = self._counted_indices(name, statement)
        steps = self.steps
        if self.step and (steps is None or steps[statement.form] not in (0, 1)):
            terms += f" + {self.step} * {names.stride(statement.form, self.axis)}"
        elif self.step and steps and steps[statement.form]:
            terms += f" + {self.step} * (int64_t)sizeof({memory_type(statement.dtype)})"
        return lines, terms, inside

    def _counted_indices(
        self, name: str, statement: ir.Gather | ir.Scatter
    ) -> tuple[list[str], str, str]:
        """The same, without the bytes to the element at hand of the run."""
        lines, terms, tests = [], [], []
        steps = [names.limit(stride) for _, stride in statement.limits]
        if self.emitter.variant.dense:
            steps[-1] = f"(int64_t)sizeof({memory_type(statement.dtype)})"
        for i, (index, (extent, _)) in enumerate(
            zip(statement.indices, statement.limits, strict=True)
        ):
            at, n, value = f"{name}_{i}", names.limit(extent), self.name(index)
            if statement.site < 0:
                lines.append(f"const int64_t {at} = {value};")
            else:
                lines.append(f"const int64_t {at} = {value} < 0 ? {value} + {n} : {value};")
            if not self.emitter.variant.sure and statement.site >= 0:
                tests.append(f"((uint64_t){at} < (uint64_t){n})")
            terms.append(f"{at} * {steps[i]}")
        return lines, "".join(f" + {t}" for t in terms), " & ".join(tests) or "true"
