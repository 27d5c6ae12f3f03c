"""Planted bugs in functions that are called as wholes."""

from __future__ import annotations

from .mutation import Mutation, ids

_BORDER, _TWINS = "capture/calls/border.py", "capture/calls/twins.py"
_WHOLE = "capture/calls/whole.py"

WHOLES = (
    Mutation(
        "whole-writes-past-reads",
        _BORDER,
        "if not own.unread:\n                own.recorder.flush()\n"
        "            if shown is None or not own.unread or own.shared:",
        "if shown is None:",
        "what waits for old values sees what a whole has written",
        ids("whole", "writing_past_a_pending_read"),
    ),
    Mutation(
        "whole-returns-copies",
        _BORDER,
        "if owner is None or owner.dtype != value.dtype:",
        "if True:",
        "what a whole returns is no view of its argument",
        ids("whole", "wholes_are_the_same[returns_views]"),
    ),
    Mutation(
        "whole-returns-another",
        _BORDER,
        "        if known is not None:\n            return known[1]\n",
        "",
        "an argument that a whole returns is another array",
        ids("whole", "wholes_are_the_same[returns_its_argument]"),
    ),
    Mutation(
        "whole-of-changed-names",
        _TWINS,
        "            if now is not seen:",
        "            if False:",
        "a whole reads what names meant before",
        ids("whole", "names_that_change"),
    ),
    Mutation(
        "whole-that-tells-kinds",
        _TWINS,
        "            if name in _LEFT_OUT:",
        "            if False:",
        "a whole sees that its arrays are NumPy's",
        ids("whole", "what_is_not_known_to_be_the_same_is_called_as_it_is[matched]"),
    ),
    Mutation(
        "whole-of-large-work",
        _WHOLE,
        "largest is not None and largest <= recorder.at_once_below",
        "largest is not None",
        "functions of large arrays are not fused",
        ids("whole", "large_arrays_are_recorded"),
    ),
)
