"""The CUDA source of one kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CudaSource:
    """CUDA C of one kernel: its entry's name, the text, and its parameters (name, C type).

    ``function`` is the same as a function of the block's number, for a launch that it shares, of
    which one block does the work of ``own_blocks``; ``bounds`` are those of its launches, of whose
    blocks so many are a ``cluster``, and ``members`` the kernels of a shared one.
    """

    symbol: str
    text: str
    parameters: tuple[tuple[str, str], ...]
    function: str = ""
    bounds: str = ""
    own_blocks: int = 1
    cluster: int = 1
    members: tuple[CudaSource, ...] = ()
