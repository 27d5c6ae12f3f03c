"""Makefiles: how what was exported becomes a static and a shared library."""

from __future__ import annotations

from ...cpu_fallback.compiler import FLAGS
from ...emit_cuda import nvrtc

_C = """\
# Builds lib{name}.a and lib{name}.so; `make ARCH=` for processors unlike this one.
ARCH ?= -march=native
OPT ?= -O3

# Results are NumPy's only with these: wrapping integers, no contracted products.
NEEDED := {needed}
# These are of use to compilers that know them.
try = $(shell $(CC) -Werror $(1) -x c -c -o /dev/null /dev/null 2>/dev/null && echo $(1))
USEFUL := $(call try,$(ARCH)) {useful}

all: lib{name}.a lib{name}.so

{name}.o: {name}.c {name}.h
\t$(CC) $(NEEDED) $(OPT) $(USEFUL) $(CFLAGS) -c -o $@ $<

lib{name}.a: {name}.o
\t$(AR) rcs $@ $^

lib{name}.so: {name}.o
\t$(CC) -shared -pthread $(LDFLAGS) -o $@ $^ -lm

clean:
\t$(RM) {name}.o lib{name}.a lib{name}.so

.PHONY: all clean
"""
_CUDA = """\
# Builds lib{name}.a and lib{name}.so; `make ARCH=sm_90` for a device that is not here.
NVCC ?= nvcc
ARCH ?= native
FLAGS := {flags}

all: lib{name}.a lib{name}.so

{name}.o: {name}.cu {name}.h
\t$(NVCC) -arch=$(ARCH) -O3 $(FLAGS) $(NVCCFLAGS) -Xcompiler -fPIC -c -o $@ $<

lib{name}.a: {name}.o
\t$(AR) rcs $@ $^

lib{name}.so: {name}.o
\t$(NVCC) -arch=$(ARCH) -shared -o $@ $^

clean:
\t$(RM) {name}.o lib{name}.a lib{name}.so

.PHONY: all clean
"""
_NOT_HERE = ("-shared", "-O3", "-march=native", "-pthread")


def c_makefile(name: str) -> str:
    """The Makefile of an export to C; it needs cc and make."""
    needed = [f.text for f in FLAGS if f.required and f.text not in _NOT_HERE]
    useful = [f.text for f in FLAGS if not f.required and f.text not in _NOT_HERE]
    calls = " ".join(f"$(call try,{text})" for text in useful)
    return _C.format(name=name, needed=" ".join([*needed, "-pthread"]), useful=calls)


def cuda_makefile(name: str, contract: bool) -> str:
    """The Makefile of an export to CUDA; it needs nvcc and make."""
    _, *flags = (f for f in nvrtc.options("", contract) if f != "--disable-warnings")
    return _CUDA.format(name=name, flags=" ".join([*flags, "-w"]))
