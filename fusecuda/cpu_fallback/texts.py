"""The C texts that are the same for all kernels: what stands around them, and the driver."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources

ABI = 2
DRIVER = "fc_run"  # the driver's entry


@cache
def prelude(traffic: bool = False) -> str:
    """What stands above the kernels of every translation unit."""
    return "\n".join(
        [
            _read("cpu_fallback", "abi.h"),
            _vector_math(),
            _read("codegen", "integers.h"),
            _read("codegen", "prelude.h"),
            _read("cpu_fallback", "runs.h"),
            _read("codegen", "reduce.h"),
            _read("cpu_fallback", "traffic.h") if traffic else "",
        ]
    )


def epilogue() -> str:
    """What stands below them: the ABI's number, which a library is asked for when it is loaded."""
    return f"int64_t fc_abi(void) {{ return {ABI}; }}"


@cache
def driver() -> str:
    """The driver, which runs the kernels of every library, as the text of one more kernel."""
    return _read("cpu_fallback", "driver.h")


def unit(above: str, texts: Iterable[str], below: str) -> str:
    """The one C text of a library: what stands above the kernels, they, and what stands below."""
    return "\n".join((above, *texts, below, ""))


@cache
def probe() -> str:
    """The text that a compiler must take to be of use: all that kernels may need, and the driver.

    It is the very text of the driver's library, so that what the probe builds is of use too.
    """
    return unit(prelude(), [driver()], epilogue())


def _vector_math() -> str:
    """The vector math headers as one text, each include replaced by the file it names."""
    lines = []
    for line in _read("cpu_fallback", "vecmath.h").splitlines():
        if line.startswith('#include "'):
            lines.append(_read("cpu_fallback", line.split('"')[1]))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _read(folder: str, name: str) -> str:
    return resources.files(f"fusecuda.{folder}").joinpath(name).read_text(encoding="utf-8")
