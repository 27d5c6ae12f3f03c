"""What of a C text other text needs: the declarations that it reaches by their names.

A text is cut into items: a directive of the preprocessor, a declaration, a function, or a line of
macros that declare. An item is needed where one of its names stands in the text that asks, or in an
item that is needed. Which side of an `#if` holds is left to the compiler: items on all sides are
needed alike, and stay between the directives that are around them.

Where macros make names (`fc_##name##_##t`), what they expand to tells which.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_NAME = re.compile(r"\b[A-Za-z_]\w*")
_DIRECTIVE = re.compile(r"#\s*(\w+)\s*(.*)", re.DOTALL)
_MACRO = re.compile(r"(\w+)(?:\(([^()]*)\))?[ \t]*(.*)", re.DOTALL)
_DECLARING = re.compile(r"[A-Z][A-Z0-9_]*\s*\(")  # begins an item: a macro that declares
_SEEN_OUTSIDE = re.compile(r"(?!static|typedef|enum|struct|union|FC_)[^;]*\{")  # a function
_ENUM = re.compile(r"\benum\s*\w*\s*\{([^}]*)\}")
_ATTRIBUTE = re.compile(r"__(?:attribute__|asm__)\s*")
_OF_VECTORS = re.compile(r"_ZGV[a-zA-Z]N\d+v+_")  # before the name of the function of one element
_UNNAMED = ("enum", "struct", "union")
_BRACES = re.compile(r"\{[^{}]*\}")
_BRACKET = re.compile(r"[()\[\]{},]")
_END = re.compile(r"[()\[\]{},;=]")
_WANTED = re.compile(r"\bFC_WANTS_(\w+)")
_OF_LIBM = "ceil floor fmod nextafter rint sqrt trunc"  # processors lack instructions for some
_MATH = {"HUGE_VAL", "HUGE_VALF", "INFINITY", "NAN", "copysign", "copysignf", "fabs", "fabsf"}
_MATH.update(f"{b}{n}{f}" for n in _OF_LIBM.split() for b in ("", "__builtin_") for f in ("", "f"))
_HEADERS = {"<math.h>": _MATH}  # what asks for a header; others are always there


@dataclass(frozen=True)
class Item:
    """A part of a text that stands or falls as one, with the comment above it."""

    text: str
    bare: str  # without comments
    around: tuple[int, ...]  # places of the `#if`s that it stands in

    @cached_property
    def directive(self) -> tuple[str, str]:
        """The word behind `#` and what follows, both empty of other items."""
        match = _DIRECTIVE.match(self.bare)
        return (match[1], match[2]) if match else ("", "")


@dataclass(frozen=True)
class Macro:
    """One of the definitions of a macro with parameters."""

    parameters: tuple[str, ...]
    body: str

    @cached_property
    def outside(self) -> str:
        """What of its body stands in no braces."""
        return _outside(self.body)


class CutText:
    """A C text in items, of which others need some."""

    def __init__(self, text: str) -> None:
        self.items: list[Item] = []
        self._ifs: dict[int, list[int]] = {}  # by the place of an #if all that belong to it
        self._declared: dict[int, frozenset[str]] = {}
        around: list[int] = []
        for piece in _pieces(text):
            place = len(self.items)
            item = Item(piece, _COMMENT.sub(" ", piece).strip(), tuple(around))
            self.items.append(item)
            word = item.directive[0]
            if word.startswith("if"):
                around.append(place)
                self._ifs[place] = [place]
            elif word.startswith(("el", "endif")):
                self._ifs[around[-1]].append(place)
            if word == "endif":
                around.pop()
        assert not around, "an #if without its #endif"

    def reached(self, asking: Iterable[str], wanted: Collection[str] = ()) -> str:
        """The items that the texts ``asking`` need, in their order.

        What stands in `#if defined(FC_WANTS_name)` is there if `name` is among the ``wanted``.
        """
        places: dict[str, list[int]] = {}
        for place in range(len(self.items)):
            if self._is_wanted(place, wanted):
                for name in self._names_declared(place):
                    places.setdefault(name, []).append(place)
        seen = {name for text in asking for name in self._names(text)} | {_ALWAYS}
        left, kept = list(seen), set[int]()
        while left:
            for place in places.get(left.pop(), ()):
                if place not in kept:
                    new = self._needed_by(place) - seen
                    left += new
                    seen |= new
                    kept.add(place)
                    kept.update(p for i in self.items[place].around for p in self._ifs[i])
        return "\n".join(self.items[place].text for place in sorted(kept))

    def _is_wanted(self, place: int, wanted: Collection[str]) -> bool:
        found = (_WANTED.findall(self.items[p].bare) for p in self.items[place].around)
        return all(any(name in wanted for name in names) for names in found if names)

    def _needed_by(self, place: int) -> set[str]:
        item = self.items[place]
        conditions = (self.items[p].bare for i in item.around for p in self._ifs[i])
        return self._names(item.bare).union(*map(_NAME.findall, conditions))

    def _names(self, text: str) -> set[str]:
        """All that a text names, itself or through macros."""
        names = set(_NAME.findall(text))
        if not names.isdisjoint(self._macros):
            names.update(_NAME.findall(self._expanded(text)))
        return names

    def _names_declared(self, place: int) -> frozenset[str]:
        found = self._declared.get(place)
        if found is None:
            found = self._declared[place] = frozenset(self._declares(self.items[place]))
        return found

    def _declares(self, item: Item) -> Iterator[str]:
        word, rest = item.directive
        if word in ("define", "undef"):
            yield _MACRO.match(rest)[1]  # type: ignore[index]
        elif word in ("include", "pragma"):
            yield from _HEADERS.get(rest, (_ALWAYS,))
        elif _DECLARING.match(item.bare):
            yield from _declared(self._expanded(item.bare, bodies=False))
        elif not word:
            yield from _declared(item.bare)
            if _SEEN_OUTSIDE.match(item.bare):
                yield _ALWAYS

    # --- macros ---------------------------------------------------------------------------------

    @cached_property
    def _macros(self) -> dict[str, list[Macro]]:
        """The definitions of each macro with parameters, on all sides of an `#if`."""
        found: dict[str, list[Macro]] = {}
        for item in self.items:
            word, rest = item.directive
            match = _MACRO.match(rest) if word == "define" else None
            if match and match[2] is not None:
                parameters = tuple(p.strip() for p in match[2].split(","))
                found.setdefault(match[1], []).append(Macro(parameters, match[3]))
        return found

    @cached_property
    def _calls(self) -> re.Pattern[str]:
        return re.compile(rf"\b({'|'.join(self._macros) or '(?!)'})\s*\(")

    def _expanded(self, text: str, bodies: bool = True, within: tuple[str, ...] = ()) -> str:
        """``text`` with, behind each macro's name, what its definitions make of the call."""
        made: list[str] = []
        end = 0
        for call in self._calls.finditer(text):
            if call.start() < end or call[1] in within:
                continue
            made += text[end : call.start()], call[1]
            operands, end = _operands(text, call.end())
            for macro in self._macros[call[1]]:
                body = macro.body if bodies else macro.outside
                inner = _substituted(macro.parameters, operands, body)
                made.append(self._expanded(inner, bodies, (*within, call[1])))
        return " ".join([*made, text[end:]])


