"""The lazy array, and the one table of handlers that record what is done to it."""

from . import composed, indexing, joining, movement, products, reductions, selection

__all__ = ["composed", "indexing", "joining", "movement", "products", "reductions", "selection"]
