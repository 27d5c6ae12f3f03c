"""fusecuda: a kernel-fusion engine for NumPy and CuPy array code."""

__version__ = "0.1.0"