_ALWAYS = ""  # the name of what is needed though nobody names it


def _pieces(text: str) -> Iterator[str]:
    """The items of a text, each with the comment that is right above it."""
    above: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        if not line.strip():
            above.clear()
            continue
        taken = [line]
        while not _is_whole("\n".join(taken)) and (more := next(lines, None)) is not None:
            taken.append(more)
        above += taken
        if _COMMENT.sub("", "\n".join(taken)).strip():
            yield "\n".join(above)
            above.clear()


def _is_whole(text: str) -> bool:
    if text.startswith("#"):
        return not text.endswith("\\")
    bare = _COMMENT.sub("", text).strip()
    if "/*" in bare or any(bare.count(a) != bare.count(b) for a, b in ("()", "{}")):
        return False
    return not bare or bare[-1] in ";}" or (bare[-1] == ")" and bool(_DECLARING.match(bare)))


def _outside(text: str) -> str:
    """What of a text stands in no braces, each pair of which ends what is before it."""
    while (less := _BRACES.sub(";", text)) != text:
        text = less
    return text


def _operands(text: str, start: int) -> tuple[list[str], int]:
    """The operands of the call whose parenthesis opens before ``start``, and where it ends."""
    depth, found, begin = 0, [], start
    for bracket in _BRACKET.finditer(text, start):
        depth += (bracket[0] in "([{") - (bracket[0] in ")]}")
        if depth < 0 or (depth == 0 and bracket[0] == ","):
            found.append(text[begin : bracket.start()].strip())
            begin = bracket.end()
        if depth < 0:
            break
    return found, begin


def _substituted(parameters: tuple[str, ...], operands: list[str], body: str) -> str:
    """The body of a macro with the operands of a call, joined where `##` joins them."""
    if parameters[-1] == "...":
        count = len(parameters) - 1
        operands = [*operands[:count], ", ".join(operands[count:])]
        parameters = (*parameters[:-1], "__VA_ARGS__")
    by_name = dict(zip(parameters, operands, strict=False))
    return re.sub(r"\s*##\s*", "", _NAME.sub(lambda m: by_name.get(m[0], m[0]), body))


def _declared(text: str) -> Iterator[str]:
    """The names that a text declares, functions of vectors by that of one element, too."""
    for members in _ENUM.findall(text):
        yield from _NAME.findall(members)
    text = _ATTRIBUTE.sub("", text)
    depth, end = 0, 0
    for bracket in _END.finditer(text):
        if depth == 0 and bracket[0] not in ")]}":
            names = _NAME.findall(text[end : bracket.start()])
            if names and names[-1] not in _UNNAMED:
                yield _OF_VECTORS.sub("", names[-1])
        depth += (bracket[0] in "([{") - (bracket[0] in ")]}")
        end = bracket.end()
