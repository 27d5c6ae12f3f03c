"""Callables: what becomes of each public function of `cupy` and each method of `cupy.ndarray`.

Each is one of

- *recorded*: has a graph meaning, by NumPy's handler of the same name;
- *view*: recorded too, but by CuPy itself, which makes views over pending memory without a kernel;
- *free*: takes no array's values, runs as it is;
- *peeking*: free, but looks at where arrays lie, which a replay does not know;
- *composed*: CuPy's own Python text, over functions and operators that are recorded;
- *creating*: makes an array of other data; runs at once, arrays among its arguments are completed;
- *flushing*: what is pending is completed, then CuPy runs it.

A name that stands nowhere is flushing, which is always right; a test lists those that are.
"""

from __future__ import annotations

from . import internals
from .handlers import METHODS, RECORDED

# --- what CuPy does itself, over pending memory or without arrays' values

VIEW = internals.names(
    """
    transpose swapaxes moveaxis rollaxis squeeze expand_dims broadcast_to broadcast_arrays flip
    fliplr flipud rot90 diagonal permute_dims matrix_transpose atleast_1d atleast_2d atleast_3d
    split array_split hsplit vsplit dsplit real imag
    """
)
FREE = internals.names(
    """
    broadcast_shapes can_cast common_type diag_indices find_common_type format_float_positional
    format_float_scientific get_array_module get_array_wrap get_default_memory_pool
    get_default_pinned_memory_pool get_printoptions iscomplexobj is_available isdtype isfortran
    isrealobj isscalar issctype issubclass_ issubdtype issubsctype iterable
    mintypecode ndim obj2sctype printoptions promote_types result_type sctype2char
    set_printoptions set_string_function shape show_config size typename base_repr binary_repr disp
    safe_eval who min_scalar_type make_aligned_dtype memoize clear_memo fuse
    """
)
PEEKING = internals.names("byte_bounds may_share_memory")
CREATING = internals.names(
    """
    array asarray asanyarray ascontiguousarray asfarray asfortranarray asarray_chkfinite bartlett
    blackman frombuffer fromDlpack from_dlpack fromfile fromfunction fromiter fromstring genfromtxt
    hamming hanning indices kaiser load loadtxt logspace mask_indices tri tril_indices triu_indices
    """
)

_SAMPLING = internals.names("choice permutation shuffle")  # these read the array they are given
# Written in Python over functions, operators and methods that are recorded: CuPy's own text runs on
# pending arrays. A test reads their bytecode for anything native.
COMPOSED = internals.names(
    """
    allclose array_equal array_equiv cross cumulative_prod cumulative_sum ediff1d
    gradient iscomplex isneginf isposinf isreal meshgrid polyval select take_along_axis
    trapezoid trapz tril_indices_from triu_indices_from unwrap vander
    """
)
COMPOSED_OF_SCIPY = internals.names("cupyx.scipy.special.logsumexp cupyx.scipy.special.softmax")

# Methods and attributes of `cupy.ndarray` that need no values.
FREE_ATTRIBUTES = internals.names(
    """
    T mT ndim shape strides size itemsize nbytes dtype flags base device real imag view transpose
    swapaxes squeeze diagonal reduced_view
    """
)


def class_of(name: str) -> str:
    """What becomes of the function ``name`` of `cupy`, or ``linalg.norm`` and the like."""
    if name.startswith("random.") and name.rpartition(".")[2] not in _SAMPLING:
        return "creating"
    if name in COMPOSED or name in COMPOSED_OF_SCIPY:
        return "composed"
    for kind, names in (
        ("recorded", RECORDED),
        ("view", VIEW),
        ("free", FREE),
        ("peeking", PEEKING),
        ("creating", CREATING),
    ):
        if name in names:
            return kind
    return "flushing"


def class_of_method(name: str) -> str:
    """What becomes of the method or attribute ``name`` of `cupy.ndarray`."""
    if name in METHODS:
        return "recorded"
    return "free" if name in FREE_ATTRIBUTES else "flushing"
