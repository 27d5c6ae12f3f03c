"""Capture of CuPy code: operations on plain `cupy.ndarray` objects become nodes of a region.

CuPy itself makes every view, so its shapes, strides and bases are right by construction: an array
whose value is not computed yet lies over made-up addresses (`internals`), and what it shows of its
storage is read off its address and strides (`layout`). Nothing here is imported before the user has
imported CuPy and entered a block.
"""
