"""Which public names of NumPy the namespace leaves out, and why."""

from __future__ import annotations

_MATRIX = "a lazy array has no matrix subclass: use @ and 2-d arrays"
_RECORDS = "a lazy array has no record subclass: index fields by name"
_INSTALLATION = "it is about NumPy's installation: ask NumPy"
_ITERATION = "it writes through NumPy's memory, which a lazy array has only when it is computed"

LEFT_OUT: dict[str, str] = {
    "asmatrix": _MATRIX,
    "bmat": _MATRIX,
    "char": "NumPy keeps it for old code: use fusecuda.numpy.strings",
    "core": "it is NumPy's internals",
    "ctypeslib": "it hands out pointers: give it numpy.asarray(array)",
    "f2py": "it is a build tool",
    "flatiter": _ITERATION,
    "get_include": _INSTALLATION,
    "info": _INSTALLATION,
    "ma": "a lazy array has no masked subclass: use a mask and where()",
    "matrix": _MATRIX,
    "memmap": "share one with asarray(numpy.memmap(...), copy=False)",
    "nditer": _ITERATION,
    "nested_iters": _ITERATION,
    "rec": _RECORDS,
    "recarray": _RECORDS,
    "record": _RECORDS,
    "show_config": _INSTALLATION,
    "show_runtime": _INSTALLATION,
    "test": _INSTALLATION,
}
