"""Calls of `fused` functions: recorded once, replayed under a guard."""
