"""tools: the command line and what it shows."""
