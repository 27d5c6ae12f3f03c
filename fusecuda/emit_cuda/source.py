"""The CUDA source of one kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CudaSource:
    """CUDA C of one kernel: its entry's name, the text, and its parameters (name, C type).

    ``function`` is the same as a function of the block's number, for a launch that it shares;
    ``members`` are the kernels of a shared one.
    """

    symbol: str
    text: str
    parameters: tuple[tuple[str, str], ...]
    function: str = ""
    members: tuple[CudaSource, ...] = ()
