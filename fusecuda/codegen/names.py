"""Names in emitted code: every value, form and argument of a kernel has a fixed, numbered one."""

from __future__ import annotations

from ..fusion.kernel_ir import KernelIR


def value(number: int) -> str:
    """The name of SSA value ``number``."""
    return f"v{number}"


def pointer(kernel: KernelIR, form: int) -> str:
    """The name of address form ``form``: ``in3`` if it is read, ``out3`` if it is written."""
    return f"{'out' if kernel.forms[form].store else 'in'}{form}"


def index(form: int) -> str:
    """The name of the value of index form ``form``."""
    return f"at{form}"


def origin(form: int) -> str:
    """The name of the integer argument from which index form ``form`` counts."""
    return f"origin{form}"


def stride(form: int, axis: str) -> str:
    """The name of the stride of ``form`` along axis ``n0`` (in a row), ``m0`` (rows), …"""
    return f"s{form}_{axis}"


def whole(form: int) -> str:
    """The name of the argument that tells if all packs of ``form`` are aligned neighbours."""
    return f"whole{form}"


def limit(number: int) -> str:
    """The name of integer argument ``number``."""
    return f"limit{number}"
