"""Gates: native entry points that read arrays' pointers themselves, closed while blocks are active.

A call of a raw kernel, of a function of a module or of a reduction kernel first computes all that
is pending; the call slots of those extension types are exchanged for that.
"""

from __future__ import annotations


def close() -> None:
    """Put the gates up."""


def open_() -> None:
    """Take them away."""
