"""Late: what stands in for CuPy is loaded when a script first asks for it.

A script that uses NumPy alone does not wait for it, nor for what Python's own classes of finders
and of paths are made of.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, cast

# By which other processes find it.
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in", "path")
NAMESPACE = f"{__name__.partition('.')[0]}.numpy"  # of lazy arrays, without which there are none


class CupyFinder:
    """Calls ``then`` once, when `cupy` has been imported."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then = then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "cupy":
            return None
        sys.meta_path.remove(self)
        return _and_then(name, path, target, self.then)


class StandInFinder:
    """Has ``then`` enter what stands in for `cupy`, once: on its import, or that of lazy arrays."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then = then
        self._lock = threading.RLock()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name in ("cupy", "cupyx"):
            return importlib.machinery.ModuleSpec(name, cast("Any", self))
        return _and_then(name, path, target, self.enter) if name == NAMESPACE else None

    def create_module(self, spec: Any) -> None:
        """None: a plain one will do."""

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
        spec.loader = cast("Any", _Loader(spec.loader, then))
    return spec


class _Loader:
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
