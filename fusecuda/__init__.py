"""fusecuda: a kernel-fusion engine for NumPy and CuPy array code.

``@fused`` compiles the array operations of a function into few C kernels; `Array` is a lazy NumPy
array; `lower` shows what a function becomes. See README.md for a tour and ARCHITECTURE.md for how
it works.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from .errors import CompilerError, FlushError, FusecudaError, GraphError, NotFusedError
from .options import Options, log_words, warn_of_switches
from .tools.tracebacks import install as _fold_tracebacks
from .watch import print_logs

if TYPE_CHECKING:
    from . import numpy as numpy  # the namespace of lazy arrays
    from .api import info, lower, spec
    from .capture.calls.function import FusedFunction
    from .capture.calls.fused import fused
    from .codegen.compilations import compile_count
    from .engine import Executable, Kernel
    from .graph.text import parse_hlo
    from .numpy import Array  # whose types are in the stub
    from .tools.counting import count_launches
    from .tools.export.export import Exported, export
    from .tools.profile import cost, profile

__version__ = "0.1.0"

__all__ = [
    "Array",
    "CompilerError",
    "Executable",
    "Exported",
    "FlushError",
    "FusecudaError",
    "FusedFunction",
    "GraphError",
    "Kernel",
    "NotFusedError",
    "Options",
    "compile_count",
    "cost",
    "count_launches",
    "export",
    "fused",
    "info",
    "lower",
    "parse_hlo",
    "profile",
    "spec",
]

_LATE = {  # by module: `run` starts scripts that need none of it
    "Array": "numpy",
    "Executable": "engine",
    "Exported": "tools.export.export",
    "FusedFunction": "capture.calls.function",
    "Kernel": "engine",
    "compile_count": "codegen.compilations",
    "cost": "tools.profile",
    "count_launches": "tools.counting",
    "export": "tools.export.export",
    "fused": "capture.calls.fused",
    "info": "api",
    "lower": "api",
    "numpy": "numpy",
    "parse_hlo": "graph.text",
    "profile": "tools.profile",
    "spec": "api",
}


def __getattr__(name: str) -> _Any:
    """What is in a module that is loaded when it is first asked for."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = _import_module(".numpy", __name__)  # first in each thread: the rest comes behind it
    if name != "numpy":
        value = getattr(_import_module(f".{_LATE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All names, those too that are not loaded yet."""
    return sorted({*globals(), *_LATE})


warn_of_switches()
print_logs(log_words())
_fold_tracebacks()
