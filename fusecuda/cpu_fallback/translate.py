"""NumPy functions from the C text of the vector math headers, operation by operation.

What the headers are written in is a small language: typed variables, structures of numbers, calls,
choices and no branches. Each C function becomes a Python function of arrays, so that the headers
stay the only definition. Results have the bits of the compiled function: each step is one that IEEE
754 rounds alike everywhere, and of ``#if`` the branch without fused multiply-add is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_TOKEN = re.compile(
    r"""0x[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?p[+-]?\d+f?|0x[0-9a-fA-F]+[uUlL]*|\d+\.\d*(?:e-?\d+)?f?
    |\d+[uUlL]*|\w+|"[^"]*"|<<|>>|[=!<>]=|&&|\|\||[-+*/&|^]=|\S""",
    re.VERBOSE,
)
_SCALARS = {
    "double": "F64",
    "float": "F32",
    "uint64_t": "U64",
    "uint32_t": "U32",
    "int64_t": "I64",
    "int32_t": "I32",
    "int": "INT",
    "bool": "TRUTH",
}
_COMPLEX = ("fc_c64", "fc_c128")  # defined in abi.h
_PRECEDENCE = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/"),
)


def _choose(condition: Any, a: Any, b: Any) -> Any:
    return np.where(_truth(condition), a, b)


def _truth(value: Any) -> Any:
    return value if getattr(value, "dtype", None) == np.bool_ else np.not_equal(value, 0)


def _seldom(test: Any, rare: Callable[[Any], Any], x: Any, usual: Any) -> Any:
    """``usual``, and ``rare`` of those elements of ``x`` that pass the test."""
    chosen = _truth(test)
    if not np.any(chosen):
        return usual
    x, usual = np.asarray(x), np.array(usual)
    usual[chosen] = rare(x[chosen])
    return usual


def _as(dtype: type) -> Callable[[Any], Array]:
    return lambda value: np.asarray(value, dtype)


