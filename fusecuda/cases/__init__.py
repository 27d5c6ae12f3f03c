"""Cases: a graph with its inputs as files, computed a second time and compared."""
