"""bench: fusecuda against NumPy and, written by hand, its rivals on the CPU, in one process."""
