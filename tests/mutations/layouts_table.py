"""Planted bugs in how results lie in memory."""

from __future__ import annotations

from .mutation import Mutation, ids

_ORDER, _JOINING = "capture/arrays/kept_order.py", "capture/arrays/joining.py"


def _noticed(name: str) -> tuple[str, ...]:
    return ids("arrays/strides", f"results_have_numpys_strides[{name}]")


LAYOUTS = (
    Mutation(
        "stacks-in-rows",
        _ORDER,
        "    axes = _axes_of(tuple(seen))\n",
        "    axes = None\n",
        "stacks of products lie row by row, whatever their operands do",
        _noticed("matmul of many"),
    ),
    Mutation(
        "small-products-in-kept-order",
        "capture/arrays/products.py",
        "    return of_node(build.reduce(add, product, (len(product.shape) + axis,)))",
        "    return np.sum(np.multiply(left, right), axis=axis, dtype=dtype)",
        "small products of column-major matrices are column-major",
        _noticed("matmul"),
    ),
    Mutation(
        "joined-as-elements",
        _JOINING,
        "along, common, rule=as_joined)",
        "along, common)",
        "a stack of column-major matrices has its new axis innermost",
        _noticed("stack"),
    ),
    Mutation(
        "repeats-are-rows",
        _ORDER,
        "(rule is as_joined and _repeats(v))",
        "False",
        "copies of what is broadcast along rows lie row by row",
        _noticed("concatenate repeats"),
    ),
    Mutation(
        "segments-in-rows",
        "capture/arrays/segments.py",
        "axis, rule=as_segments)",
        "axis)",
        "reductions in segments order the axis of segments as the operand's",
        _noticed("reduceat"),
    ),
    Mutation(
        "parts-of-blocks-in-rows",
        _JOINING,
        "        return part[(None,) * (rank - part.ndim) + (...,)]\n",
        "        return part[(None,) * (rank - part.ndim) + (...,)].copy()\n",
        "blocks of column-major arrays are row-major",
        _noticed("block"),
    ),
    Mutation(
        "large-blocks-in-kept-order",
        _JOINING,
        "    if depth * made.size <= _PUT_TOGETHER:",
        "    if True:",
        "large blocks, which NumPy fills by slices, keep the order of their parts",
        _noticed("block of many"),
    ),
    Mutation(
        "columns-with-gaps",
        _ORDER,
        "source.will_lie().flags.f_contiguous",
        "source.T.view_of_storage.map.falls()",
        "what has gaps between its elements counts as column-major for the order A",
        _noticed("copy A"),
    ),
    Mutation(
        "rolled-repeats-in-rows",
        _JOINING,
        'axes_of_copy(x, "K")',
        'axes_by(x, "K")',
        "what is broadcast along rows and rolled lies row by row",
        _noticed("roll repeats"),
    ),
    Mutation(
        "rounded-in-kept-order",
        "capture/arrays/selection.py",
        '    return found.astype(kind, order="C" if in_rows else "F", copy=False)',
        "    return found",
        "what is rounded to decimals keeps the order of its axes",
        _noticed("round to tenths"),
    ),
    Mutation(
        "selected-in-kept-order",
        "capture/arrays/composed.py",
        '    return astype(chosen, dtype, "C", copy=False)',
        "    return chosen",
        "what is selected keeps the order of its choices' axes",
        _noticed("select"),
    ),
    Mutation(
        "extremes-in-rows",
        "capture/arrays/reductions.py",
        "    return value if value.ndim else of_node(array_of(value).read_node())",
        "    return of_node(array_of(value).read_node())",
        "extremes of what is not NaN lie row by row",
        _noticed("nanmax"),
    ),
)
