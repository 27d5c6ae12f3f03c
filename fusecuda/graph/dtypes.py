"""The element types that kernels compute in, with their names in HLO text and in C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DType = np.dtype[np.generic]


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type: its NumPy dtype, its HLO name (also the C suffix), and its C types."""

    dtype: DType
    hlo: str
    c: str
    unsigned: str  # the type in which wrap-around arithmetic is defined

    @property
    def kind(self) -> str:
        """NumPy's kind letter: ``b``, ``i``, ``u`` or ``f``."""
        return self.dtype.kind


_ROWS = [
    ("bool", "pred", "bool", "uint32_t"),
    ("int8", "s8", "int8_t", "uint32_t"),
    ("int16", "s16", "int16_t", "uint32_t"),
    ("int32", "s32", "int32_t", "uint32_t"),
    ("int64", "s64", "int64_t", "uint64_t"),
    ("uint8", "u8", "uint8_t", "uint32_t"),
    ("uint16", "u16", "uint16_t", "uint32_t"),
    ("uint32", "u32", "uint32_t", "uint32_t"),
    ("uint64", "u64", "uint64_t", "uint64_t"),
    ("float32", "f32", "float", "uint32_t"),
    ("float64", "f64", "double", "uint64_t"),
]

ELEMENT_TYPES: dict[DType, ElementType] = {
    np.dtype(name): ElementType(np.dtype(name), hlo, c, unsigned)
    for name, hlo, c, unsigned in _ROWS
}
BY_HLO_NAME: dict[str, DType] = {e.hlo: e.dtype for e in ELEMENT_TYPES.values()}

BOOL = np.dtype(np.bool_)
INT64 = np.dtype(np.int64)
FLOAT64 = np.dtype(np.float64)


def is_supported(dtype: DType) -> bool:
    """True if kernels can compute in ``dtype`` (native byte order, one of the eleven types)."""
    return dtype in ELEMENT_TYPES and dtype.isnative


def hlo_name(dtype: DType) -> str:
    """The name of ``dtype`` in HLO text; types outside the table show NumPy's own name."""
    row = ELEMENT_TYPES.get(dtype)
    return row.hlo if row else dtype.str.lstrip("<|=")


def parse_dtype(name: str) -> DType:
    """The dtype that `hlo_name` wrote as ``name``; raises TypeError for an unknown name."""
    return BY_HLO_NAME[name] if name in BY_HLO_NAME else np.dtype(name)
