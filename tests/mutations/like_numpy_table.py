"""Planted bugs in what lazy arrays and their namespace have to do as NumPy's own."""

from __future__ import annotations

from .mutation import Mutation, ids

_CREATION = "capture/arrays/creation.py"


def _noticed(*names: str) -> tuple[str, ...]:
    return ids("arrays/as_numpys_arrays", *names)


def _types(name: str) -> tuple[str, ...]:
    return ids("numpy/numpys_own_types", name)


LIKE_NUMPY = (
    Mutation(
        "an-array-and-a-type-for-the-result",
        "capture/arrays/dispatch.py",
        "return None if both and func in _OUT_OR_DTYPE else TABLE.get(func)",
        "return TABLE.get(func)",
        "arrays are joined in a type and written to an array of another one",
        _noticed("methods_take_numpys_arguments[at once-joined, out and dtype]"),
    ),
    Mutation(
        "text-in-lazy-arrays",
        _CREATION,
        "    if kind is not float and not is_numeric(np.dtype(kind)):",
        "    if False:",
        "new arrays of text are filled with the text of a number",
        _types("arrays_without_numbers_are_numpys[at once-S3-zeros]"),
    ),
    Mutation(
        "objects-in-lazy-arrays",
        _CREATION,
        "            return new(Array, made) if is_numeric(made.dtype) else made",
        "            return new(Array, made)",
        "a lazy array is filled with objects, which nobody can write to",
        _types("arrays_without_numbers_are_numpys[at once-objects-full]"),
    ),
    Mutation(
        "shapes-of-their-own-in-rows",
        "capture/arrays/kept_order.py",
        '        order = "F" if laid.flags.fnc else "C"',
        "        pass",
        "a new array like one in columns lies row by row where it is asked for by order A",
        _types("arrays_like_others_lie_as_numpys[at once-zeros_like-columns]"),
    ),
    Mutation(
        "repetitions-copied",
        "capture/arrays/wrapping.py",
        "        return _repeating(value)",
        "        pass",
        "a number that is broadcast to a large shape fills the memory",
        _types("what_repeats_is_kept_once[at once]"),
    ),
    Mutation(
        "lazy-keys-of-iterators-as-lists",
        "capture/arrays/flat.py",
        "        return self._numpys[rebuilt(key, _shown)]",
        "        return self._numpys[key]",
        "a lazy mask is no key of an iterator",
        _noticed("iterators_take_lazy_keys_and_values[at once-mask]"),
    ),
    Mutation(
        "exports-that-may-be-written",
        "capture/arrays/held.py",
        "            result.flags.writeable = self.writeable and storage.writeable\n        return",
        "            pass\n        return",
        "others may write to what is read-only here",
        _noticed("what_is_read_only_is_exported_so[at once]"),
    ),
    Mutation(
        "spans-as-numbers",
        "capture/arrays/indexing.py",
        "    return issubclass(type(value), np.generic) and not is_numeric(value.dtype)",
        "    return False",
        "a span of time is written to an array of numbers",
        _noticed("writes_of_no_numbers[recorded-i8-np.timedelta64(3,'s')]"),
    ),
    Mutation(
        "numbers-that-are-no-scalars",
        "capture/arrays/borrowed.py",
        "    np.isscalar: _is_scalar,\n",
        "",
        "a condition of one number is none of NumPy's piecewise",
        _noticed("pieces_of_one_number[at once-1.0-sum-condition]"),
    ),
    Mutation(
        "reshapes-by-columns-without-copies",
        "capture/arrays/movement.py",
        "columns[::-1], copy=copy)",
        "columns[::-1])",
        "a reshape by columns copies where it must not, and is a view where it must copy",
        _noticed("reshapes_by_columns_copy_where_they_are_told_to[at once]"),
    ),
    Mutation(
        "second-choice-as-out",
        "capture/arrays/methods.py",
        "        given = choices[0] if len(choices) == 1 else choices",
        "        given, out = choices[0], choices[1] if len(choices) > 1 else out",
        "the second choice of a method is written to",
        _noticed("choices_are_not_written_to[at once]"),
    ),
)
