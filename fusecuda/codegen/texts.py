"""The texts that stand above kernels, as files of the package."""

from __future__ import annotations

import re
from functools import cache
from pkgutil import get_data


@cache
def read(folder: str, name: str) -> str:
    """The text of the file ``name`` of the room ``folder``."""
    data = get_data(f"fusecuda.{folder}", name)
    assert data is not None
    return data.decode()


@cache
def complex_text() -> str:
    """Arithmetic of complex doubles, the same text for complex floats, and their functions."""
    text = read("codegen", "complex.h")
    single = re.sub(r"/\*.*?\*/\s*", "", text, flags=re.DOTALL)
    for double, float_ in (("double", "float"), ("_f64", "_f32"), ("c128", "c64")):
        single = single.replace(double, float_)
    return "\n".join([text, single, read("codegen", "complex_functions.h")])
