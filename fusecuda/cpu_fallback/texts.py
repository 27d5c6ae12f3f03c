"""The C texts that are the same for all kernels: what stands around them, and the driver."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ..codegen.texts import complex_text, read

if TYPE_CHECKING:
    from ..codegen.reached import CutText

ABI = 4
DRIVER = "fc_run"  # the driver's entry
SPECIAL = ("vecmath_gamma.h", "vecmath_normal.h", "vecmath_special.h")
_PACKED = re.compile(  # by vecmath_packs.h and, of floats that look numbers up, vecmath_lookups.h
    r"\bfc_((?:sin|cos|tan|power|log|log2|log10|log1p)_f(?:64|32)"
    r"|(?:arcsinh|arccosh|arctanh|arctan)_f64|(?:tanh|erf|arctan2)_f32)\("
)
_REMAINDER = re.compile(r"\bfc_(?:fmod|remainder|floor_divide)_(f64|f32|s64|u64)\(")
_DIVIDED = {"f64": "mod_f64", "f32": "mod_f32", "s64": "quotient_s64", "u64": "quotient_u64"}
_CALLERS = (  # of others
    (re.compile(r"\bfc_(?:exp|sin|cos|sinh|cosh)_c(?:64|128)\("), ("sin_f64", "cos_f64")),
    (re.compile(r"\bfc_log_c(?:64|128)\("), ("log_f64", "log1p_f64")),
    (re.compile(r"\bfc_cosm1_f(?:32|64)\("), ("sin_f64",)),
    (re.compile(r"\bfc_logaddexp2_f64\("), ("log1p_f64",)),
    (re.compile(r"\bfc_logaddexp2_f32\("), ("log1p_f32",)),
)


def prelude(traffic: bool = False) -> str:
    """What kernels may need: of it, `unit` puts above them what they do."""
    return _prelude(traffic)


@cache
def _prelude(traffic: bool) -> str:
    """As `prelude`, which is called with the argument and without, put together once."""
    return "\n".join(
        [
            read("cpu_fallback", "abi.h"),
            _vector_math(),
            read("codegen", "integers.h"),
            read("cpu_fallback", "casts.h"),
            read("cpu_fallback", "division.h"),
            read("codegen", "philox.h"),
            read("codegen", "prelude.h"),
            read("codegen", "powers.h"),
            read("codegen", "halves.h"),
            read("codegen", "extremes.h"),
            read("codegen", "bfloats.h"),
            complex_text(),
            read("cpu_fallback", "scans.h"),
            read("cpu_fallback", "runs.h"),
            read("cpu_fallback", "quotients.h"),
            read("codegen", "search.h"),
            read("cpu_fallback", "search.h"),
            read("codegen", "reduce.h"),
            *(read("cpu_fallback", name) for name in SPECIAL),
            read("cpu_fallback", "philox_packs.h"),
            read("cpu_fallback", "halves_packs.h"),
            read("cpu_fallback", "traffic.h") if traffic else "",
        ]
    )


def epilogue() -> str:
    """What stands below them: the ABI's number, which a library is asked for when it is loaded."""
    return f"int64_t fc_abi(void) {{ return {ABI}; }}"


@cache
def driver() -> str:
    """The driver, which runs the kernels of every library, as the text of one more kernel."""
    return "\n".join([launcher(), read("cpu_fallback", "array_objects.h")])


def launcher() -> str:
    """Its part that knows nothing of Python: `fc_run_all` runs launches over addresses."""
    return read("cpu_fallback", "driver.h")


def packed(kernels: Sequence[str]) -> list[str]:
    """The functions called in ``kernels``, or by what they call, that vectors have versions of."""
    found = {name.replace("power", "pow") for text in kernels for name in _PACKED.findall(text)}
    found |= {_DIVIDED[t] for text in kernels for t in _REMAINDER.findall(text)}
    for pattern, names in _CALLERS:
        if any(pattern.search(text) for text in kernels):
            found.update(names)
    return sorted(found)


def unit(above: str, texts: Iterable[str], below: str) -> str:
    """The one C text of a library: kernels, above them what of `above` they need, and `below`."""
    kernels = tuple(texts)
    wanted = packed(kernels)
    needed = _cut(above).reached((*kernels, below), wanted)
    defined = [f"#define FC_WANTS_{name}" for name in wanted]
    return "\n".join((*defined, needed, *kernels, below, ""))


@lru_cache(maxsize=2)
def _cut(text: str) -> CutText:
    from ..codegen.reached import CutText  # noqa: PLC0415 - most processes compile nothing

    return CutText(text)


@cache
def probe() -> str:
    """The text that a compiler must take to be of use: what all kernels need, and the driver.

    It is the very text of the driver's library, so that what the probe builds is of use too.
    """
    return unit(*probed())


def probed() -> tuple[str, list[str], str]:
    """What the probe is made of, which tells it apart as well and takes no time."""
    return prelude(), [driver()], epilogue()


def _vector_math() -> str:
    """The vector math headers as one text, each include replaced by the file it names."""
    lines = []
    for line in read("cpu_fallback", "vecmath.h").splitlines():
        if line.startswith('#include "'):
            lines.append(read("cpu_fallback", line.split('"')[1]))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"
