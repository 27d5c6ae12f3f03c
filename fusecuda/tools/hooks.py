"""Hooks: counting the calls of C functions of NumPy and CuPy, operators among them.

A Python program cannot see what ``a + b`` on plain arrays calls. So while somebody counts, pointers
in those libraries' own objects lead through small C functions, which call what stood there and say
that it was called: the call slot of each ufunc, the entries of its methods' and of other functions'
definitions, the call slots of CuPy's kernels. It takes a C compiler once; what cannot be hooked
safely is not, and `why_not` says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..codegen.cache import default_cache, digest_of
from ..cpu_fallback.commands import command_of
from ..cpu_fallback.compiler import find_compiler, why_no_compiler
from ..cpu_fallback.invoke import build
from ..cpu_fallback.runs import Patience
from ..cpu_fallback.shared_library import address_of, open_library
from ..errors import CompilerError
from ..slots import Slot, slot_at

_CALL, _VECTORCALL_OFFSET = 128, 56  # places in a type object, in bytes
_DEFINITION = {type(len): 16, type(str.join): 40}  # where a function points to its definition
_KEYWORDS, _FASTCALL = 0x2, 0x80
_SIGNATURES = {  # of a method's C function, by the flags of its definition
    0x1: 2, 0x1 | _KEYWORDS: 3, 0x4: 2, 0x8: 2, _FASTCALL: 3, _FASTCALL | _KEYWORDS: 4,
}  # fmt: skip
_TIMEOUT = 20.0

# fmt: off
_FUNCTIONS = ("where", "concatenate", "dot", "inner", "vdot", "copyto", "putmask", "c_einsum",
              "count_nonzero", "lexsort", "bincount", "interp", "correlate")
_METHODS = ("argmax", "argmin", "argsort", "sort", "partition", "argpartition", "take", "put",
            "repeat", "choose", "compress", "dot", "nonzero", "searchsorted", "astype", "copy",
            "fill", "flatten", "byteswap")
# fmt: on
_UFUNC_METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")
_NUMPY_HOMES = (
    "numpy._core._multiarray_umath",
    "numpy.linalg._umath_linalg",
    "numpy.fft._pocketfft_umath",
)
_SCIPY_HOMES = ("scipy.special._ufuncs",)


@dataclass(frozen=True, slots=True)
class Hook:
    """A pointer that leads through us: where it stands, and how many operands its function has.

    ``key`` tells it apart; ``takes_self`` if the object called names what is launched.
    """

    place: int
    operands: int
    key: str
    takes_self: bool
    vector: bool = False  # a call slot of a ufunc, which counts if an operand is an array


_HEAD = """\
#include <stddef.h>
typedef void *object;
static void (*tell)(ptrdiff_t, object);
static int (*is_kind)(object, object);
static object array;
static object known[%d];
void fc_hooks(void *told, void *kind, object type)
{
    tell = (void (*)(ptrdiff_t, object))told;
    is_kind = (int (*)(object, object))kind;
    array = type;
}
object *fc_known(void) { return known; }
static int is_array(object given)  // of rank 1 at least: what has no axes is a number
{
    return is_kind(((object *)given)[1], array) && *(int *)((char *)given + 24) > 0;
}
static int has_array(object const *given, size_t count)
{
    count = count << 1 >> 1;  // its highest bit says something else
    for (size_t i = 0; i < count; ++i)
        if (is_array(given[i])) return 1;
    return 0;
}
"""


def text_of(hooks: list[Hook]) -> str:
    """The C text of the functions ``fc_hook_N`` that stand before those of ``hooks``."""
    parts = [_HEAD % max(1, len(hooks))]
    for n, hook in enumerate(hooks):
        names = [f"a{i}" for i in range(hook.operands)]
        given = ", ".join(f"void *{name}" for name in names)
        kinds = ", ".join(["void *"] * hook.operands)
        said = f"tell({n}, a0)"
        if hook.vector:
            said = f"if (has_array((object const *)a1, (size_t)a2)) {said}"
        elif hook.key.startswith("numpy.ndarray."):
            said = f"if (is_array(a0)) {said}"
        parts.append(
            f"object fc_hook_{n}({given})\n{{\n"
            f"    object result = ((object (*)({kinds}))known[{n}])({', '.join(names)});\n"
            f"    if (result) {{ {said}; }}\n    return result;\n}}\n"
        )
    return "".join(parts)


# --- what is hooked


def numpy_hooks() -> list[Hook]:
    """The places of NumPy's functions; raises LookupError where they are not as we know them."""
    for home in _NUMPY_HOMES:  # NumPy imports some of them when they are asked for
        with contextlib.suppress(ImportError):
            importlib.import_module(home)
    core = sys.modules["numpy._core._multiarray_umath"]
    functions = [(getattr(core, n, None), f"numpy.{n}", False) for n in _FUNCTIONS]
    functions += [(np.ndarray.__dict__.get(n), f"numpy.ndarray.{n}", False) for n in _METHODS]
    functions += [(np.ufunc.__dict__.get(n), n, True) for n in _UFUNC_METHODS]
    return [*_ufuncs(_NUMPY_HOMES), *(h for f in functions if (h := _definition(*f)) is not None)]


