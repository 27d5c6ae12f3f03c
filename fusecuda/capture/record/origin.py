"""Origin: whether code is the user's own, or a library's."""

from __future__ import annotations

import functools
import sys
import sysconfig
from typing import Any

_FOLDERS = tuple(
    {sysconfig.get_path(name) + "/" for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_STANDARD = sysconfig.get_path("stdlib") + "/"
HEAP_TYPE = 1 << 9  # the flag of classes that Python code defines
_PLAIN = frozenset({"argparse"})  # of the standard library, with classes that only hold values


def module_of(value: Any) -> str:
    """The name of the module that says it holds ``value``, an empty string if none does.

    Types of compiled code may hold a descriptor under that name: they count as Python's own.
    """
    name = getattr(value, "__module__", None)
    return name if isinstance(name, str) else "" if name is None else "builtins"


def attribute_of(value: Any, name: str) -> Any:
    """An attribute, None without one; a class's own `__getattr__`, which may fail, is not asked."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return None


@functools.lru_cache(maxsize=4096)
def is_users(module: str | None) -> bool:
    """True for a module that is neither Python's own nor installed, such as ``__main__``."""
    root = (module or "").partition(".")[0]
    if root in _PLAIN:
        return True
    if root in ("__main__", "") or root not in sys.modules:
        return True
    if root in sys.stdlib_module_names or root in sys.builtin_module_names or root == "fusecuda":
        return False
    file = getattr(sys.modules[root], "__file__", None) or ""
    return not file.startswith(_FOLDERS) or (
        "site-packages" not in file and "dist-packages" not in file and not is_standard(file)
    )


def is_standard(file: str) -> bool:
    """True for a file of the standard library."""
    inside = file.startswith(_STANDARD)
    return inside and "site-packages" not in file
