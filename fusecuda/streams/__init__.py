"""Schedule, liveness and buffer reuse (pure), and the execution of a program on the host."""
