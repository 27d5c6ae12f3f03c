"""The kernels and the driver of the C back end, compiled or from the disk."""

from __future__ import annotations

from collections.abc import Sequence

from .loader import KernelSource, LoadedKernel, kernels_at_hand, load_kernels
from .texts import ABI, DRIVER, driver, epilogue, prelude


def compile_kernels(
    sources: Sequence[KernelSource], traffic: bool = False, most: int | None = None
) -> dict[str, LoadedKernel]:
    """The loaded kernels by symbol; raises CompilerError where they cannot be had.

    At ``most`` so many compilers run at once, by default as many as there are processors.
    """
    return load_kernels(sources, prelude(traffic), epilogue(), abi=ABI, most=most)


def load_driver() -> LoadedKernel:
    """The driver, from a library of its own; raises CompilerError where it cannot be had."""
    source = KernelSource(DRIVER, driver())
    return load_kernels([source], prelude(), epilogue(), abi=ABI)[DRIVER]


def are_at_hand(sources: Sequence[KernelSource]) -> bool:
    """True if these kernels, and the driver, can be had without a compiler, or cannot at all."""
    return is_driver_at_hand() and kernels_at_hand(sources, prelude(), epilogue(), abi=ABI)


def is_driver_at_hand() -> bool:
    """True if the driver can be had without a compiler, or not at all."""
    source = KernelSource(DRIVER, driver())
    return kernels_at_hand([source], prelude(), epilogue(), abi=ABI)
