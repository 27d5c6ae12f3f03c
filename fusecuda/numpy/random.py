"""`numpy.random` for lazy arrays: NumPy draws the numbers, at once; the arrays are lazy.

`counter_rng` is ours: what its generators draw is computed in the kernels that use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..capture.arrays.counters import CounterGenerator, counter_rng
from ..capture.arrays.wrapping import DRAWING, Drawing, Unbound, member

_LEFT_OUT = frozenset({"test"})  # NumPy's own tests

__all__ = ["CounterGenerator", "counter_rng"]
__all__ += list(sorted(set(np.random.__all__) - _LEFT_OUT))


class Generator(Drawing):
    """A `numpy.random.Generator` whose methods give lazy arrays."""

    kind = np.random.Generator

    def __init__(self, bit_generator: Any) -> None:
        self._numpy = np.random.Generator(bit_generator)

    def _drawing(self, method: Any, name: str) -> Any:
        made = vars(self)[name] = super()._drawing(method, name)
        return made

    def __reduce__(self) -> Any:  # without the methods, which draw from this one
        return type(self), (self.bit_generator,)

    def spawn(self, n_children: int) -> list[Generator]:
        """Create new independent child generators."""
        return [Generator(child.bit_generator) for child in self._numpy.spawn(n_children)]

    def __repr__(self) -> str:
        return repr(self._numpy)


DRAWING[np.random.Generator] = Generator


@Unbound
def default_rng(seed: Any = None) -> Generator:
    """Construct a new Generator with the default BitGenerator (PCG64)."""
    if isinstance(seed, Generator):
        return seed
    return Generator(np.random.default_rng(seed).bit_generator)


def __getattr__(name: str) -> Any:
    if name in _LEFT_OUT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = member(np.random, name, __name__)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
