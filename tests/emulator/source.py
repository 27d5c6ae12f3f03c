"""Makes CUDA source a host translation unit without moving a line."""

import re
from dataclasses import dataclass

_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_CLUSTER = r"(?:(?:__cluster_dims__|FC_CLUSTER)\s*\(\s*(\d+)[^()]*\)\s*)?"
_ATTRIBUTE = r"(?:__launch_bounds__\s*\(([^()]*)\)\s*)?"
_KERNEL = re.compile(
    r"(?:__launch_bounds__\s*\(([^()]*)\)\s*)?"
    rf"__global__\s+{_ATTRIBUTE}void\s+{_CLUSTER}{_ATTRIBUTE}(\w+)\s*\("
)
_DYNAMIC = re.compile(
    r"\bextern\s+(?:(?:__align__|alignas)\s*\([^()]*\)\s*)?__shared__\s+"
    r"(?:(?:__align__|alignas)\s*\([^()]*\)\s*)?([\w:\s]+?(?:<[^<>;]*>)?)\s*\b(\w+)\s*\[\s*\]"
)
_READ_ONLY = re.compile(r"\bconst\b[^*]*\*\s*(?:const\s+)?__restrict__")
_CONSTANT = re.compile(
    r"\b(?:const\s+__constant__|__constant__\s+(?:const|constexpr)|__constant__)\b"
)
_CUDA_INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*[<"](?:cuda|math|cmath)[^\n]*', re.MULTILINE
)


@dataclass(frozen=True)
class Kernel:
    """A kernel as its source declares it."""

    name: str
    parameters: tuple[str, ...]
    max_threads: int | None
    cluster: int = 1
    read_only: tuple[bool, ...] = ()  # pointers that the compiler takes for such: const, restrict


def blank_comments(source: str) -> str:
    """The source with comments (not strings) blanked, all lines in place."""

    def blank(match: re.Match[str]) -> str:
        text = match.group()
        return text if text[0] == '"' else re.sub(r"[^\n]", " ", text)

    return _COMMENT_OR_STRING.sub(blank, source)


def _parameters(source: str, start: int) -> list[str]:
    """The parameters of the list that starts behind the bracket at `start`."""
    depth, found, piece = 1, [], ""
    for char in source[start:]:
        depth += (char in "([{<") - (char in ")]}>")
        if depth == 0 or (depth == 1 and char == ","):
            found.append(piece)
            piece = ""
            if depth == 0:
                break
        else:
            piece += char
    return [p for p in found if p.split() not in ([], ["void"])]


def find_kernels(source: str) -> dict[str, Kernel]:
    """The kernels defined in a source, by name."""
    text = blank_comments(source)
    found = {}
    for match in _KERNEL.finditer(text):
        *given, name = match.groups()
        blocks = int(given.pop(2) or 1)
        bounds = next((g for g in given if g), "").split(",")[0].strip()
        limit = int(bounds) if bounds.isdigit() else None
        parameters = _parameters(text, match.end())
        names = tuple(re.findall(r"\w+", p)[-1] for p in parameters)
        read_only = tuple(bool(_READ_ONLY.search(p)) for p in parameters)
        found[name] = Kernel(name, names, limit, blocks, read_only)
    return found


def translation_unit(source: str, kernels: dict[str, Kernel]) -> str:
    """What the host compiler gets: the source, and an entry for each kernel."""
    text = blank_comments(source)
    text = _CUDA_INCLUDE.sub("", text)
    text = _DYNAMIC.sub(r"\1 *const \2 = (\1 *)emu_dynamic()", text)
    text = _CONSTANT.sub("const", text)
    entries = "\n".join(f"EMU_ENTRY({name})" for name in kernels)
    return f'#line 1 "kernel.cu"\n{text}\n#line 1 "entries"\n{entries}\n'
