"""Expressions: a program is run on names, and its operations write the text that numexpr takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LONGEST = 20_000  # characters: what is used twice is written twice


class Expression:
    """An operand whose operations write numexpr's text; what numexpr has not raises."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise NotImplementedError(f"as one expression it has over {LONGEST:,} characters")
        self.text = text

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(f"expressions have no .{name}")

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError("expressions have no parts")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError("expressions have no parts")

    def __bool__(self) -> bool:
        raise NotImplementedError("expressions have no truth")

    def __iter__(self) -> Any:
        raise NotImplementedError("expressions have no parts")


def _text(value: Any) -> str:
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, bool | int | float | complex):
        return repr(value)
    raise NotImplementedError(f"expressions have no {type(value).__name__}")


def _forward(symbol: str) -> Callable[..., Expression]:
    return lambda a, b: Expression(f"({_text(a)} {symbol} {_text(b)})")


def _backward(symbol: str) -> Callable[..., Expression]:
    return lambda a, b: Expression(f"({_text(b)} {symbol} {_text(a)})")


for _name, _symbol in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("pow", "**"),
                       ("mod", "%"), ("and", "&"), ("or", "|"), ("xor", "^")):  # fmt: skip
    setattr(Expression, f"__{_name}__", _forward(_symbol))
    setattr(Expression, f"__r{_name}__", _backward(_symbol))
for _name, _symbol in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="),
                       ("ne", "!=")):  # fmt: skip
    setattr(Expression, f"__{_name}__", _forward(_symbol))
for _name, _symbol in (("neg", "-"), ("invert", "~")):
    setattr(Expression, f"__{_name}__", lambda a, symbol=_symbol: Expression(f"({symbol}{a.text})"))
Expression.__abs__ = lambda a: Expression(f"abs({a.text})")  # type: ignore[attr-defined]


class Namespace:
    """numexpr's functions as a module of arrays would have them; others raise."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Callable[..., Expression]:
        if name not in self._names:
            raise NotImplementedError(f"it has no {name}")

        def called(*args: Any, **kwargs: Any) -> Expression:
            words = [_text(a) for a in args]
            words += [f"{key}={_text(value)}" for key, value in kwargs.items()]
            return Expression(f"{name}({', '.join(words)})")

        return called


def written(function: Callable[..., Any], count: int) -> tuple[list[str], list[str], bool]:
    """The names of ``count`` arguments, the texts of the results, and if there is only one."""
    names = [f"v{i}" for i in range(count)]
    results = function(*map(Expression, names))
    single = isinstance(results, Expression)
    return names, [_text(r) for r in ([results] if single else results)], single
