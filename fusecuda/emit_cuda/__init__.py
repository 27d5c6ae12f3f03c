"""The CUDA back end: CUDA C from kernel IR, its launches, NVRTC, and the program that runs them."""
