"""The functions of the public interface that are not a class of their own."""

from __future__ import annotations

import math
import mmap
import operator
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex, Unpack

import numpy as np

from .capture.calls.function import FusedFunction
from .capture.calls.lower import lower_function
from .graph.dtypes import DType
from .options import Choices, Options

if TYPE_CHECKING:
    from .cpu_fallback.compiler import Compiler
    from .engine import Executable


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """The shape and dtype of an argument that need not exist (C-contiguous)."""

    shape: tuple[int, ...]
    dtype: DType


def spec(shape: SupportsIndex | Iterable[SupportsIndex], dtype: Any = np.float64) -> ArraySpec:
    """A stand-in for an array argument of `lower` and `cost`, C-contiguous, that need not exist.

    ``shape`` has the extents, or is the one extent; ``dtype`` is whatever `numpy.dtype` takes.
    Raises TypeError for what is no shape or no dtype, ValueError for a negative extent.
    """
    extents = shape if isinstance(shape, Iterable) else (shape,)
    try:
        full = tuple(map(operator.index, extents))
    except TypeError:
        raise TypeError(f"a shape is an extent or a tuple of them, not {shape!r}") from None
    if any(extent < 0 for extent in full):
        raise ValueError(f"no extent of a shape is negative: {full}")
    return ArraySpec(full, np.dtype(dtype))


def lower(
    function: Callable[..., Any],
    *args: Any,
    longest: int | None = None,
    **options: Unpack[Choices],
) -> Executable:
    """The executable that ``function`` becomes for the arguments ``args``, without running it.

    Arguments are arrays, numbers, or `spec` stand-ins, and lists, tuples and dicts of such; none is
    given by name. ``options`` are those of `fused`; where ``function`` is a fused one, its own hold
    besides. Calling the executable with arguments of the same shapes, dtypes and strides gives what
    the function would. Raises NotFusedError if the
    function looks at a value while it is recorded, for it is then no single graph, or has more
    operations than the ``longest`` that is wanted (None: any number); TypeError and ValueError as
    `fused` does, and whatever ``function`` raises for such arguments.
    """
    plain, chosen = unfused(function, options)
    return lower_function(plain, [mapped(_blank, a) for a in args], chosen, longest)


def unfused(function: Any, options: Choices) -> tuple[Any, Options]:
    """The function in a fused one, and its options where ``options`` does not say otherwise."""
    if isinstance(function, FusedFunction):
        options = {**options_of(function.options), **options}
        function = function.function
    if unknown := options.keys() - Choices.__annotations__:
        known = ", ".join(Choices.__annotations__)
        raise TypeError(
            f"{min(unknown)!r} is none of the options {known}: what the function is to be given"
            " stands among the arguments without a name"
        )
    return function, Options(**options)


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """``value`` with what ``change`` makes of each part of its lists, tuples and dicts."""
    if type(value) in (list, tuple):
        return type(value)([mapped(change, part) for part in value])
    if type(value) is dict:
        return {key: mapped(change, part) for key, part in value.items()}
    return change(value)


def _blank(described: Any) -> Any:
    """For a stand-in an array that nobody looks at, in addresses alone where no memory is left."""
    if not isinstance(described, ArraySpec):
        return described
    shape, dtype = described.shape, described.dtype
    try:
        return np.empty(shape, dtype)
    except MemoryError:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        return np.ndarray(shape, dtype, mmap.mmap(-1, math.prod(shape) * dtype.itemsize, flags))


_NO_RESERVE = 0x4000  # Linux's; where memory is promised without a limit there is no error


def _describe(compiler: Compiler | None) -> str:
    """The compiler's version, or in a line why there is none, and whose kernels still serve."""
    from .cpu_fallback.compiler import why_no_compiler  # noqa: PLC0415 - as in `info`

    problem = why_no_compiler().partition("\n")[0]
    if compiler is None:
        return f"none: {problem}"
    return f"{compiler.version}, for what is cached: {problem}" if problem else compiler.version


def options_of(options: Options) -> Choices:
    """``options`` as keywords of `fused`."""
    return {
        "device": options.device,
        "contract": options.contract,
        "strict": options.strict,
        "streams": options.streams,
        "check": options.check,
    }


def info() -> dict[str, Any]:
    """Versions, devices, compiler, threads and cache of this process, by name.

    "devices" lists "cpu" and each GPU, "nvrtc" and "compiler" versions (or "none" and why),
    "threads" how many a kernel may use, "cached bytes" the size of the folder "cache" in bytes.
    Compiles nothing, raises nothing.
    """
    from .codegen.cache import default_cache  # noqa: PLC0415 - loaded where it is asked for
    from .cpu_fallback.compiler import find_compiler  # noqa: PLC0415
    from .cpu_fallback.program import thread_count  # noqa: PLC0415
    from .emit_cuda import nvrtc  # noqa: PLC0415
    from .emit_cuda.backend import devices  # noqa: PLC0415

    compiler = find_compiler()
    stats = default_cache().stats()
    return {
        "fusecuda": sys.modules[__package__].__version__,  # which is complete by now
        "python": platform.python_version(),
        "numpy": np.__version__,
        "devices": ["cpu", *devices()],
        "nvrtc": nvrtc.version() if nvrtc.available() else "none",
        "threads": thread_count(),
        "compiler": _describe(compiler),
        "flags": " ".join(compiler.flags) if compiler else "",
        "cache": str(stats.folder),
        "cached kernels": stats.entries,
        "cached bytes": stats.bytes,
    }
