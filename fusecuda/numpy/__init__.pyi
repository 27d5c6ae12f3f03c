"""Types of fusecuda.numpy, with NumPy 2.4; `python -m tests.stubs` writes them."""

# ruff: noqa
from __future__ import annotations
import builtins
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, overload

import numpy as np
import numpy.typing as npt
from numpy.typing import DTypeLike

from . import fft as fft, linalg as linalg, random as random, special as special

class Array:
    """A lazy NumPy array; see `fusecuda.Array`."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def device(self) -> Literal["cpu"]: ...
    @property
    def flags(self) -> Any: ...
    @property
    def base(self) -> Any: ...
    @property
    def data(self) -> memoryview: ...
    @property
    def ctypes(self) -> Any: ...
    @property
    def flat(self) -> Any: ...
    @property
    def T(self) -> Array: ...
    @property
    def mT(self) -> Array: ...
    @property
    def real(self) -> Array: ...
    @real.setter
    def real(self, value: _Data) -> None: ...
    @property
    def imag(self) -> Array: ...
    @imag.setter
    def imag(self, value: _Data) -> None: ...
    def reshape(
        self, *shape: _Shape, order: Literal["C", "F", "A"] = "C", copy: _bool | None = None
    ) -> Array: ...
    def transpose(self, *axes: Any) -> Array: ...
    def ravel(self, order: _Order = "C") -> Array: ...
    def flatten(self, order: _Order = "C") -> Array: ...
    def swapaxes(self, a: SupportsIndex, b: SupportsIndex) -> Array: ...
    def squeeze(self, axis: _Axis | None = None) -> Array: ...
    def astype(
        self,
        dtype: DTypeLike,
        order: _Order = "K",
        casting: _Casting = "unsafe",
        *,
        subok: _bool = True,
        copy: _bool = True,
    ) -> Array: ...
    def view(self, *args: Any, **kwargs: Any) -> Any: ...
    def copy(self, order: _Order = "C") -> Array: ...
    def fill(self, value: _Data) -> None: ...
    def dot(self, other: _Data, out: Array | None = None) -> Array: ...
    def sort(self, axis: SupportsIndex = -1, kind: Any = None, order: Any = None) -> None: ...
    def partition(self, kth: Any, axis: SupportsIndex = -1, **kwargs: Any) -> None: ...
    def compress(self, condition: Any, axis: Any = None, out: Array | None = None) -> Array: ...
    def conj(self) -> Array: ...
    def conjugate(self) -> Array: ...
    def to_device(self, device: Literal["cpu"], /, *, stream: None = None) -> Array: ...
    def item(self, *args: Any) -> Any: ...
    def tolist(self) -> Any: ...
    def get(
        self, stream: Any = ..., order: Any = ..., out: Any = ..., **_: Any
    ) -> npt.NDArray[Any]: ...
    def set(self, arr: npt.ArrayLike, stream: Any = ...) -> None: ...
    def tobytes(self, order: Any = "C") -> bytes: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __getitem__(self, key: Any) -> Array: ...
    def __setitem__(self, key: Any, value: _Data) -> None: ...
    def __contains__(self, value: object) -> _bool: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> npt.NDArray[Any]: ...
    __array_priority__: float
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> Any: ...
    def __dlpack__(self, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __neg__(self) -> Array: ...
    def __pos__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array: ...
    def __eq__(self, other: object) -> Array: ...  # type: ignore[override]
    def __ne__(self, other: object) -> Array: ...  # type: ignore[override]
    def __add__(self, other: _Data) -> Array: ...
    def __radd__(self, other: _Data) -> Array: ...
    def __iadd__(self, other: _Data) -> Array: ...
    def __sub__(self, other: _Data) -> Array: ...
    def __rsub__(self, other: _Data) -> Array: ...
    def __isub__(self, other: _Data) -> Array: ...
    def __mul__(self, other: _Data) -> Array: ...
    def __rmul__(self, other: _Data) -> Array: ...
    def __imul__(self, other: _Data) -> Array: ...
    def __truediv__(self, other: _Data) -> Array: ...
    def __rtruediv__(self, other: _Data) -> Array: ...
    def __itruediv__(self, other: _Data) -> Array: ...
    def __floordiv__(self, other: _Data) -> Array: ...
    def __rfloordiv__(self, other: _Data) -> Array: ...
    def __ifloordiv__(self, other: _Data) -> Array: ...
    def __mod__(self, other: _Data) -> Array: ...
    def __rmod__(self, other: _Data) -> Array: ...
    def __imod__(self, other: _Data) -> Array: ...
    def __pow__(self, other: _Data) -> Array: ...
    def __rpow__(self, other: _Data) -> Array: ...
    def __ipow__(self, other: _Data) -> Array: ...
    def __matmul__(self, other: _Data) -> Array: ...
    def __rmatmul__(self, other: _Data) -> Array: ...
    def __imatmul__(self, other: _Data) -> Array: ...
    def __lshift__(self, other: _Data) -> Array: ...
    def __rlshift__(self, other: _Data) -> Array: ...
    def __ilshift__(self, other: _Data) -> Array: ...
    def __rshift__(self, other: _Data) -> Array: ...
    def __rrshift__(self, other: _Data) -> Array: ...
    def __irshift__(self, other: _Data) -> Array: ...
    def __and__(self, other: _Data) -> Array: ...
    def __rand__(self, other: _Data) -> Array: ...
    def __iand__(self, other: _Data) -> Array: ...
    def __or__(self, other: _Data) -> Array: ...
    def __ror__(self, other: _Data) -> Array: ...
    def __ior__(self, other: _Data) -> Array: ...
    def __xor__(self, other: _Data) -> Array: ...
    def __rxor__(self, other: _Data) -> Array: ...
    def __ixor__(self, other: _Data) -> Array: ...
    def __lt__(self, other: _Data) -> Array: ...
    def __le__(self, other: _Data) -> Array: ...
    def __gt__(self, other: _Data) -> Array: ...
    def __ge__(self, other: _Data) -> Array: ...
    def __divmod__(self, other: _Data) -> tuple[Array, Array]: ...
    def __rdivmod__(self, other: _Data) -> tuple[Array, Array]: ...
    def all(
        self,
        axis: _Axis | None = None,
        out: Array | None = None,
        keepdims: _bool = ...,
        *,
        where: Any = ...,
    ) -> Array: ...
    def any(
        self,
        axis: _Axis | None = None,
        out: Array | None = None,
        keepdims: _bool = ...,
        *,
        where: Any = ...,
    ) -> Array: ...
    def argmax(
        self, axis: _Axis | None = None, out: Array | None = None, *, keepdims: _bool = ...
    ) -> Array: ...
    def argmin(
        self, axis: _Axis | None = None, out: Array | None = None, *, keepdims: _bool = ...
    ) -> Array: ...
    def argpartition(
        self, kth: Any, axis: _Axis = -1, kind: Any = "introselect", order: Any = None
    ) -> Array: ...
    def argsort(
        self, axis: _Axis = -1, kind: Any = None, order: Any = None, *, stable: _bool | None = None
    ) -> Array: ...
    def clip(
        self,
        a_min: Any = ...,
        a_max: Any = ...,
        out: Array | None = None,
        *,
        min: Any = ...,
        max: Any = ...,
        **kwargs: Any,
    ) -> Array: ...
    def cumprod(
        self, axis: _Axis | None = None, dtype: DTypeLike | None = None, out: Array | None = None
    ) -> Array: ...
    def cumsum(
        self, axis: _Axis | None = None, dtype: DTypeLike | None = None, out: Array | None = None
    ) -> Array: ...
    def diagonal(self, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Array: ...
    def max(
        self,
        axis: _Axis | None = None,
        out: Array | None = None,
        keepdims: _bool = ...,
        initial: Any = ...,
        where: Any = ...,
    ) -> Array: ...
    def mean(
        self,
        axis: _Axis | None = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        keepdims: _bool = ...,
        *,
        where: Any = ...,
    ) -> Array: ...
    def min(
        self,
        axis: _Axis | None = None,
        out: Array | None = None,
        keepdims: _bool = ...,
        initial: Any = ...,
        where: Any = ...,
    ) -> Array: ...
    def nonzero(self) -> tuple[Array, ...]: ...
    def prod(
        self,
        axis: _Axis | None = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        keepdims: _bool = ...,
        initial: Any = ...,
        where: Any = ...,
    ) -> Array: ...
    def repeat(self, repeats: Any, axis: _Axis | None = None) -> Array: ...
    def round(self, decimals: SupportsIndex = 0, out: Array | None = None) -> Array: ...
    def searchsorted(self, v: _Data, side: Any = "left", sorter: Any = None) -> Array: ...
    def std(
        self,
        axis: _Axis | None = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        ddof: float = 0,
        keepdims: _bool = ...,
        *,
        where: Any = ...,
        mean: Any = ...,
        correction: Any = ...,
    ) -> Array: ...
    def sum(
        self,
        axis: _Axis | None = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        keepdims: _bool = ...,
        initial: Any = ...,
        where: Any = ...,
    ) -> Array: ...
    def take(
        self, indices: Any, axis: _Axis | None = None, out: Array | None = None, mode: Any = "raise"
    ) -> Array: ...
    def trace(
        self,
        offset: Any = 0,
        axis1: Any = 0,
        axis2: Any = 1,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def var(
        self,
        axis: _Axis | None = None,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        ddof: float = 0,
        keepdims: _bool = ...,
        *,
        where: Any = ...,
        mean: Any = ...,
        correction: Any = ...,
    ) -> Array: ...
    def byteswap(self, *args: Any, **kwargs: Any) -> Any: ...
    def choose(self, *args: Any, **kwargs: Any) -> Any: ...
    def dump(self, *args: Any, **kwargs: Any) -> Any: ...
    def dumps(self, *args: Any, **kwargs: Any) -> Any: ...
    def getfield(self, *args: Any, **kwargs: Any) -> Any: ...
    def put(self, *args: Any, **kwargs: Any) -> Any: ...
    def resize(self, *args: Any, **kwargs: Any) -> Any: ...
    def setfield(self, *args: Any, **kwargs: Any) -> Any: ...
    def setflags(self, *args: Any, **kwargs: Any) -> Any: ...
    def tofile(self, *args: Any, **kwargs: Any) -> Any: ...

ndarray = Array

_Number: TypeAlias = _bool | int | float | complex | np.number[Any] | np.bool

class _SupportsArray(Protocol):
    def __array__(self) -> npt.NDArray[Any]: ...

_Data: TypeAlias = (
    Array
    | _Number
    | npt.NDArray[Any]
    | _SupportsArray
    | Sequence[_Number]
    | Sequence[Array]
    | Sequence[npt.NDArray[Any]]
    | Sequence[list[Any]]
    | Sequence[tuple[Any, ...]]
)
_Axis: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Order: TypeAlias = Literal["K", "A", "C", "F"]
_Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]

class _Ufunc:
    nin: int
    nout: int
    nargs: int
    ntypes: int
    types: list[str]
    identity: Any
    signature: str | None
    def at(self, a: Any, indices: Any, b: Any = ..., /) -> None: ...
    def reduce(
        self,
        array: _Data,
        /,
        axis: _Axis | None = 0,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
        *,
        keepdims: _bool = False,
        initial: Any = ...,
        where: _Data = True,
    ) -> Array: ...
    def accumulate(
        self,
        array: _Data,
        /,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def reduceat(
        self,
        array: _Data,
        /,
        indices: Any,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def outer(self, A: _Data, B: _Data, /, **kwargs: Any) -> Array: ...
    def resolve_dtypes(self, dtypes: Any, **kwargs: Any) -> tuple[np.dtype[Any], ...]: ...

class _Unary(_Ufunc):
    def __call__(
        self,
        x: _Data,
        /,
        out: Array | None = None,
        *,
        where: _Data = True,
        casting: _Casting = "same_kind",
        order: _Order = "K",
        dtype: DTypeLike | None = None,
        subok: _bool = True,
        signature: Any = ...,
    ) -> Array: ...

class _Binary(_Ufunc):
    def __call__(
        self,
        x1: _Data,
        x2: _Data,
        /,
        out: Array | None = None,
        *,
        where: _Data = True,
        casting: _Casting = "same_kind",
        order: _Order = "K",
        dtype: DTypeLike | None = None,
        subok: _bool = True,
        signature: Any = ...,
    ) -> Array: ...

class _UnaryPair(_Ufunc):
    def __call__(
        self,
        x: _Data,
        /,
        out: tuple[Array | None, ...] | None = None,
        *,
        where: _Data = True,
        casting: _Casting = "same_kind",
        order: _Order = "K",
        dtype: DTypeLike | None = None,
        subok: _bool = True,
        signature: Any = ...,
    ) -> tuple[Array, Array]: ...

class _BinaryPair(_Ufunc):
    def __call__(
        self,
        x1: _Data,
        x2: _Data,
        /,
        out: tuple[Array | None, ...] | None = None,
        *,
        where: _Data = True,
        casting: _Casting = "same_kind",
        order: _Order = "K",
        dtype: DTypeLike | None = None,
        subok: _bool = True,
        signature: Any = ...,
    ) -> tuple[Array, Array]: ...

class _Product(_Ufunc):
    def __call__(
        self,
        x1: _Data,
        x2: _Data,
        /,
        out: Array | None = None,
        *,
        axes: Any = ...,
        axis: Any = ...,
        keepdims: _bool = ...,
        casting: _Casting = "same_kind",
        order: _Order = "K",
        dtype: DTypeLike | None = None,
        subok: _bool = True,
        signature: Any = ...,
    ) -> Array: ...

# the op table's
absolute: _Unary
add: _Binary
arccos: _Unary
arccosh: _Unary
arcsin: _Unary
arcsinh: _Unary
arctan: _Unary
arctan2: _Binary
arctanh: _Unary
bitwise_and: _Binary
bitwise_or: _Binary
bitwise_xor: _Binary
cbrt: _Unary
ceil: _Unary
conjugate: _Unary
copysign: _Binary
cos: _Unary
cosh: _Unary
degrees: _Unary
divide: _Binary
equal: _Binary
exp: _Unary
exp2: _Unary
expm1: _Unary
fabs: _Unary
floor: _Unary
floor_divide: _Binary
fmax: _Binary
fmin: _Binary
fmod: _Binary
gcd: _Binary
greater: _Binary
greater_equal: _Binary
heaviside: _Binary
hypot: _Binary
invert: _Unary
isfinite: _Unary
isinf: _Unary
isnan: _Unary
lcm: _Binary
left_shift: _Binary
less: _Binary
less_equal: _Binary
log: _Unary
log10: _Unary
log1p: _Unary
log2: _Unary
logaddexp: _Binary
logaddexp2: _Binary
logical_and: _Binary
logical_not: _Unary
logical_or: _Binary
logical_xor: _Binary
maximum: _Binary
minimum: _Binary
multiply: _Binary
negative: _Unary
nextafter: _Binary
not_equal: _Binary
positive: _Unary
power: _Binary
radians: _Unary
reciprocal: _Unary
remainder: _Binary
right_shift: _Binary
rint: _Unary
sign: _Unary
signbit: _Unary
sin: _Unary
sinh: _Unary
sqrt: _Unary
square: _Unary
subtract: _Binary
tan: _Unary
tanh: _Unary
trunc: _Unary

# NumPy's other ufuncs
abs: _Unary
acos: _Unary
acosh: _Unary
asin: _Unary
asinh: _Unary
atan: _Unary
atan2: _Binary
atanh: _Unary
bitwise_count: _Unary
bitwise_invert: _Unary
bitwise_left_shift: _Binary
bitwise_not: _Unary
bitwise_right_shift: _Binary
conj: _Unary
deg2rad: _Unary
divmod: _BinaryPair
float_power: _Binary
frexp: _UnaryPair
isnat: _Unary
ldexp: _Binary
matmul: _Product
matvec: _Product
mod: _Binary
modf: _UnaryPair
pow: _Binary
rad2deg: _Unary
spacing: _Unary
true_divide: _Binary
vecdot: _Product
vecmat: _Product

# functions
def all(
    a: _Data,
    axis: _Axis | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    *,
    where: Any = ...,
) -> Array: ...
def allclose(
    a: _Data, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False
) -> _bool: ...
def amax(
    a: _Data,
    axis: _Axis | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    initial: Any = ...,
    where: Any = ...,
) -> Array: ...
def amin(
    a: _Data,
    axis: _Axis | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    initial: Any = ...,
    where: Any = ...,
) -> Array: ...
def angle(z: Any, deg: Any = False) -> Array: ...
def any(
    a: _Data,
    axis: _Axis | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    *,
    where: Any = ...,
) -> Array: ...
def append(arr: _Data, values: _Data, axis: _Axis | None = None) -> Array: ...
def apply_along_axis(func1d: Any, axis: _Axis, arr: _Data, *args: Any, **kwargs: Any) -> Any: ...
def apply_over_axes(func: Any, a: _Data, axes: Any) -> Array: ...
def arange(
    *args: Any, device: Literal["cpu"] | None = None, like: Any = None, **kwargs: Any
) -> Array: ...
def argmax(
    a: _Data, axis: _Axis | None = None, out: Array | None = None, *, keepdims: _bool = ...
) -> Array: ...
def argmin(
    a: _Data, axis: _Axis | None = None, out: Array | None = None, *, keepdims: _bool = ...
) -> Array: ...
def argpartition(
    a: _Data, kth: Any, axis: _Axis = -1, kind: Any = "introselect", order: Any = None
) -> Array: ...
def argsort(
    a: _Data,
    axis: _Axis = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: _bool | None = None,
    descending: _bool = False,
) -> Array: ...
def argwhere(a: _Data) -> Array: ...
def around(a: _Data, decimals: SupportsIndex = 0, out: Array | None = None) -> Array: ...
def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *,
    copy: _bool = True,
    order: _Order = "K",
    subok: _bool = False,
    ndmin: Any = 0,
    ndmax: Any = None,
    like: Any = None,
) -> Array: ...
def array2string(
    a: _Data,
    max_line_width: Any = None,
    precision: Any = None,
    suppress_small: Any = None,
    separator: Any = " ",
    prefix: Any = "",
    *,
    formatter: Any = None,
    threshold: Any = None,
    edgeitems: Any = None,
    sign: Any = None,
    floatmode: Any = None,
    suffix: Any = "",
    legacy: Any = None,
) -> str: ...
def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> _bool: ...
def array_equiv(a1: Any, a2: Any) -> _bool: ...
def array_repr(
    arr: _Data, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str: ...
def array_split(ary: _Data, indices_or_sections: Any, axis: _Axis = 0) -> list[Array]: ...
def array_str(
    a: _Data, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str: ...
def asanyarray(
    a: _Data,
    dtype: DTypeLike | None = None,
    order: _Order | None = None,
    *,
    device: Literal["cpu"] | None = None,
    copy: _bool | None = None,
    like: Any = None,
) -> Array: ...
def asarray(
    a: _Data,
    dtype: DTypeLike | None = None,
    order: _Order | None = None,
    *,
    device: Literal["cpu"] | None = None,
    copy: _bool | None = None,
    like: Any = None,
) -> Array: ...
def asarray_chkfinite(
    a: _Data, dtype: DTypeLike | None = None, order: _Order | None = None
) -> Array: ...
def ascontiguousarray(a: _Data, dtype: DTypeLike | None = None, *, like: Any = None) -> Array: ...
def asfortranarray(a: _Data, dtype: DTypeLike | None = None, *, like: Any = None) -> Array: ...
def astype(
    x: _Data, dtype: DTypeLike, /, *, copy: _bool = True, device: Literal["cpu"] | None = None
) -> Array: ...
def atleast_1d(*arys: Any) -> Any: ...
def atleast_2d(*arys: Any) -> Any: ...
def atleast_3d(*arys: Any) -> Any: ...
def average(
    a: _Data,
    axis: _Axis | None = None,
    weights: Any = None,
    returned: Any = False,
    *,
    keepdims: _bool = ...,
) -> Any: ...
def bartlett(M: Any) -> Array: ...
def base_repr(number: Any, base: Any = 2, padding: Any = 0) -> str: ...
def binary_repr(num: Any, width: Any = None) -> str: ...
def bincount(x: _Data, /, weights: Any = None, minlength: Any = 0) -> Array: ...
def blackman(M: Any) -> Array: ...
def block(arrays: Sequence[_Data]) -> Array: ...
def broadcast_arrays(*args: Any, subok: _bool = False) -> tuple[Array, ...]: ...
def broadcast_shapes(*args: Any) -> tuple[int, ...]: ...
def broadcast_to(array: _Data, shape: _Shape, subok: _bool = False) -> Array: ...
def busday_count(
    begindates: Any,
    enddates: Any,
    weekmask: Any = "1111100",
    holidays: Any = ...,
    busdaycal: Any = None,
    out: Array | None = None,
) -> Any: ...
def busday_offset(
    dates: Any,
    offsets: Any,
    roll: Any = "raise",
    weekmask: Any = "1111100",
    holidays: Any = None,
    busdaycal: Any = None,
    out: Array | None = None,
) -> Any: ...
def can_cast(from_: Any, to: Any, casting: _Casting = "safe") -> _bool: ...
def choose(a: _Data, choices: Any, out: Array | None = None, mode: Any = "raise") -> Array: ...
def clip(
    a: _Data,
    a_min: Any = ...,
    a_max: Any = ...,
    out: Array | None = None,
    *,
    min: Any = ...,
    max: Any = ...,
    **kwargs: Any,
) -> Array: ...
def column_stack(tup: Any) -> Array: ...
def common_type(*arrays: _Data) -> Any: ...
def compress(
    condition: _Data, a: _Data, axis: _Axis | None = None, out: Array | None = None
) -> Array: ...
def concat(
    arrays: Sequence[_Data],
    /,
    axis: _Axis = 0,
    out: Array | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: _Casting = "same_kind",
) -> Array: ...
def concatenate(
    arrays: Sequence[_Data],
    /,
    axis: _Axis = 0,
    out: Array | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: _Casting = "same_kind",
) -> Array: ...
def convolve(a: _Data, v: _Data, mode: Any = "full") -> Array: ...
def copy(a: _Data, order: _Order = "K", subok: _bool = False) -> Array: ...
def copyto(dst: Any, src: Any, casting: _Casting = "same_kind", where: Any = True) -> None: ...
def corrcoef(
    x: _Data, y: _Data | None = None, rowvar: Any = True, *, dtype: DTypeLike | None = None
) -> Array: ...
def correlate(a: _Data, v: _Data, mode: Any = "valid") -> Array: ...
def count_nonzero(a: _Data, axis: _Axis | None = None, *, keepdims: _bool = False) -> Array: ...
def cov(
    m: _Data,
    y: _Data | None = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: DTypeLike | None = None,
) -> Array: ...
def cross(
    a: _Data, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: _Axis | None = None
) -> Array: ...
def cumprod(
    a: _Data, axis: _Axis | None = None, dtype: DTypeLike | None = None, out: Array | None = None
) -> Array: ...
def cumsum(
    a: _Data, axis: _Axis | None = None, dtype: DTypeLike | None = None, out: Array | None = None
) -> Array: ...
def cumulative_prod(
    x: _Data,
    /,
    *,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    include_initial: Any = False,
) -> Array: ...
def cumulative_sum(
    x: _Data,
    /,
    *,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    include_initial: Any = False,
) -> Array: ...
def datetime_as_string(
    arr: _Data, unit: Any = None, timezone: Any = "naive", casting: _Casting = "same_kind"
) -> Any: ...
def datetime_data(dtype: DTypeLike, /) -> Any: ...
def delete(arr: _Data, obj: Any, axis: _Axis | None = None) -> Array: ...
def diag(v: _Data, k: SupportsIndex = 0) -> Array: ...
def diag_indices(n: Any, ndim: Any = 2) -> tuple[Array, ...]: ...
def diag_indices_from(arr: _Data) -> tuple[Array, ...]: ...
def diagflat(v: _Data, k: SupportsIndex = 0) -> Array: ...
def diagonal(a: _Data, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Array: ...
def diff(
    a: _Data, n: Any = 1, axis: _Axis = -1, prepend: Any = ..., append: Any = ...
) -> Array: ...
def digitize(x: _Data, bins: Any, right: Any = False) -> Array: ...
def dot(a: _Data, b: Any, out: Array | None = None) -> Array: ...
def dsplit(ary: _Data, indices_or_sections: Any) -> list[Array]: ...
def dstack(tup: Any) -> Array: ...
def ediff1d(ary: _Data, to_end: Any = None, to_begin: Any = None) -> Array: ...
def einsum(
    *operands: Any, out: Array | None = None, optimize: Any = False, **kwargs: Any
) -> Array: ...
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: Any = False) -> Any: ...
def empty(
    shape: _Shape,
    dtype: DTypeLike | None = None,
    order: _Order = "C",
    *,
    device: Literal["cpu"] | None = None,
    like: Any = None,
) -> Array: ...
def empty_like(
    prototype: Any,
    dtype: DTypeLike | None = None,
    order: _Order = "K",
    subok: _bool = True,
    shape: _Shape | None = None,
    *,
    device: Literal["cpu"] | None = None,
) -> Array: ...
def expand_dims(a: _Data, axis: _Axis) -> Array: ...
def extract(condition: _Data, arr: _Data) -> Array: ...
def eye(
    N: Any,
    M: Any = None,
    k: SupportsIndex = 0,
    dtype: DTypeLike = ...,
    order: _Order = "C",
    *,
    device: Literal["cpu"] | None = None,
    like: Any = None,
) -> Array: ...
def fill_diagonal(a: _Data, val: Any, wrap: Any = False) -> None: ...
def fix(x: _Data, out: Array | None = None) -> Array: ...
def flatnonzero(a: _Data) -> Array: ...
def flip(m: _Data, axis: _Axis | None = None) -> Array: ...
def fliplr(m: _Data) -> Array: ...
def flipud(m: _Data) -> Array: ...
def format_float_positional(
    x: _Data,
    precision: Any = None,
    unique: Any = True,
    fractional: Any = True,
    trim: Any = "k",
    sign: Any = False,
    pad_left: Any = None,
    pad_right: Any = None,
    min_digits: Any = None,
) -> str: ...
def format_float_scientific(
    x: _Data,
    precision: Any = None,
    unique: Any = True,
    trim: Any = "k",
    sign: Any = False,
    pad_left: Any = None,
    exp_digits: Any = None,
    min_digits: Any = None,
) -> str: ...
def from_dlpack(
    x: _Data, /, *, device: Literal["cpu"] | None = None, copy: _bool | None = None
) -> Array: ...
def frombuffer(
    buffer: Any,
    dtype: DTypeLike | None = None,
    count: Any = -1,
    offset: Any = 0,
    *,
    like: Any = None,
) -> Array: ...
def fromfile(
    file: Any,
    dtype: DTypeLike | None = None,
    count: Any = -1,
    sep: Any = "",
    offset: Any = 0,
    *,
    like: Any = None,
) -> Array: ...
def fromfunction(
    function: Any, shape: _Shape, *, dtype: DTypeLike = ..., like: Any = None, **kw: Any
) -> Array: ...
def fromiter(iter: Any, dtype: DTypeLike, count: Any = -1, *, like: Any = None) -> Array: ...
def frompyfunc(func: Any, /, nin: Any, nout: Any, **kwargs: Any) -> Any: ...
def fromregex(file: Any, regexp: Any, dtype: DTypeLike, encoding: Any = None) -> Array: ...
def fromstring(*args: Any, **kwargs: Any) -> Array: ...
def full(
    shape: _Shape,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    order: _Order = "C",
    *,
    device: Literal["cpu"] | None = None,
    like: Any = None,
) -> Array: ...
def full_like(
    a: _Data,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    order: _Order = "K",
    subok: _bool = True,
    shape: _Shape | None = None,
    *,
    device: Literal["cpu"] | None = None,
) -> Array: ...
def genfromtxt(
    fname: Any,
    dtype: DTypeLike = ...,
    comments: Any = "#",
    delimiter: Any = None,
    skip_header: Any = 0,
    skip_footer: Any = 0,
    converters: Any = None,
    missing_values: Any = None,
    filling_values: Any = None,
    usecols: Any = None,
    names: Any = None,
    excludelist: Any = None,
    deletechars: Any = " !#$%&'()*+,-./:;<=>?@[\\]^{|}~",
    replace_space: Any = "_",
    autostrip: Any = False,
    case_sensitive: Any = True,
    defaultfmt: Any = "f%i",
    unpack: Any = None,
    usemask: Any = False,
    loose: Any = True,
    invalid_raise: Any = True,
    max_rows: Any = None,
    encoding: Any = None,
    *,
    ndmin: Any = 0,
    like: Any = None,
) -> Array: ...
def geomspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: _bool = True,
    dtype: DTypeLike | None = None,
    axis: _Axis = 0,
) -> Array: ...
def get_printoptions() -> Any: ...
def getbufsize() -> int: ...
def geterr() -> Any: ...
def geterrcall() -> Any: ...
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any: ...
def hamming(M: Any) -> Array: ...
def hanning(M: Any) -> Array: ...
def histogram(
    a: _Data, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array]: ...
def histogram2d(
    x: _Data, y: _Data, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array, Array]: ...
def histogram_bin_edges(
    a: _Data, bins: Any = 10, range: Any = None, weights: Any = None
) -> Array: ...
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any: ...
def hsplit(ary: _Data, indices_or_sections: Any) -> list[Array]: ...
def hstack(
    tup: Any, *, dtype: DTypeLike | None = None, casting: _Casting = "same_kind"
) -> Array: ...
def i0(x: _Data) -> Array: ...
def identity(n: Any, dtype: DTypeLike | None = None, *, like: Any = None) -> Array: ...
def imag(val: Any) -> Array: ...
def indices(dimensions: Any, dtype: DTypeLike = ..., sparse: Any = False) -> Array: ...
def inner(a: _Data, b: Any, /) -> Array: ...
def insert(arr: _Data, obj: Any, values: _Data, axis: _Axis | None = None) -> Array: ...
def interp(
    x: _Data, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Array: ...
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: Any = False, return_indices: Any = False
) -> Any: ...
def is_busday(
    dates: Any,
    weekmask: Any = "1111100",
    holidays: Any = None,
    busdaycal: Any = None,
    out: Array | None = None,
) -> Any: ...
def isclose(
    a: _Data, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False
) -> Array: ...
def iscomplex(x: _Data) -> Array: ...
def iscomplexobj(x: _Data) -> _bool: ...
def isdtype(dtype: DTypeLike, kind: Any) -> _bool: ...
def isfortran(a: _Data) -> _bool: ...
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: Any = False,
    invert: Any = False,
    *,
    kind: Any = None,
) -> Array: ...
def isneginf(x: _Data, out: Array | None = None) -> Array: ...
def isposinf(x: _Data, out: Array | None = None) -> Array: ...
def isreal(x: _Data) -> Array: ...
def isrealobj(x: _Data) -> _bool: ...
def isscalar(element: Any) -> _bool: ...
def issubdtype(arg1: Any, arg2: Any) -> _bool: ...
def iterable(y: Any) -> _bool: ...
def ix_(*args: Any) -> tuple[Array, ...]: ...
def kaiser(M: Any, beta: Any) -> Array: ...
def kron(a: _Data, b: Any) -> Array: ...
def lexsort(keys: Any, axis: _Axis = -1) -> Array: ...
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: _bool = True,
    retstep: _bool = False,
    dtype: DTypeLike | None = None,
    axis: _Axis = 0,
    *,
    device: Literal["cpu"] | None = None,
) -> Any: ...
def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: Any = False,
    fix_imports: Any = True,
    encoding: Any = "ASCII",
    *,
    max_header_size: Any = 10000,
) -> Any: ...
def loadtxt(
    fname: Any,
    dtype: DTypeLike = ...,
    comments: Any = "#",
    delimiter: Any = None,
    converters: Any = None,
    skiprows: Any = 0,
    usecols: Any = None,
    unpack: Any = False,
    ndmin: Any = 0,
    encoding: Any = None,
    max_rows: Any = None,
    *,
    quotechar: Any = None,
    like: Any = None,
) -> Array: ...
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: _bool = True,
    base: Any = 10.0,
    dtype: DTypeLike | None = None,
    axis: _Axis = 0,
) -> Array: ...
def mask_indices(n: Any, mask_func: Any, k: SupportsIndex = 0) -> tuple[Array, ...]: ...
def matrix_transpose(x: _Data, /) -> Array: ...
def max(
    a: _Data,
    axis: _Axis | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    initial: Any = ...,
    where: Any = ...,
) -> Array: ...
def may_share_memory(a: _Data, b: Any, /, max_work: Any = 0) -> _bool: ...
def mean(
    a: _Data,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    *,
    where: Any = ...,
) -> Array: ...
def median(
    a: _Data,
    axis: _Axis | None = None,
    out: Any = None,
    overwrite_input: _bool = False,
    keepdims: _bool = False,
) -> Array: ...
def meshgrid(
    *xi: Any, copy: _bool = True, sparse: Any = False, indexing: Any = "xy"
) -> tuple[Array, ...]: ...
def min(
    a: _Data,
    axis: _Axis | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    initial: Any = ...,
    where: Any = ...,
) -> Array: ...
def min_scalar_type(a: _Data, /) -> np.dtype[Any]: ...
def mintypecode(typechars: Any, typeset: Any = "GDFgdf", default: Any = "d") -> str: ...
def moveaxis(a: _Data, source: Any, destination: Any) -> Array: ...
def nan_to_num(
    x: _Data, copy: _bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Array: ...
def nanargmax(
    a: _Data, axis: _Axis | None = None, out: Array | None = None, *, keepdims: _bool = ...
) -> Array: ...
def nanargmin(
    a: _Data, axis: _Axis | None = None, out: Array | None = None, *, keepdims: _bool = ...
) -> Array: ...
def nancumprod(
    a: _Data, axis: _Axis | None = None, dtype: DTypeLike | None = None, out: Array | None = None
) -> Array: ...
def nancumsum(
    a: _Data, axis: _Axis | None = None, dtype: DTypeLike | None = None, out: Array | None = None
) -> Array: ...
def nanmax(
    a: _Data,
    axis: _Axis | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    initial: Any = ...,
    where: Any = ...,
) -> Array: ...
def nanmean(
    a: _Data,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    *,
    where: Any = ...,
) -> Array: ...
def nanmedian(
    a: _Data,
    axis: _Axis | None = None,
    out: Array | None = None,
    overwrite_input: _bool = False,
    keepdims: _bool = ...,
) -> Array: ...
def nanmin(
    a: _Data,
    axis: _Axis | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    initial: Any = ...,
    where: Any = ...,
) -> Array: ...
def nanpercentile(
    a: _Data,
    q: Any,
    axis: _Axis | None = None,
    out: Array | None = None,
    overwrite_input: _bool = False,
    method: Any = "linear",
    keepdims: _bool = ...,
    *,
    weights: Any = None,
) -> Array: ...
def nanprod(
    a: _Data,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    initial: Any = ...,
    where: Any = ...,
) -> Array: ...
def nanquantile(
    a: _Data,
    q: Any,
    axis: _Axis | None = None,
    out: Array | None = None,
    overwrite_input: _bool = False,
    method: Any = "linear",
    keepdims: _bool = ...,
    *,
    weights: Any = None,
) -> Array: ...
def nanstd(
    a: _Data,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: _bool = ...,
    *,
    where: Any = ...,
    mean: Any = ...,
    correction: Any = ...,
) -> Array: ...
def nansum(
    a: _Data,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    initial: Any = ...,
    where: Any = ...,
) -> Array: ...
def nanvar(
    a: _Data,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: _bool = ...,
    *,
    where: Any = ...,
    mean: Any = ...,
    correction: Any = ...,
) -> Array: ...
def ndim(a: Any) -> int: ...
def nonzero(a: _Data) -> tuple[Array, ...]: ...
def ones(
    shape: _Shape,
    dtype: DTypeLike | None = None,
    order: _Order = "C",
    *,
    device: Literal["cpu"] | None = None,
    like: Any = None,
) -> Array: ...
def ones_like(
    a: _Data,
    dtype: DTypeLike | None = None,
    order: _Order = "K",
    subok: _bool = True,
    shape: _Shape | None = None,
    *,
    device: Literal["cpu"] | None = None,
) -> Array: ...
def outer(a: _Data, b: Any, out: Array | None = None) -> Array: ...
def packbits(a: _Data, /, axis: _Axis | None = None, bitorder: Any = "big") -> Array: ...
def pad(array: _Data, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array: ...
def partition(
    a: _Data, kth: Any, axis: _Axis = -1, kind: Any = "introselect", order: Any = None
) -> Array: ...
def percentile(
    a: _Data,
    q: Any,
    axis: _Axis | None = None,
    out: Array | None = None,
    overwrite_input: _bool = False,
    method: Any = "linear",
    keepdims: _bool = False,
    *,
    weights: Any = None,
) -> Array: ...
def permute_dims(a: _Data, axes: Any = None) -> Array: ...
def piecewise(x: _Data, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any: ...
def place(arr: _Data, mask: Any, vals: Any) -> None: ...
def poly(seq_of_zeros: Any) -> Array: ...
def polyadd(a1: Any, a2: Any) -> Array: ...
def polyder(p: Any, m: _Data = 1) -> Array: ...
def polydiv(u: Any, v: _Data) -> tuple[Array, Array]: ...
def polyfit(
    x: _Data,
    y: _Data,
    deg: Any,
    rcond: Any = None,
    full: Any = False,
    w: Any = None,
    cov: Any = False,
) -> Any: ...
def polyint(p: Any, m: _Data = 1, k: SupportsIndex | None = None) -> Array: ...
def polymul(a1: Any, a2: Any) -> Array: ...
def polysub(a1: Any, a2: Any) -> Array: ...
def polyval(p: Any, x: _Data) -> Array: ...
def printoptions(*args: Any, **kwargs: Any) -> Any: ...
def prod(
    a: _Data,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    initial: Any = ...,
    where: Any = ...,
) -> Array: ...
def promote_types(type1: Any, type2: Any, /) -> np.dtype[Any]: ...
def ptp(
    a: _Data, axis: _Axis | None = None, out: Array | None = None, keepdims: _bool = ...
) -> Array: ...
def put(a: _Data, ind: Any, v: _Data, mode: Any = "raise") -> None: ...
def put_along_axis(arr: _Data, indices: Any, values: _Data, axis: _Axis) -> None: ...
def putmask(a: _Data, /, mask: Any, values: _Data) -> None: ...
def quantile(
    a: _Data,
    q: Any,
    axis: _Axis | None = None,
    out: Array | None = None,
    overwrite_input: _bool = False,
    method: Any = "linear",
    keepdims: _bool = False,
    *,
    weights: Any = None,
) -> Array: ...
def ravel(a: _Data, order: _Order = "C") -> Array: ...
def ravel_multi_index(
    multi_index: Any, dims: Any, mode: Any = "raise", order: _Order = "C"
) -> Array: ...
def real(val: Any) -> Array: ...
def real_if_close(a: _Data, tol: Any = 100) -> Array: ...
def repeat(a: _Data, repeats: Any, axis: _Axis | None = None) -> Array: ...
def require(
    a: Any, dtype: DTypeLike | None = None, requirements: Any = None, *, like: Any = None
) -> Array: ...
def reshape(
    a: _Data, /, shape: _Shape, order: _Order = "C", *, copy: _bool | None = None
) -> Array: ...
def resize(a: _Data, new_shape: Any) -> Array: ...
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]: ...
def roll(a: _Data, shift: Any, axis: _Axis | None = None) -> Array: ...
def rollaxis(a: _Data, axis: _Axis, start: Any = 0) -> Array: ...
def roots(p: Any) -> Array: ...
def rot90(m: _Data, k: Any = 1, axes: Any = ...) -> Array: ...
def round(a: _Data, decimals: SupportsIndex = 0, out: Array | None = None) -> Array: ...
def row_stack(
    tup: Any, *, dtype: DTypeLike | None = None, casting: _Casting = "same_kind"
) -> Array: ...
def save(file: Any, arr: _Data, allow_pickle: Any = True) -> None: ...
def savetxt(
    fname: Any,
    X: Any,
    fmt: Any = "%.18e",
    delimiter: Any = " ",
    newline: Any = "\n",
    header: Any = "",
    footer: Any = "",
    comments: Any = "# ",
    encoding: Any = None,
) -> None: ...
def savez(file: Any, *args: Any, allow_pickle: Any = True, **kwds: Any) -> None: ...
def savez_compressed(file: Any, *args: Any, allow_pickle: Any = True, **kwds: Any) -> None: ...
def searchsorted(a: _Data, v: _Data, side: Any = "left", sorter: Any = None) -> Array: ...
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Array: ...
def set_printoptions(
    precision: Any = None,
    threshold: Any = None,
    edgeitems: Any = None,
    linewidth: Any = None,
    suppress: Any = None,
    nanstr: Any = None,
    infstr: Any = None,
    formatter: Any = None,
    sign: Any = None,
    floatmode: Any = None,
    *,
    legacy: Any = None,
    override_repr: Any = None,
) -> None: ...
def setbufsize(size: Any) -> int: ...
def setdiff1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Array: ...
def seterr(
    all: Any = None, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None
) -> Any: ...
def seterrcall(func: Any) -> Any: ...
def setxor1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Array: ...
def shape(a: _Data) -> tuple[int, ...]: ...
def shares_memory(a: _Data, b: Any, /, max_work: Any = -1) -> _bool: ...
def sinc(x: _Data) -> Array: ...
def size(a: _Data, axis: _Axis | None = None) -> int: ...
def sort(
    a: _Data,
    axis: _Axis = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: _bool | None = None,
    descending: _bool = False,
) -> Array: ...
def sort_complex(a: _Data) -> Array: ...
def split(ary: _Data, indices_or_sections: Any, axis: _Axis = 0) -> list[Array]: ...
def squeeze(a: _Data, axis: _Axis | None = None) -> Array: ...
def stack(
    arrays: Sequence[_Data],
    axis: _Axis = 0,
    out: Array | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: _Casting = "same_kind",
) -> Array: ...
def std(
    a: _Data,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: _bool = ...,
    *,
    where: Any = ...,
    mean: Any = ...,
    correction: Any = ...,
) -> Array: ...
def sum(
    a: _Data,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    keepdims: _bool = ...,
    initial: Any = ...,
    where: Any = ...,
) -> Array: ...
def swapaxes(a: _Data, axis1: Any, axis2: Any) -> Array: ...
def take(
    a: _Data, indices: Any, axis: _Axis | None = None, out: Array | None = None, mode: Any = "raise"
) -> Array: ...
def take_along_axis(arr: _Data, indices: Any, axis: _Axis = -1) -> Array: ...
def tensordot(a: _Data, b: Any, axes: Any = 2) -> Array: ...
def tile(A: Any, reps: Any) -> Array: ...
def trace(
    a: _Data,
    offset: Any = 0,
    axis1: Any = 0,
    axis2: Any = 1,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Array: ...
def transpose(a: _Data, axes: Any = None) -> Array: ...
def trapezoid(y: _Data, x: _Data | None = None, dx: Any = 1.0, axis: _Axis = -1) -> Array: ...
def tri(
    N: Any, M: Any = None, k: SupportsIndex = 0, dtype: DTypeLike = ..., *, like: Any = None
) -> Array: ...
def tril(m: _Data, k: SupportsIndex = 0) -> Array: ...
def tril_indices(n: Any, k: SupportsIndex = 0, m: _Data | None = None) -> tuple[Array, ...]: ...
def tril_indices_from(arr: _Data, k: SupportsIndex = 0) -> tuple[Array, ...]: ...
def trim_zeros(filt: Any, trim: Any = "fb", axis: _Axis | None = None) -> Array: ...
def triu(m: _Data, k: SupportsIndex = 0) -> Array: ...
def triu_indices(n: Any, k: SupportsIndex = 0, m: _Data | None = None) -> tuple[Array, ...]: ...
def triu_indices_from(arr: _Data, k: SupportsIndex = 0) -> tuple[Array, ...]: ...
def typename(char: Any) -> str: ...
def union1d(ar1: Any, ar2: Any) -> Array: ...
def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: _Axis | None = None,
    *,
    equal_nan: Any = True,
    sorted: Any = True,
) -> Any: ...
def unique_all(x: _Data) -> Any: ...
def unique_counts(x: _Data) -> Any: ...
def unique_inverse(x: _Data) -> Any: ...
def unique_values(x: _Data) -> Array: ...
def unpackbits(
    a: _Data, /, axis: _Axis | None = None, count: Any = None, bitorder: Any = "big"
) -> Array: ...
def unravel_index(indices: Any, shape: _Shape, order: _Order = "C") -> tuple[Array, ...]: ...
def unstack(x: _Data, /, *, axis: _Axis = 0) -> tuple[Array, ...]: ...
def unwrap(
    p: Any, discont: Any = None, axis: _Axis = -1, *, period: Any = 6.283185307179586
) -> Array: ...
def vander(x: _Data, N: Any = None, increasing: Any = False) -> Array: ...
def var(
    a: _Data,
    axis: _Axis | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: _bool = ...,
    *,
    where: Any = ...,
    mean: Any = ...,
    correction: Any = ...,
) -> Array: ...
def vdot(a: _Data, b: Any, /) -> Array: ...
def vsplit(ary: _Data, indices_or_sections: Any) -> list[Array]: ...
def vstack(
    tup: Any, *, dtype: DTypeLike | None = None, casting: _Casting = "same_kind"
) -> Array: ...
@overload
def where(condition: _Data, /) -> tuple[Array, ...]: ...
@overload
def where(condition: _Data, x: _Data, y: _Data, /) -> Array: ...
def zeros(
    shape: _Shape,
    dtype: DTypeLike | None = None,
    order: _Order = "C",
    *,
    device: Literal["cpu"] | None = None,
    like: Any = None,
) -> Array: ...
def zeros_like(
    a: _Data,
    dtype: DTypeLike | None = None,
    order: _Order = "K",
    subok: _bool = True,
    shape: _Shape | None = None,
    *,
    device: Literal["cpu"] | None = None,
) -> Array: ...

_bool: TypeAlias = builtins.bool

# types and constants are NumPy's
False_: Any
ScalarType: Any
True_: Any
from numpy import bool as bool
from numpy import bool_ as bool_
from numpy import broadcast as broadcast
from numpy import busdaycalendar as busdaycalendar
from numpy import byte as byte
from numpy import bytes_ as bytes_

c_: Any
from numpy import cdouble as cdouble
from numpy import character as character
from numpy import clongdouble as clongdouble
from numpy import complex128 as complex128
from numpy import complex256 as complex256
from numpy import complex64 as complex64
from numpy import complexfloating as complexfloating
from numpy import csingle as csingle
from numpy import datetime64 as datetime64
from numpy import double as double
from numpy import dtype as dtype
from numpy import dtypes as dtypes

e: float
from numpy import emath as emath
from numpy import errstate as errstate

euler_gamma: float
from numpy import exceptions as exceptions

def finfo(type: Any) -> Any: ...

from numpy import flexible as flexible
from numpy import float128 as float128
from numpy import float16 as float16
from numpy import float32 as float32
from numpy import float64 as float64
from numpy import floating as floating
from numpy import generic as generic
from numpy import half as half

def iinfo(type: Any) -> Any: ...

index_exp: Any
from numpy import inexact as inexact

inf: float
from numpy import int16 as int16
from numpy import int32 as int32
from numpy import int64 as int64
from numpy import int8 as int8
from numpy import int_ as int_
from numpy import intc as intc
from numpy import integer as integer
from numpy import intp as intp
from numpy import lib as lib

little_endian: bool
from numpy import long as long
from numpy import longdouble as longdouble
from numpy import longlong as longlong

mgrid: Any
nan: float
from numpy import ndenumerate as ndenumerate
from numpy import ndindex as ndindex

newaxis: None
from numpy import number as number
from numpy import object_ as object_

ogrid: Any
pi: float
from numpy import poly1d as poly1d
from numpy import polynomial as polynomial

r_: Any
s_: Any
sctypeDict: Any
from numpy import short as short
from numpy import signedinteger as signedinteger
from numpy import single as single
from numpy import str_ as str_
from numpy import strings as strings
from numpy import testing as testing
from numpy import timedelta64 as timedelta64

typecodes: Any
from numpy import typing as typing
from numpy import ubyte as ubyte
from numpy import ufunc as ufunc
from numpy import uint as uint
from numpy import uint16 as uint16
from numpy import uint32 as uint32
from numpy import uint64 as uint64
from numpy import uint8 as uint8
from numpy import uintc as uintc
from numpy import uintp as uintp
from numpy import ulong as ulong
from numpy import ulonglong as ulonglong
from numpy import unsignedinteger as unsignedinteger
from numpy import ushort as ushort
from numpy import vectorize as vectorize
from numpy import void as void

__array_api_version__: str
__version__: str

def __array_namespace_info__() -> Any: ...