def scipy_hooks() -> list[Hook]:
    """The call slots of SciPy's special functions, if they have been imported."""
    return _ufuncs(_SCIPY_HOMES)


def cupy_hooks() -> list[Hook]:
    """The call slots of CuPy's kernels, if CuPy has been imported."""
    cupy: Any = sys.modules.get("cupy")
    reduction: Any = sys.modules.get("cupy._core._reduction")
    if cupy is None or reduction is None:
        return []
    kinds = [cupy.ufunc, cupy.ElementwiseKernel, cupy.ReductionKernel, cupy.RawKernel]
    kinds.append(reduction._SimpleReductionKernel)
    return [Hook(id(kind) + _CALL, 3, "cupy.", True) for kind in kinds if _is_native(kind)]


def _is_native(kind: type) -> bool:
    """True for a class that is not written in Python, whose calls do not look up ``__call__``."""
    return not kind.__flags__ & 0x200


def _ufuncs(homes: Sequence[str]) -> list[Hook]:
    offset = ctypes.c_ssize_t.from_address(id(np.ufunc) + _VECTORCALL_OFFSET).value
    if not 0 < offset < np.ufunc.__basicsize__ or not np.ufunc.__flags__ & 1 << 11:
        raise LookupError("its ufuncs are called in another way")
    found = [v for name in homes if name in sys.modules for v in vars(sys.modules[name]).values()]
    ufuncs = {id(v): v for v in found if type(v) is np.ufunc}
    pointers = {_read(i + offset) for i in ufuncs}
    if len(pointers) > 1 or None in pointers:
        raise LookupError("its ufuncs have call slots of several kinds")
    return [Hook(i + offset, 4, "", True, vector=True) for i in ufuncs]


def _definition(function: Any, key: str, takes_self: bool) -> Hook | None:
    """The place of the C function in a definition; None if there is none, or it is unusual."""
    at = _DEFINITION.get(type(function))
    home = at and _read(id(function) + at)
    name = home and _read(home)
    if not home or not name or ctypes.string_at(name) != function.__name__.encode():
        return None
    operands = _SIGNATURES.get(ctypes.c_int.from_address(home + 16).value)
    return None if operands is None else Hook(home + 8, operands, key, takes_self)


def _read(address: int) -> int | None:
    return ctypes.c_void_p.from_address(address).value


def _refuse_unknown() -> None:
    """Raise LookupError unless objects of this Python are laid out as we know them."""
    usual = sys.implementation.name == "cpython" and object.__basicsize__ == 16
    if not usual or sys.platform != "linux":
        raise LookupError("this Python's objects are laid out in another way")


def _writable(places: Sequence[int]) -> bool:
    """True if all ``places`` lie in memory that may be written to."""
    spans = []
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            span, rights = line.split()[:2]
            if rights.startswith("rw"):
                first, _, last = span.partition("-")
                spans.append((int(first, 16), int(last, 16)))
    return all(any(a <= place < b for a, b in spans) for place in places)


# --- in place


@dataclass(frozen=True, slots=True)
class _Set:
    """Places of hooks, and what stands there while somebody counts."""

    places: list[Slot]
    ours: list[int]


