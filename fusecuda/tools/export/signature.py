"""Signatures: the C function that an export is, its parameters, its codes, its header."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...capture.calls.recording import Recording
from ...errors import NotFusedError
from ...graph.dtypes import ELEMENT_TYPES, DType, hlo_name, kind_of, part_of_complex
from .reserved import c_name

_GIVEN = ("workspace", "stream")  # parameters of the targets
_FORMS = {
    "pred": "each 0 or 1",
    "f16": "the bits of halves",
    "bf16": "the bits of bfloat16 numbers",
    "c64": "real and imaginary part of each element",
    "c128": "real and imaginary part of each element",
}


def c_number_type(dtype: DType) -> str:
    """The C type of a number, or of an element (of a part of it, if complex)."""
    return ELEMENT_TYPES[part_of_complex(dtype) if dtype.kind == "c" else dtype].memory


@dataclass
class Codes:
    """The positive codes that the function may return, and what each means."""

    messages: list[str] = field(default_factory=list)

    def add(self, message: str) -> int:
        """The code of a message."""
        if message not in self.messages:
            self.messages.append(message)
        return 1 + self.messages.index(message)


@dataclass(frozen=True)
class Parameter:
    """One parameter of the C function: its name, its declaration, and a line on it.

    ``argument`` is the graph's parameter that it is the memory of, ``output`` its output.
    """

    name: str
    declaration: str
    about: str
    argument: int | None = None
    output: int | None = None


@dataclass(frozen=True)
class Signature:
    """The C function of a recording: its name, its parameters, its numbers by recipe, notes."""

    name: str
    parameters: list[Parameter]
    numbers: dict[str, str]
    notes: list[str]

    def declared(self, more: Iterable[str]) -> str:
        """The declaration, without what ends it; ``more`` are parameters of the target."""
        given = [p.declaration for p in self.parameters]
        return wrapped(f"int {self.name}(", [*given, *more])


def signature_of(recording: Recording, name: str | None) -> Signature:
    """The C function that ``recording`` becomes."""
    taken = set(_GIVEN)
    parameters: list[Parameter] = []
    used: dict[str, str] = {}
    for given in recording.arrays:
        own = used[given.name] = _unlike(c_name(given.name), taken)
        role = "read and overwritten" if given.is_written else "read"
        if given.number is None:
            role = "not used"
        parameters.append(_array(own, given.like, role, given.number, None))
    numbers: dict[str, str] = {}
    for recipe, (called, value) in recording.numbers.items():
        dtype = np.dtype(type(value))
        if kind_of(dtype) not in "iuf" or ELEMENT_TYPES[dtype].computes:
            raise NotFusedError(f"{called} is a {type(value).__name__}: give an array of no axes")
        numbers[recipe] = _unlike(c_name(called), taken)
        about = f"a number ({'int' if type(value) is int else dtype})"
        ctype = c_number_type(dtype)
        parameters.append(Parameter(numbers[recipe], f"{ctype} {numbers[recipe]}", about))
    for i, result in enumerate(recording.results):
        output = recording.graph.outputs[i]
        like = np.empty(0, output.dtype)
        own = _unlike(c_name(result), taken)
        parameters.append(_array(own, like, "written", None, i, output.shape))
    returned = recording.returned.items()
    notes = [f"{result} of the Python function is {used[own]}." for result, own in returned]
    if recording.fixed:
        notes.append(f"Fixed when it was exported: {_listed(recording.fixed)}.")
    return Signature(c_name(recording.name if name is None else name), parameters, numbers, notes)


def _array(
    name: str, like: Any, role: str, argument: int | None, output: int | None, shape: Any = None
) -> Parameter:
    dtype = like.dtype
    form = _FORMS.get(hlo_name(dtype))
    extents = list(like.shape if shape is None else shape)
    about = f"{dtype}{extents}, {role}" + (f"; {form}" if form else "")
    const = "" if "written" in role else "const "
    return Parameter(name, f"{const}{c_number_type(dtype)} *{name}", about, argument, output)


def _unlike(name: str, taken: set[str]) -> str:
    """``name``, or one like it that is free; it is taken from now on."""
    made, count = name, 2
    while made in taken:
        made, count = f"{name}_{count}", count + 1
    taken.add(made)
    return made


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in values.items())


def wrapped(start: str, parts: list[str], end: str = ")") -> str:
    """A list in brackets on lines of up to 100 characters, up to ``end``."""
    lines = [start]
    for i, part in enumerate(parts):
        text = part + ("," if i + 1 < len(parts) else end)
        if i and len(lines[-1]) + 1 + len(text) > 100:
            lines.append(" " * len(start) + text)
        else:
            lines[-1] += " " * (i > 0) + text
    return "\n".join(lines)


def header(
    signature: Signature, opening: str, includes: str, declared: str, contract: str, others: str
) -> str:
    """The header: ``contract`` says how to call the function, ``others`` are more declarations."""
    guard = f"FUSECUDA_{signature.name.upper()}_H"
    width = max((len(p.name) for p in signature.parameters), default=0)
    listed = [f"//   {p.name:<{width}}  {p.about}" for p in signature.parameters]
    notes = [f"// {line}" for note in signature.notes for line in textwrap.wrap(note, 96)]
    contract_lines = [f"// {line}".rstrip() for line in contract.splitlines()]
    return "\n".join(
        [
            f"// {opening}",
            f"#ifndef {guard}",
            f"#define {guard}",
            "#include <stddef.h>",
            "#include <stdint.h>",
            *includes.splitlines(),
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            *listed,
            *notes,
            "//",
            *contract_lines,
            f"{declared};",
            "",
            others.rstrip(),
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            f"#endif  // {guard}",
            "",
        ]
    )


def message_function(name: str, codes: Codes, negative: dict[int, str]) -> str:
    """The C function that tells what a code means."""
    listed = {0: "no error", **negative, **{1 + i: m for i, m in enumerate(codes.messages)}}
    cases = [f"    case {code}: return {quoted(text)};" for code, text in sorted(listed.items())]
    lines = [f"const char *{name}_message(int code)", "{", "    switch (code) {", *cases]
    return "\n".join([*lines, '    default: return "unknown code";', "    }", "}", ""])


def quoted(text: str) -> str:
    """``text`` as a C string."""
    made = "".join(
        c if " " <= c <= "~" and c not in '"\\?' else "".join(f"\\{b:03o}" for b in c.encode())
        for c in text
    )
    return f'"{made}"'
