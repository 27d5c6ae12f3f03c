"""Fusion: which operations share a kernel and why, the kernel IR, and its binding to shapes."""