class Hooks:
    """The hooks of the process, in place while somebody counts."""

    def __init__(self) -> None:
        self.users: list[Callable[[str], None]] = []
        self.why_not: dict[str, str] = {}  # by library
        self._lock = threading.RLock()
        self._sets: dict[str, _Set] = {}
        self._keep: list[Any] = []
        self._quiet = threading.local()

    def add(self, user: Callable[[str], None]) -> None:
        """Have ``user`` called with a name for each call, in whichever thread."""
        with self._lock:
            self.users.append(user)
            for library, find in _FINDERS.items():
                self._prepare(library, find)
            for hooks in self._sets.values():
                for place, ours in zip(hooks.places, hooks.ours, strict=True):
                    place.hook(ours)

    def remove(self, user: Callable[[str], None]) -> None:
        """Do so no longer; each pointer is as it was, unless another has come there meanwhile."""
        with self._lock:
            self.users[:] = [u for u in self.users if u != user]
            if self.users:
                return
            for hooks in self._sets.values():
                for place in hooks.places:
                    place.hook(None)

    def quiet(self, more: int) -> None:
        """Tell of nothing in this thread while the sum of ``more`` is not 0."""
        self._quiet.depth = getattr(self._quiet, "depth", 0) + more

    def _prepare(self, library: str, find: Callable[[], list[Hook]]) -> None:
        if library in self._sets or library in self.why_not:
            return
        try:
            _refuse_unknown()
            hooks = list({hook.place: hook for hook in find()}.values())
            if not hooks:
                return
            if not _writable([hook.place for hook in hooks]):
                raise LookupError("its functions lie in memory that cannot be changed")
            self._sets[library] = self._compiled(hooks)
        except (LookupError, CompilerError, OSError) as error:
            self.why_not[library] = str(error).partition("\n")[0]

    def _compiled(self, hooks: list[Hook]) -> _Set:
        """Our functions, which know what stood in their places."""
        library = open_library(_library(text_of(hooks)))
        table = library["fc_known"]
        table.restype = ctypes.POINTER(ctypes.c_void_p)
        known = table()
        places = [slot_at(hook.place) for hook in hooks]
        for n, place in enumerate(places):
            known[n] = place.native
        told = ctypes.PYFUNCTYPE(None, ctypes.c_ssize_t, ctypes.py_object)(self._teller(hooks))
        self._keep += [library, told]
        is_kind = ctypes.cast(ctypes.pythonapi.PyType_IsSubtype, ctypes.c_void_p)
        array = ctypes.c_void_p(id(np.ndarray))
        library["fc_hooks"](ctypes.cast(told, ctypes.c_void_p), is_kind, array)
        ours = [address_of(library, f"fc_hook_{n}") for n in range(len(hooks))]
        return _Set(places, ours)

    def _teller(self, hooks: list[Hook]) -> Callable[[int, Any], None]:
        quiet, users = self._quiet, self.users

        def tell(number: int, called: Any) -> None:
            if not getattr(quiet, "depth", 0):
                name = _name(hooks[number], called)
                for user in tuple(users):
                    user(name)

        return tell


_FINDERS = {"NumPy": numpy_hooks, "SciPy": scipy_hooks, "CuPy": cupy_hooks}
hooks = Hooks()


def _name(hook: Hook, called: Any) -> str:
    """What is counted: ``numpy.add``, ``numpy.add.reduce``, ``cupy.add``."""
    if not hook.takes_self:
        return hook.key
    name = str(getattr(called, "name", "") or getattr(called, "__name__", type(called).__name__))
    if hook.key == "cupy.":
        return f"cupy.{name.removeprefix('cupy_')}"
    return f"numpy.{name}.{hook.key}" if hook.key else f"numpy.{name}"


def _library(text: str) -> bytes:
    """The library of ``text``, compiled once on this machine; raises CompilerError."""
    compiler = find_compiler()
    if compiler is None or compiler.problem:
        raise CompilerError(f"it takes a C compiler: {why_no_compiler()}")
    key = digest_of("hooks", compiler.fingerprint, text)
    found = default_cache().load(key)
    if found is None:
        flags = tuple("-O1" if flag == "-O3" else flag for flag in compiler.flags)
        found = build(command_of(compiler.argv, flags), text, ("-lm",), Patience(_TIMEOUT))
        default_cache().store(key, found)
    return found
