"""`cupyx` on the CPU: scatters, and SciPy's functions under CuPy's names, where SciPy is."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

import fusecuda.numpy as namespace

from ...capture.arrays.wrapping import is_function, made


def scatter_add(a: Any, slices: Any, value: Any) -> None:
    """As `cupyx.scatter_add`."""
    np.add.at(a, slices, value)


def scatter_max(a: Any, slices: Any, value: Any) -> None:
    """As `cupyx.scatter_max`."""
    np.maximum.at(a, slices, value)


def scatter_min(a: Any, slices: Any, value: Any) -> None:
    """As `cupyx.scatter_min`."""
    np.minimum.at(a, slices, value)


def rsqrt(x: Any) -> Any:
    """As `cupyx.rsqrt`."""
    return 1 / namespace.sqrt(x)


@contextlib.contextmanager
def errstate(**_: Any) -> Iterator[None]:
    """As `cupyx.errstate`: on the CPU NumPy raises what it raises."""
    yield


class _SciPy(types.ModuleType):
    """A module of SciPy's whose functions take lazy arrays and give some."""

    __path__: list[str] = []  # noqa: RUF012 - its parts are found by `Finder`

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found: Any = None
        if self.__name__ == "cupyx.scipy.special" and name in dir(namespace.special):
            found = getattr(namespace.special, name)  # which are recorded
        else:
            theirs = importlib.import_module(self.__name__.removeprefix("cupyx."))
            found = getattr(theirs, name)
            if isinstance(found, types.ModuleType):
                return importlib.import_module(f"{self.__name__}.{name}")
            if is_function(found):
                found = made(found, name, __name__)
        setattr(self, name, found)
        return found


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of `cupyx.scipy` that SciPy has."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        scipys = name.removeprefix("cupyx.")
        if not name.startswith("cupyx.scipy.") or importlib.util.find_spec(scipys) is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _SciPy(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """All is made when it is asked for."""


module: Any = types.ModuleType("cupyx")
module.__path__ = ()
module.scipy = _SciPy("cupyx.scipy")
for _function in (scatter_add, scatter_max, scatter_min, rsqrt, errstate):
    setattr(module, _function.__name__, _function)
module.empty_pinned, module.zeros_pinned = np.empty, np.zeros
