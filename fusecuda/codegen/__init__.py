"""What CUDA C and C share: scalar statements from op rows, the prelude of helpers, the writer."""
