"""The element types that kernels compute in: one row for each, with all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DType = np.dtype[np.generic]


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type, in NumPy, in HLO text, and in C and CUDA C.

    A value in a kernel has type ``value``, an element in memory ``memory``; ``load`` makes the one
    of the other, ``store`` the other of the one. ``computes`` names the type whose texts compute
    it, if it has none of its own: what they give is then ``rounded``, and a double is rounded to it
    by ``of_double``, where that is not what is made of the float nearest to it. ``reduces`` lists
    the kinds of reductions that kernels know of it, in values of the type that computes it.
    """

    dtype: DType
    hlo: str  # also the suffix of helper functions
    value: str
    memory: str
    unsigned: str = ""  # the type in which wrap-around arithmetic is defined
    literal: str = ""  # what ends a literal
    zero: str = "0"
    load: str = "{0}"
    store: str = "{0}"
    computes: str = ""
    rounded: str = "{0}"
    of_double: str = ""
    reduces: frozenset[str] = frozenset()
    digits: int = 0  # binary ones that a floating number, or a part of a complex one, has

    @property
    def kind(self) -> str:
        """NumPy's kind letter: ``b``, ``i``, ``u``, ``f`` or ``c``, ``f`` for its void."""
        return "f" if self.dtype.kind == "V" else self.dtype.kind


_ANY = frozenset({"any", "all"})
_ORDERED = frozenset({"sum", "prod", "max", "min", "argmax", "argmin"})


def _integer(kind: str, bits: int) -> ElementType:
    name = f"{'u' if kind == 'u' else ''}int{bits}"
    wide = bits == 64
    suffix = {("i", 64): "LL", ("u", 64): "ULL", ("u", 32): "U"}.get((kind, bits), "")
    return ElementType(
        np.dtype(name),
        f"{'u' if kind == 'u' else 's'}{bits}",
        f"{name}_t",
        f"{name}_t",
        unsigned="uint64_t" if wide else "uint32_t",
        literal=suffix,
        reduces=_ORDERED,
    )


def _narrow(dtype: DType, name: str, digits: int, of_double: str = "") -> ElementType:
    """A floating type of 16 bits that is computed in float32, and rounded."""
    return ElementType(
        dtype,
        name,
        "float",
        "uint16_t",
        load=f"fc_widen_{name}({{0}})",
        store=f"fc_narrow_{name}({{0}})",
        computes="f32",
        rounded=f"fc_round_{name}({{0}})",
        of_double=of_double,
        reduces=_ORDERED,
        digits=digits,
    )


def _bfloats() -> tuple[ElementType, ...]:
    """Bfloat16, which NumPy has where ml_dtypes is installed; of a double it takes the float."""
    try:
        from ml_dtypes import bfloat16  # noqa: PLC0415 - it is optional
    except ImportError:
        return ()
    return (_narrow(np.dtype(bfloat16), "bf16", 8),)


def _complex(bits: int) -> ElementType:
    name = f"c{bits}"
    return ElementType(
        np.dtype(f"complex{bits}"),
        name,
        f"fc_{name}",
        f"fc_{name}",
        zero=f"fc_make_{name}(0, 0)",
        reduces=frozenset({"sum"}),
        digits={64: 24, 128: 53}[bits],
    )


# A bool is a byte in memory, which another program may have set to something else than 0 and 1.
_ROWS = (
    ElementType(
        np.dtype(np.bool_), "pred", "bool", "uint8_t", "uint32_t",
        load="{0} != 0", reduces=_ANY | _ORDERED,
    ),
    *(_integer("i", bits) for bits in (8, 16, 32, 64)),
    *(_integer("u", bits) for bits in (8, 16, 32, 64)),
    _narrow(np.dtype(np.float16), "f16", 11, "fc_round_f16_of_f64({0})"),
    *_bfloats(),
    ElementType(
        np.dtype(np.float32), "f32", "float", "float", literal="f", reduces=_ORDERED, digits=24,
    ),
    ElementType(np.dtype(np.float64), "f64", "double", "double", reduces=_ORDERED, digits=53),
    _complex(64),
    _complex(128),
)  # fmt: skip

ELEMENT_TYPES: dict[DType, ElementType] = {row.dtype: row for row in _ROWS}
BY_HLO_NAME: dict[str, DType] = {e.hlo: e.dtype for e in ELEMENT_TYPES.values()}

BOOL = np.dtype(np.bool_)
INT64 = np.dtype(np.int64)
UINT64 = np.dtype(np.uint64)
FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)


def kind_of(dtype: DType) -> str:
    """NumPy's kind letter for ``dtype``, and that of its row for what NumPy calls void."""
    row = ELEMENT_TYPES.get(dtype)
    return row.kind if row else dtype.kind


def is_numeric(dtype: DType) -> bool:
    """True for bools and numbers of any size."""
    return dtype.kind in "biufc" or dtype in ELEMENT_TYPES


def is_supported(dtype: DType) -> bool:
    """True if kernels can compute in ``dtype`` (native byte order, a row of the table)."""
    return dtype in ELEMENT_TYPES and dtype.isnative


def is_reducible(kind: str, dtype: DType) -> bool:
    """True if kernels can make a reduction of ``kind`` of elements of ``dtype``."""
    return is_supported(dtype) and kind in ELEMENT_TYPES[dtype].reduces


def computed_in(dtype: DType) -> DType:
    """The dtype whose texts compute ``dtype``: its own, or a wider one that is rounded to it."""
    row = ELEMENT_TYPES[dtype]
    return BY_HLO_NAME[row.computes] if row.computes else dtype


def part_of_complex(dtype: DType) -> DType:
    """The dtype of the real and of the imaginary part of complex ``dtype``."""
    return np.dtype(f"f{dtype.itemsize // 2}")


def complex_of(dtype: DType) -> DType:
    """The complex dtype whose parts are of floating ``dtype``."""
    return np.dtype(f"c{dtype.itemsize * 2}")


def hlo_name(dtype: DType) -> str:
    """The name of ``dtype`` in HLO text; types outside the table show NumPy's own name."""
    row = ELEMENT_TYPES.get(dtype)
    if row is not None:
        return row.hlo
    name = dtype.str.lstrip("<|=")
    return dtype.name if name in BY_HLO_NAME else name  # a long double is no half


def type_text(dtype: DType) -> str:
    """What `numpy.dtype` makes ``dtype`` of again: its layout, or its name where that is void."""
    return dtype.name if dtype.kind == "V" and dtype in ELEMENT_TYPES else dtype.str


def parse_dtype(name: str) -> DType:
    """The dtype that `hlo_name` wrote as ``name``; raises TypeError for an unknown name."""
    return BY_HLO_NAME[name] if name in BY_HLO_NAME else np.dtype(name)
