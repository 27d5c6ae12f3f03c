"""Statements: the text of one IR statement, the same in C and CUDA C but for its scope."""

from __future__ import annotations

from collections.abc import Sequence

from ..fusion import kernel_ir as ir
from ..graph.dtypes import DType
from . import names
from .scalar import c_type, cast, computed, conversion, expression, loaded, stored, zero

_Valued = ir.Argument | ir.Load | ir.Index | ir.InRange | ir.Select | ir.Recall


class Scope:
    """Where statements stand: what an element's address, an index and a kept value are called.

    A dialect's skeletons subclass it for element values, row values and final ones.
    """

    def address(self, form: int) -> str:
        """The lvalue of the element at hand of address form ``form``."""
        raise NotImplementedError

    def index(self, form: int) -> str:
        """The expression of index form ``form`` at the element at hand."""
        raise NotImplementedError

    def kept(self, slot: int) -> str:
        """The element at hand of resident row ``slot``."""
        raise NotImplementedError

    def argument(self, number: int, dtype: DType) -> str:
        """The expression of scalar argument ``number``."""
        raise NotImplementedError

    def gather(self, statement: ir.Gather) -> list[str]:
        """The statements of a read at computed indices."""
        raise NotImplementedError

    def chosen_load(self, statement: ir.ChosenLoad) -> list[str]:
        """The statements of a read at a place that tests choose."""
        raise NotImplementedError

    def entry(self, statement: ir.Search) -> str:
        """The lvalue of the element ``entry`` of the array that is searched."""
        raise NotImplementedError

    def search(self, statement: ir.Search) -> list[str]:
        """The statements of a search for one value."""
        found = f"found{statement.out}"
        args = ", ".join(self.search_terms(statement, self.name(statement.value)))
        return [
            f"int64_t {found};",
            f"FC_SEARCH({found}, {args})",
            self.define(statement.out, c_type(statement.dtype), found),
        ]

    def search_terms(self, statement: ir.Search, *values: str) -> tuple[str, ...]:
        """What the macros of a search take behind where its result is put."""
        kind, dtype = c_type(statement.value_dtype), self.dtype_of(statement.form)
        ((extent, _),) = statement.limits
        element = f"({kind})({loaded(dtype, self.entry(statement))})"
        before = {"left": "FC_BELOW", "right": "FC_NOT_ABOVE"}[statement.side]
        return kind, *values, self.limit(extent), before, element

    def dtype_of(self, form: int) -> DType:
        """The dtype of the elements of address form ``form``."""
        raise NotImplementedError

    def scatter(self, statement: ir.Scatter) -> list[str]:
        """The statements of a write at computed indices."""
        raise NotImplementedError

    def compact(self, statement: ir.Compact) -> list[str]:
        """The statements of a write behind what has been picked so far."""
        raise NotImplementedError

    def scan(self, statement: ir.Scan) -> list[str]:
        """The statements of one more element of a scan."""
        raise NotImplementedError

    def name(self, number: int) -> str:
        """The expression of value ``number``."""
        return names.value(number)

    def define(self, number: int, ctype: str, text: str) -> str:
        """The statement that gives value ``number`` its expression."""
        return f"const {ctype} {names.value(number)} = {text};"

    def loaded(self, form: int, dtype: DType) -> str:
        """The expression of the element at hand of address form ``form``."""
        return loaded(dtype, self.address(form))

    def limit(self, number: int) -> str:
        """The expression of integer argument ``number``."""
        return names.limit(number)

    def expression(
        self, op: str, dtype: DType, operand_dtypes: Sequence[DType], operands: Sequence[str]
    ) -> str:
        """The expression of an op-table row, in types that it has text for."""
        return expression(op, dtype, operand_dtypes, operands)

    def cast(self, dtype: DType, source: DType, operand: str) -> str:
        """The expression of a cast between types that C has."""
        return cast(dtype, source, operand)

    def choice(self, test: int, value: str, other: str, dtype: DType) -> str:
        """The expression that is ``value`` where ``test`` holds, else ``other``."""
        name = self.name(test)
        if dtype.kind == "b":  # gcc vectorises no choice among bools
            return f"({name} & ({value})) | (!{name} & ({other}))"
        return f"{name} ? {value} : {other}"

    def failure(self, statement: ir.Compute, operands: list[str]) -> list[str]:
        """The statements that report operands for which there is no value."""
        return []

    def lines(self, statement: ir.Statement) -> list[str]:
        """The C statements of one IR statement."""
        match statement:
            case ir.Scan():
                return self.scan(statement)
            case ir.Compute(out, dtype, "where", (test, value, other)):
                text = self.choice(test, self.name(value), self.name(other), dtype)
                return [self.define(out, c_type(dtype), text)]
            case ir.Compute():
                operands = [self.name(o) for o in statement.operands]
                kinds = statement.operand_dtypes
                if statement.op == "convert":
                    text = conversion(statement.dtype, kinds[0], operands[0], self.cast)
                else:
                    text = computed(statement.op, statement.dtype, kinds, operands, self.expression)
                line = self.define(statement.out, c_type(statement.dtype), text)
                return [line, *self.failure(statement, operands)]
            case ir.Gather() | ir.Search() | ir.ChosenLoad():
                return self.read(statement)
            case ir.Scatter() | ir.Compact():
                return self.placed(statement)
            case ir.Keep(slot, value, dtype):
                return [f"{self.kept(slot)} = {stored(dtype, self.name(value))};"]
            case ir.Store(form, value, dtype):
                return [f"{self.address(form)} = {stored(dtype, self.name(value))};"]
        return [self.define(statement.out, c_type(statement.dtype), self._value(statement))]

    def read(self, statement: ir.LookUp | ir.ChosenLoad) -> list[str]:
        """The statements of a read at places that values tell."""
        match statement:
            case ir.Gather():
                return self.gather(statement)
            case ir.Search():
                return self.search(statement)
            case ir.ChosenLoad():
                return self.chosen_load(statement)

    def placed(self, statement: ir.Scatter | ir.Compact) -> list[str]:
        """The statements of a write at a place that values tell."""
        if isinstance(statement, ir.Scatter):
            return self.scatter(statement)
        return self.compact(statement)

    def _value(self, statement: _Valued) -> str:
        """The C expression of a statement that is one."""
        name = self.name
        match statement:
            case ir.Argument(_, dtype, number):
                text = self.argument(number, dtype)
            case ir.Load(_, dtype, form, guard):
                text = self.loaded(form, dtype)
                if guard is not None:
                    text = f"{name(guard)} ? {text} : {zero(dtype)}"
            case ir.Index(_, _, form):
                text = self.index(form)
            case ir.InRange(_, _, tests, guard):
                terms = [] if guard is None else [name(guard)]
                terms += [
                    f"((uint64_t)({self.index(f)}) < (uint64_t){self.limit(n)})" for f, n in tests
                ]
                text = " & ".join(terms) or "true"
            case ir.Select(_, dtype, conditions, values, otherwise):
                text = name(otherwise)
                for test, value in zip(conditions[::-1], values[::-1], strict=True):
                    text = self.choice(test, name(value), text, dtype)
            case ir.Recall(_, dtype, slot):
                text = loaded(dtype, self.kept(slot))
        return text