class Struct:
    """A C structure: numbers and structures by name, and copied where C copies."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def copy(self) -> Struct:
        """Another structure with the same values."""
        return Struct(**{k: _copied(v) for k, v in self.__dict__.items()})


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, Struct) else value


def _horner(x: Any, *coefficients: Any, fma: Callable[..., Any]) -> Any:
    value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = fma(value, x, coefficient)
    return value


_PRIMITIVES: dict[str, Callable[..., Any]] = {
    "CHOOSE": _choose,
    "TRUTH": _truth,
    "COPIED": _copied,
    "STRUCT": Struct,
    "F64": _as(np.float64),
    "F32": _as(np.float32),
    "U64": _as(np.uint64),
    "U32": _as(np.uint32),
    "I64": _as(np.int64),
    "I32": _as(np.int32),
    "INT": lambda value: value,
    "fc_bits": lambda x: np.asarray(x, np.float64).view(np.uint64),
    "fc_from_bits": lambda u: np.asarray(u, np.uint64).view(np.float64),
    "fc_bits32": lambda x: np.asarray(x, np.float32).view(np.uint32),
    "fc_from_bits32": lambda u: np.asarray(u, np.uint32).view(np.float32),
    "FC_SELDOM": _seldom,
    "FC_MASK": lambda condition, bits: np.where(condition, np.uint64(bits), np.uint64(0)),
    "FC_ROUNDED": lambda value: value,
    "fc_absolute_f32": np.fabs,
    "fc_absolute_f64": np.fabs,
    "fc_copysign_f32": np.copysign,
    "fc_copysign_f64": np.copysign,
    "fc_isfinite_f32": np.isfinite,
    "fc_isfinite_f64": np.isfinite,
    "fc_isinf_f32": np.isinf,
    "fc_isinf_f64": np.isinf,
    "fc_sqrt_f64": np.sqrt,
    "__builtin_fabs": np.fabs,
    "__builtin_fabsf": np.fabs,
    "__builtin_copysign": np.copysign,
    "__builtin_copysignf": np.copysign,
    "__builtin_sqrt": np.sqrt,
    "__builtin_sqrtf": np.sqrt,
    "__builtin_rint": np.rint,
    "__builtin_inf": lambda: np.float64(np.inf),
    "__builtin_inff": lambda: np.float32(np.inf),
    "__builtin_nan": lambda _: np.float64(np.nan),
    "__builtin_nanf": lambda _: np.float32(np.nan),
}


class Translation:
    """The functions of C texts, by name, callable with arrays of one shape."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {**_PRIMITIVES, "np": np}
        self._structs: dict[str, list[str]] = {name: ["re", "im"] for name in _COMPLEX}
        self._tokens: list[str] = []
        self._at = 0

    def __getitem__(self, name: str) -> Callable[..., Array]:
        found: Callable[..., Array] = self._names[name]
        return found

    def add(self, text: str) -> None:
        """Translate one more text, which may use what earlier ones define."""
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).replace("\\\n", " ")
        lines = [line for line in _without_fma(text.splitlines()) if self._is_code(line)]
        self._tokens, self._at = _TOKEN.findall("\n".join(lines)), 0
        while self._at < len(self._tokens):
            self._definition()

    def replace(self, name: str, function: Callable[..., Any]) -> None:
        """Let all that was translated call ``function`` for ``name``."""
        self._names[name] = function

    def _is_code(self, line: str) -> bool:
        """Whether a line is not for the preprocessor; plain constants are taken down."""
        if not line.startswith("#"):
            return True
        constant = re.fullmatch(r"#define (\w+) ([-\w.+]+)\s*", line)
        if constant:
            self._names[constant[1]] = eval(_literal(constant[2]), {"np": np})
        return False

    # --- definitions ---------------------------------------------------------------------------

    def _next(self, expected: str = "") -> str:
        token = self._tokens[self._at]
        if expected and token != expected:
            around = " ".join(self._tokens[self._at - 8 : self._at + 4])
            raise SyntaxError(f"expected {expected!r} in the vector math headers: {around}")
        self._at += 1
        return token

    def _peek(self, ahead: int = 0) -> str:
        return self._tokens[self._at + ahead]

    def _definition(self) -> None:
        first = self._next()
        if first == "typedef":
            self._structure()
        elif first == "static":
            self._next("const")
            self._table()
        elif first == "FC_TABLE":
            self._table()
        else:
            assert first == "FC_FN", first
            self._function()

    def _structure(self) -> None:
        fields = []
        self._next("struct")
        self._next("{")
        while self._peek() != "}":
            self._next()
            fields.append(self._next())
            while self._peek() == ",":
                self._next()
                fields.append(self._next())
            self._next(";")
        self._next("}")
        self._structs[self._next()] = fields
        self._next(";")

    def _table(self) -> None:
        kind, name = self._next(), self._next()
        while self._next() != "{":
            pass
        values = []
        while self._peek() != "}":
            values.append(self._expression())
            if self._peek() == ",":
                self._next()
        self._next("}")
        self._next(";")
        self._names[name] = eval(f"{_SCALARS[kind]}([{', '.join(values)}])", self._names)

    def _function(self) -> None:
        result, name = self._next(), self._next()
        self._next("(")
        parameters = []
        while self._peek() != ")":
            if self._peek() == ",":
                self._next()
            parameters.append((self._next(), self._next()))
        self._next(")")
        if name in _PRIMITIVES:
            while self._next() != "}":
                pass
            return
        lines = [f"def {name}({', '.join(p for _, p in parameters)}):"]
        lines += [f"    {p} = {self._converted(kind, p)}" for kind, p in parameters]
        self._next("{")
        while self._peek() != "}":
            lines += [f"    {line}" for line in self._statement(result)]
        self._next("}")
        exec("\n".join(lines), self._names)

    def _converted(self, kind: str, text: str) -> str:
        return f"{_SCALARS.get(kind, 'COPIED')}({text})"

    # --- statements ----------------------------------------------------------------------------

    def _statement(self, result: str) -> Iterator[str]:
        if self._peek() == "return":
            self._next()
            yield f"return {self._converted(result, self._expression())}"
        elif self._peek() in _SCALARS or self._peek() in self._structs:
            kind = self._next()
            yield self._declared(kind)
            while self._peek() == ",":
                self._next()
                yield self._declared(kind)
        else:
            yield self._assignment()
            while self._peek() == ",":
                self._next()
                yield self._assignment()
        self._next(";")

    def _declared(self, kind: str) -> str:
        name = self._next()
        if self._peek() != "=":
            return f"{name} = {self._empty(kind)}"
        self._next()
        if self._peek() == "{":
            self._next()
            values = []
            for field in self._structs[kind]:
                values.append(f"{field}={self._expression()}")
                self._next("}" if field == self._structs[kind][-1] else ",")
            return f"{name} = STRUCT({', '.join(values)})"
        return f"{name} = {self._converted(kind, self._expression())}"

    def _empty(self, kind: str) -> str:
        return "None" if kind in _SCALARS else "STRUCT()"

    def _assignment(self) -> str:
        target = self._postfix()
        operator = self._next()
        value = self._expression()
        if operator == "=":
            return f"{target} = COPIED({value})"
        return f"{target} = {target} {operator[0]} ({value})"

    # --- expressions ---------------------------------------------------------------------------

    def _expression(self) -> str:
        condition = self._binary(0)
        if self._peek() != "?":
            return condition
        self._next()
        first = self._expression()
        self._next(":")
        return f"CHOOSE({condition}, {first}, {self._expression()})"

    def _binary(self, level: int) -> str:
        if level == len(_PRECEDENCE):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek() in _PRECEDENCE[level]:
            operator = self._next()
            right = self._binary(level + 1)
            if operator in ("&&", "||"):
                left = f"(TRUTH({left}) {operator[0]} TRUTH({right}))"
            else:
                left = f"({left} {operator} {right})"
        return left

    def _unary(self) -> str:
        token = self._peek()
        if token in "-~":
            self._next()
            return f"({token}{self._unary()})"
        if token == "(" and self._peek(1) in _SCALARS and self._peek(2) == ")":
            self._next()
            kind = self._next()
            self._next()
            return self._converted(kind, self._unary())
        return self._postfix()

    def _postfix(self) -> str:
        text = self._primary()
        while self._peek() in (".", "["):
            if self._next() == ".":
                text += f".{self._next()}"
            else:
                text += f"[{self._expression()}]"
                self._next("]")
        return text

    def _primary(self) -> str:
        token = self._next()
        if token == "(":
            inside = self._expression()
            self._next(")")
            return f"({inside})"
        if not re.match(r"[A-Za-z_]", token):
            return token if token.startswith('"') else _literal(token)
        if self._peek() != "(":
            return token
        self._next()
        arguments = []
        while self._peek() != ")":
            if self._peek() == ",":
                self._next()
            arguments.append(self._expression())
        self._next(")")
        if re.fullmatch(r"FC_[PQ]\d+", token):
            return f"HORNER({', '.join(arguments)}, fma=fc_fma{'f' * (token[3] == 'Q')})"
        return f"{token}({', '.join(arguments)})"


_PRIMITIVES["HORNER"] = _horner


def _without_fma(lines: list[str]) -> Iterator[str]:
    """The lines but for what ``#if`` keeps for processors with fused multiply-add."""
    dropping = False
    for line in lines:
        if line.startswith("#if defined(__FMA__)"):
            dropping = True
        elif line.startswith("#else"):
            dropping = False
        elif not dropping:
            yield line


def _literal(token: str) -> str:
    """A C number as Python text: typed where it is a fraction, plain where it is whole."""
    if re.fullmatch(r"0x[0-9a-fA-F]*\.?[0-9a-fA-F]*p[+-]?\d+f?|\d+\.\d*(?:e-?\d+)?f?", token):
        single = token.endswith("f") and (not token.startswith("0x") or "p" in token)
        number = token.removesuffix("f") if single else token
        value = float.fromhex(number) if number.startswith("0x") else float(number)
        return f"np.float{32 if single else 64}({value!r})"
    return str(int(token.rstrip("uUlL"), 0))
