"""fusecuda: a kernel-fusion engine for NumPy and CuPy array code.

``@fused`` compiles the array operations of a function into few C kernels; `Array` is a lazy NumPy
array; `lower` shows what a function becomes. See README.md for a tour and ARCHITECTURE.md for how
it works.
"""

from . import numpy as numpy  # the namespace of lazy arrays
from .api import info, lower, spec
from .capture.calls.function import FusedFunction
from .capture.calls.fused import fused
from .codegen.compilations import compile_count
from .engine import Executable, Kernel
from .errors import CompilerError, FlushError, FusecudaError, GraphError, NotFusedError
from .graph.text import parse_hlo
from .numpy import Array  # whose types are in the stub
from .options import Options, log_words
from .tools.counting import count_launches
from .tools.profile import cost, profile
from .tools.tracebacks import install as _fold_tracebacks
from .watch import print_logs

__version__ = "0.1.0"

__all__ = [
    "Array",
    "CompilerError",
    "Executable",
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
    "fused",
    "info",
    "lower",
    "parse_hlo",
    "profile",
    "spec",
]

print_logs(log_words())
_fold_tracebacks()
