"""Export: a function as C or CUDA sources that need no Python."""
