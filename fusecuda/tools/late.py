"""Late: what stands in for CuPy is loaded when a script first asks for it.

A script that uses NumPy alone does not wait for it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATH = str(Path(__file__).with_name("stand_in") / "path")  # by which other processes find it
_PACKAGE = __name__.partition(".")[0]
CAPTURE, _NAMESPACE = f"{_PACKAGE}.capture", f"{_PACKAGE}.numpy"


class CupyFinder(importlib.abc.MetaPathFinder):
    """Calls ``then`` once, when `cupy` has been imported."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then = then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "cupy":
            return None
        sys.meta_path.remove(self)
        return _and_then(name, path, target, self.then)


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Has ``then`` enter what stands in for `cupy`, once: on its import, or that of lazy arrays."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then = then
        self._lock = threading.RLock()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name in ("cupy", "cupyx"):
            return importlib.machinery.ModuleSpec(name, self)
        is_first = name == CAPTURE and _NAMESPACE not in sys.modules
        if is_first or name == _NAMESPACE:  # which must be whole, for it is CuPy's
            return _and_then(name, path, target, self.enter)
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        """Others are among the imported modules under its name then."""
        self.enter()

    def enter(self) -> None:
        """Have it entered now, if it has not been."""
        with self._lock:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.then()


def _and_then(name: str, path: Any, target: Any, then: Callable[[], None]) -> Any:
    """How a module is loaded, with ``then`` called when it has been."""
    spec = importlib.machinery.PathFinder.find_spec(name, path, target)
    if spec is not None and spec.loader is not None:
        spec.loader = _Loader(spec.loader, then)
    return spec


class _Loader(importlib.abc.Loader):
    """Loads as ``loader`` does, and says when it is done."""

    def __init__(self, loader: Any, then: Callable[[], None]) -> None:
        self.loader = loader
        self.then = then

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        self.loader.exec_module(module)
        self.then()
