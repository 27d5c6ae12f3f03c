"""Capture: lazy arrays, `fused`, views and mutation, and NumPy's protocols."""
