"""The C back end: emission of C11, compilation by the system compiler, and execution."""
