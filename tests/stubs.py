"""Writes the stubs of `fusecuda.numpy`: ``python -m tests.stubs``.

Ufuncs and SciPy's functions are those of the op table; the names, order and defaults of parameters
are what the running functions say; types of parameters go by their names, and results by the tables
here. What type checkers see is made of what runs, for the NumPy that is named in the stub.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import fusecuda.numpy as fnp
from fusecuda.capture.arrays.array import Array
from fusecuda.capture.arrays.wrapping import is_function
from fusecuda.graph.ops import OPS
from fusecuda.numpy import fft, linalg, random, special
from tests.stub_texts import ARRAY, CALL, HEAD, PRODUCT, TYPES, WHERE

FOLDER = Path(fnp.__file__).parent
NUMPY = ".".join(np.__version__.split(".")[:2])  # whose names and signatures these are

# What is no array comes first; whatever is in no line gives an array.
_RESULTS = {
    "bool": "allclose array_equal array_equiv can_cast iscomplexobj isrealobj isfortran isscalar "
    "issubdtype isdtype iterable may_share_memory shares_memory",
    "str": "array2string array_repr array_str base_repr binary_repr format_float_positional "
    "format_float_scientific typename mintypecode",
    "int": "ndim size getbufsize setbufsize",
    "tuple[int, ...]": "shape broadcast_shapes",
    "np.dtype[Any]": "result_type promote_types min_scalar_type",
    "None": "copyto fill_diagonal place put put_along_axis putmask save savetxt savez "
    "savez_compressed set_printoptions",
    "tuple[Array, ...]": "nonzero broadcast_arrays meshgrid unstack diag_indices mask_indices "
    "diag_indices_from tril_indices tril_indices_from triu_indices triu_indices_from ix_ "
    "unravel_index",
    "tuple[Array, Array]": "histogram polydiv",
    "tuple[Array, Array, Array]": "histogram2d",
    "list[Array]": "split array_split hsplit vsplit dsplit",
    "Any": "apply_along_axis atleast_1d atleast_2d atleast_3d average busday_count busday_offset "
    "common_type datetime_as_string datetime_data einsum_path finfo frompyfunc get_printoptions "
    "geterr geterrcall gradient histogramdd iinfo intersect1d is_busday linspace load piecewise "
    "polyfit printoptions seterr seterrcall unique unique_all unique_counts unique_inverse eig "
    "eigh lstsq qr slogdet svd",
}
RESULTS = {name: kind for kind, names in _RESULTS.items() for name in names.split()}

_DATA = "a x x1 x2 arr ary m v y condition values array"
_PARAMETERS = {
    **dict.fromkeys(_DATA.split(), "_Data"),
    **dict.fromkeys(("keepdims", "subok", "endpoint", "retstep", "overwrite_input"), "bool"),
    "axis": "_Axis",
    "dtype": "DTypeLike",
    "out": "Array",
    "shape": "_Shape",
    "order": "_Order",
    "casting": "_Casting",
    "copy": "bool",
    "device": 'Literal["cpu"]',
    "ddof": "float",
    "decimals": "SupportsIndex",
    "k": "SupportsIndex",
    "arrays": "Sequence[_Data]",
    "stable": "bool",
    "descending": "bool",
}
# Where a name means something else than elsewhere.
_OTHERWISE = {
    ("sort", "order"), ("argsort", "order"), ("partition", "order"), ("argpartition", "order"),
    ("array", "object"), ("broadcast_arrays", "arrays"), ("meshgrid", "xi"), ("iterable", "y"),
    ("isscalar", "element"), ("ndim", "a"), ("select", "default"), ("require", "a"),
    ("rot90", "k"), ("median", "out"), ("finfo", "dtype"), ("gradient", "axis"),
}  # fmt: skip

_CLASSES = {
    (1, 1): ("_Unary", "x: _Data", "Array"),
    (2, 1): ("_Binary", "x1: _Data, x2: _Data", "Array"),
    (1, 2): ("_UnaryPair", "x: _Data", "tuple[Array, Array]"),
    (2, 2): ("_BinaryPair", "x1: _Data, x2: _Data", "tuple[Array, Array]"),
}
_OPERATORS = "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor"


def function_text(name: str, function: Any, skip: int = 0) -> str:
    """The stub of a function, or of the method that is its first argument's (``skip`` 1)."""
    result = RESULTS.get(name, "Array")
    try:
        parameters = list(inspect.signature(function).parameters.values())[skip:]
    except ValueError:
        return f"def {name}(*args: Any, **kwargs: Any) -> {result}: ...\n"
    shown: list[str] = ["self"] if skip else []
    seen_positional = star = False
    for p in parameters:
        if p.kind is p.POSITIONAL_ONLY:
            seen_positional = True
        elif seen_positional:
            shown.append("/")
            seen_positional = False
        if p.kind is p.VAR_POSITIONAL:
            star = True
        if p.kind is p.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        shown.append(_parameter_text(name, p))
    if seen_positional:
        shown.append("/")
    return f"def {name}({', '.join(shown)}) -> {result}: ...\n"


