"""Slots: pointers in other libraries' objects, in whose places we put our own for a while.

A slot may be taken twice at a time: by a hook, which counts and calls what stood there, and by a
lookup, which leads to a method of Python's. Whoever leaves does not take the other one away.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any

_lock = threading.RLock()
_CALL = ctypes.PYFUNCTYPE(*[ctypes.py_object] * 4)  # of a call slot: the result, object, operands


class Slot:
    """A pointer: ``native`` is what its library has put there."""

    def __init__(self, address: int) -> None:
        self._pointer = ctypes.c_void_p.from_address(address)
        self.native = self._pointer.value
        self._latest = self.native
        self._hook: int | None = None
        self._lookup: int | None = None

    @property
    def now(self) -> int | None:
        """What stands there."""
        return self._pointer.value

    def hook(self, value: int | None) -> None:
        """Let ``value`` stand before what is native; None: no longer."""
        with _lock:
            self._hook = value
            self._point()

    def lookup(self, value: int | None) -> None:
        """Let ``value`` stand in the place of all others; None: no longer."""
        with _lock:
            self._lookup = value
            self._point()

    def _point(self) -> None:
        if self.now == self._latest:  # another than us that has come there meanwhile stays
            self._latest = self._pointer.value = self._lookup or self._hook or self.native

    def beneath(self, native: Callable[..., Any]) -> Callable[..., Any]:
        """What calls the hook of this call slot, or ``native`` where there is none."""

        @functools.wraps(native)
        def call(called: Any, /, *args: Any, **kwargs: Any) -> Any:
            hook = self._hook
            if hook is None:
                return native(called, *args, **kwargs)
            return _CALL(hook)(called, args, kwargs or ctypes.py_object())

        return call


slot_at = functools.lru_cache(maxsize=None)(Slot)
