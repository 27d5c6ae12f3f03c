"""bench: fusecuda against NumPy and its rivals on the CPU, side by side in one process."""