def _parameter_text(
    function: str, p: inspect.Parameter, kinds: Mapping[str, str] = _PARAMETERS
) -> str:
    prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    kind = "Any" if (function, p.name) in _OTHERWISE else kinds.get(p.name, "Any")
    if prefix:
        return f"{prefix}{p.name}: {'_Data' if p.name == 'arrays' else 'Any'}"
    if p.default is p.empty:
        return f"{p.name}: {kind}"
    if p.default is None:
        kind = kind if kind == "Any" else f"{kind} | None"
    if p.name == "shape" and function.endswith("like"):
        kind = "_Shape | None"
    known = type(p.default) in (bool, int, float, str, type(None))
    return f"{p.name}: {kind} = {repr(p.default) if known else '...'}"


def array_text() -> str:
    """The class of lazy arrays: its operators, and methods that functions are behind."""
    text = ARRAY
    for name in _OPERATORS.split():
        for place in ("", "r", "i"):
            text += f"    def __{place}{name}__(self, other: _Data) -> Array: ...\n"
    for name in ("lt", "le", "gt", "ge"):
        text += f"    def __{name}__(self, other: _Data) -> Array: ...\n"
    for name in ("divmod", "rdivmod"):
        text += f"    def __{name}__(self, other: _Data) -> tuple[Array, Array]: ...\n"
    for name in sorted(vars(_operators())):
        if getattr(getattr(Array, name), "__doc__", "") == f"As `numpy.{name}`.":
            text += "    " + function_text(name, getattr(np, name), skip=1)
    for name in sorted(vars(np.ndarray)):  # what is NumPy's on the array's memory
        if not name.startswith("_") and f" {name}(" not in text:
            text += f"    def {name}(self, *args: Any, **kwargs: Any) -> Any: ...\n"
    return text


def _operators() -> type:
    """The base of `Array` whose methods are functions."""
    return next(base for base in Array.__mro__ if base.__name__ == "Operators")


def namespace_text() -> str:
    """The stub of `fusecuda.numpy`."""
    imports = (
        "import builtins\nfrom collections.abc import Iterator, Sequence\n"
        "from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, overload\n\n"
        "import numpy as np\nimport numpy.typing as npt\nfrom numpy.typing import DTypeLike\n\n"
        "from . import fft as fft, linalg as linalg, random as random, special as special\n"
    )
    head = HEAD.format(numpy=NUMPY, imports=imports)
    parts = [head, array_text(), "\nndarray = Array\n", TYPES]
    for (_, count), (name, operands, result) in _CLASSES.items():
        out = "Array" if count == 1 else "tuple[Array | None, ...]"
        parts.append(CALL.format(name=name, operands=operands, out=out, result=result))
    parts.append(PRODUCT)
    functions = [n for n in fnp.__all__ if is_function(getattr(np, n, None)) or n == "unstack"]
    parts.append("\n# the op table's\n")
    recorded = [n for n in sorted(functions) if n in OPS and isinstance(getattr(np, n), np.ufunc)]
    parts += [f"{n}: {_CLASSES[OPS[n].arity, 1][0]}\n" for n in recorded]
    parts.append("\n# NumPy's other ufuncs\n")
    others = [n for n in sorted(functions) if isinstance(getattr(np, n, None), np.ufunc)]
    parts += [f"{n}: {_class_of(getattr(np, n))}\n" for n in others if n not in recorded]
    parts.append("\n# functions\n")
    plain = [n for n in sorted(functions) if n not in others]
    parts += [WHERE if n == "where" else function_text(n, getattr(fnp, n)) for n in plain]
    # The builtin has another name, for `bool` is NumPy's here.
    parts = [re.sub(r"(?<![.\w])bool\b", "_bool", part) for part in parts]
    parts.append("\n_bool: TypeAlias = builtins.bool\n")
    parts.append("\n# types and constants are NumPy's\n")
    for name in sorted(set(fnp.__all__) - {*functions, "ndarray"}):
        parts.append(_other_text(name))
    parts.append("\n__array_api_version__: str\n__version__: str\n")
    parts.append("def __array_namespace_info__() -> Any: ...\n")
    return "".join(parts)


def _class_of(ufunc: np.ufunc) -> str:
    return "_Product" if ufunc.signature else _CLASSES[ufunc.nin, ufunc.nout][0]


def _other_text(name: str) -> str:
    """A name that is no function: NumPy's own but for what makes arrays."""
    value = getattr(fnp, name)
    if name in ("fft", "linalg", "random", "special"):
        return ""
    if isinstance(value, types.ModuleType):
        return f"from numpy import {name} as {name}\n"
    if name in ("finfo", "iinfo"):
        return f"def {name}(type: Any) -> Any: ...\n"
    if isinstance(value, type) and getattr(np, name, None) is value:
        return f"from numpy import {name} as {name}\n"
    kind = type(value).__name__ if type(value) in (float, bool) else "Any"
    return f"{name}: {'None' if value is None else kind}\n"


