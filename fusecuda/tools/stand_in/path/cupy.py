"""The stand-in for CuPy in a process that a script under ``run --device cpu`` has started."""

from fusecuda.tools.stand_in import follow, install

install()
follow()
