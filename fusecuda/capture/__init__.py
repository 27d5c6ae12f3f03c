"""Capture: lazy arrays, `fused`, views and mutation, and NumPy's protocols."""

from importlib import import_module

import_module(f"{__name__.rpartition('.')[0]}.numpy")  # by whose names arrays find functions