def special_text() -> str:
    """The stub of `fusecuda.numpy.special`: rows of the op table."""
    imports = "\nfrom . import Array, _Data\n"
    text = HEAD.format(numpy=NUMPY, imports=imports)
    for name in special.__all__:
        arity = OPS["psi" if name == "digamma" else name].arity
        operands = ", ".join(f"x{i}: _Data" for i in range(1, arity + 1))
        text += f"def {name}({operands}, /, *, out: Array | None = None) -> Array: ...\n"
    return text


def module_text(module: types.ModuleType) -> str:
    """The stub of a module whose functions NumPy computes."""
    imports = (
        "\nfrom collections.abc import Sequence\n"
        "from typing import Any, Literal, SupportsIndex\n\n"
        "from numpy.typing import DTypeLike\n\n"
        "from . import Array, _Axis, _Data, _Shape, _Order\n"
    )
    text = HEAD.format(numpy=NUMPY, imports=imports)
    for name in module.__all__:
        value = getattr(module, name)
        if name == "LinAlgError":
            text += "from numpy.linalg import LinAlgError as LinAlgError\n"
        elif isinstance(getattr(np, name, None), np.ufunc):
            text += f"from . import {name} as {name}\n"
        else:
            text += function_text(name, value)
    return text


def random_text() -> str:
    """The stub of `fusecuda.numpy.random`: its generators, and what draws arrays."""
    imports = (
        "\nimport builtins\nfrom typing import Any\n\nfrom numpy.typing import DTypeLike\n\n"
        "from . import Array, _Shape\n"
    )
    text = HEAD.format(numpy=NUMPY, imports=imports)
    own = {n: getattr(random, n) for n in random.__all__ if not hasattr(np.random, n)}
    names = {n: getattr(np.random, n) for n in random.__all__ if n not in own}
    kinds = [n for n, v in names.items() if isinstance(v, type) and n != "Generator"]
    text += "".join(f"from numpy.random import {n} as {n}\n" for n in kinds)
    text += "\nclass Generator:\n    def __init__(self, bit_generator: BitGenerator) -> None: ...\n"
    text += "    @property\n    def bit_generator(self) -> BitGenerator: ...\n"
    text += "    def spawn(self, n_children: int) -> list[Generator]: ...\n"
    for name, value in sorted(vars(np.random.Generator).items()):
        if not name.startswith("_") and callable(value) and name != "spawn":
            text += f"    {_draw_text(name, value, 'self, ')}"
    text += "\nclass CounterGenerator:\n    seed: int\n    stream: int\n    position: int\n"
    text += "    def __init__(self, seed: int, stream: int = 0) -> None: ...\n"
    text += "    def spawn(self, n_children: int) -> list[CounterGenerator]: ...\n"
    for name, value in sorted(vars(random.CounterGenerator).items()):
        if not name.startswith("_") and callable(value) and name != "spawn":
            text += f"    {_draw_text(name, value, 'self, ')}"
    text += "\ndef counter_rng(seed: int | CounterGenerator, stream: int = 0) "
    text += "-> CounterGenerator: ...\n"
    text += "def default_rng(seed: Any = None) -> Generator: ...\n"
    for name, value in sorted(names.items()):
        if name not in kinds and name not in ("Generator", "default_rng"):
            text += _draw_text(name, value)
    return text


_DRAWS = {"bytes": "builtins.bytes", "seed": "None", "shuffle": "None", "set_state": "None",
          "get_state": "Any", "choice": "Any"}  # fmt: skip


_DRAWN = {"size": "_Shape", "dtype": "DTypeLike", "endpoint": "bool"}


def _draw_text(name: str, function: Any, head: str = "") -> str:
    """The stub of what draws; parameters by name where NumPy tells them."""
    try:
        parameters = [
            p for p in inspect.signature(function).parameters.values() if p.name != "self"
        ]
    except (TypeError, ValueError):
        parameters = []
    if not parameters or any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
        shown = "*args: Any, **kwargs: Any"
    else:
        shown = ", ".join(_parameter_text("random", p, _DRAWN) for p in parameters)
    return f"def {name}({head}{shown}) -> {_DRAWS.get(name, 'Array')}: ...\n"


def texts() -> dict[str, str]:
    """Each stub by the name of its file."""
    return {
        "__init__.pyi": namespace_text(),
        "special.pyi": special_text(),
        "linalg.pyi": module_text(linalg),
        "fft.pyi": module_text(fft),
        "random.pyi": random_text(),
    }


def main() -> None:
    """Write the stubs, as `ruff format` lays them out."""
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    files = [str(FOLDER / name) for name in texts()]
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", *files], check=True)


if __name__ == "__main__":
    main()
