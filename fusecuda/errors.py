"""The exceptions that fusecuda raises where NumPy has none of its own."""

from __future__ import annotations


class FusecudaError(Exception):
    """Base of every error that is fusecuda's and not NumPy's."""


class CompilerError(FusecudaError, RuntimeError):
    """The system compiler is missing, failed, hung, or produced something unusable."""


class GraphError(FusecudaError, ValueError):
    """A graph breaks a rule of the op table: a fault of ours, or of hand-written HLO text."""


class NotFusedError(FusecudaError, RuntimeError):
    """Under ``fused(strict=True)``: something would have run unfused; says what and why."""


class FlushError(FusecudaError, RuntimeError):
    """A pending array could not be computed; raised whenever that array is touched."""


class GraphRefusedError(FusecudaError, RuntimeError):
    """A device makes, changes or launches no graph of kernels; they are started one by one."""


def is_before_effects(error: BaseException) -> bool:
    """True for an error that is raised before any argument is overwritten."""
    return isinstance(error, CompilerError) or getattr(error, "before_effects", False)


def mark_before_effects(error: Exception) -> None:
    """Let it be known that ``error`` was raised before any argument was overwritten."""
    error.before_effects = True  # type: ignore[attr-defined]
