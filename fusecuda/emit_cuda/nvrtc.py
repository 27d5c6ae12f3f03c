"""NVRTC: CUDA C to a cubin, through CuPy's bindings; needs neither a GPU nor a driver."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from ..codegen.cache import default_cache, digest_of
from ..codegen.compilations import count_compilation, say_compiling
from ..errors import CompilerError
from .backend import prelude
from .source import CudaSource

HEADER = "fusecuda.cuh"
_FORMAT = "cubin 1"
_CONTEXT_LINES = 2
PROGRESS_AFTER_S = 1.0  # a compilation that takes longer is spoken of on a terminal


def options(arch: str, contract: bool = False) -> tuple[str, ...]:
    """The compiler's options: CuPy's own, so that functions give CuPy's bits."""
    del contract  # the user's own operations are spelled out in the text
    return (f"--gpu-architecture={arch}", "--std=c++17", "-ftz=true", "--disable-warnings")


def unit(sources: Sequence[CudaSource]) -> str:
    """The one text that holds all the kernels."""
    texts = dict.fromkeys(source.text for source in sources)
    return f'#include "{HEADER}"\n\n' + "\n".join(texts)


def cubin(sources: Sequence[CudaSource], arch: str, extra: Sequence[str] = ()) -> bytes:
    """The machine code of ``sources`` for ``arch`` (such as ``sm_90``), from the cache if it can.

    For a virtual architecture (such as ``compute_90``) it is PTX.

    What `start` has begun is waited for. Raises CompilerError, with the source's line marked, if
    NVRTC refuses the text or is missing.
    """
    return _begun(sources, arch, extra)()


def start(sources: Sequence[CudaSource], arch: str) -> None:
    """Begin to compile ``sources`` in a thread; several plans are compiled at a time."""
    job = _begun(sources, arch)
    threading.Thread(target=job.run, name="fusecuda nvrtc").start()


class _Job:
    """One compilation: done once, by the first thread that comes; the others wait."""

    def __init__(self, text: str, flags: tuple[str, ...], key: str) -> None:
        self.text, self.flags, self.key = text, flags, key
        self.lock = threading.Lock()
        self.code: bytes | None = None
        self.error: CompilerError | None = None

    def run(self) -> None:
        """Compile, unless it has been done; an error is kept for who asks for the code."""
        with self.lock, _at_once:
            if self.code is None and self.error is None:
                try:
                    self.code = self._code()
                except CompilerError as error:
                    self.error = error

    def _code(self) -> bytes:
        cache_ = default_cache()
        found = cache_.load(self.key)
        if found is None:
            found, _ = compile_text(self.text, self.flags)
            cache_.store(self.key, found)
        return found

    def __call__(self) -> bytes:
        """The machine code."""
        self.run()
        _jobs.pop(self.key, None)
        if self.code is None:
            assert self.error is not None
            raise self.error
        return self.code


_JOBS_LIMIT = 64
_THREADS = 4  # a compilation takes hundreds of megabytes
_at_once = threading.BoundedSemaphore(_THREADS)
_jobs: dict[str, _Job] = {}  # begun, and not asked for yet


def _forget_jobs() -> None:
    """A forked child has none of the threads that compile."""
    global _at_once  # noqa: PLW0603
    _jobs.clear()
    _at_once = threading.BoundedSemaphore(_THREADS)


os.register_at_fork(after_in_child=_forget_jobs)


def _begun(sources: Sequence[CudaSource], arch: str, extra: Sequence[str] = ()) -> _Job:
    text = unit(sources)
    flags = (*options(arch), *extra)
    key = digest_of(_FORMAT, version(), *flags, prelude(), text)
    if len(_jobs) > _JOBS_LIMIT:  # nobody has asked for them
        for job in [j for j in tuple(_jobs.values()) if j.code is not None]:
            _jobs.pop(job.key, None)
    return _jobs.setdefault(key, _Job(text, flags, key))


def compile_text(text: str, flags: Sequence[str]) -> tuple[bytes, str]:
    """The cubin of ``text``, compiled now, and the compiler's log."""
    nvrtc = _binding()
    count_compilation()
    speaking = threading.Timer(PROGRESS_AFTER_S, say_compiling, ("NVRTC",))
    if sys.stderr is not None and sys.stderr.isatty():
        speaking.start()
    program = nvrtc.createProgram(text, "kernel.cu", [prelude().encode()], [HEADER.encode()])
    try:
        try:
            nvrtc.compileProgram(program, list(flags))
        except nvrtc.NVRTCError as error:
            log = nvrtc.getProgramLog(program)
            raise CompilerError(f"NVRTC refused a kernel: {error}\n{_marked(text, log)}") from None
        log = str(nvrtc.getProgramLog(program))
        if any(flag.startswith("--gpu-architecture=compute_") for flag in flags):
            return bytes(nvrtc.getPTX(program)).rstrip(b"\0") + b"\0", log
        return bytes(nvrtc.getCUBIN(program)) + b"\0", log  # the binding drops the last byte
    finally:
        speaking.cancel()
        nvrtc.destroyProgram(program)


@cache
def architecture_for(capability: str) -> str:
    """What to compile for, for a device of compute capability ``capability`` (such as ``"90"``).

    Machine code where NVRTC knows the device, else PTX of the newest architecture before it, which
    the driver compiles. Raises CompilerError for a device older than any that NVRTC knows.
    """
    known = sorted(_binding().getSupportedArchs())
    if int(capability) in known:
        return f"sm_{capability}"
    older = [number for number in known if number < int(capability)]
    if not older:
        raise CompilerError(f"NVRTC {version()} compiles for sm_{known[0]} and newer, not for "
                            f"this device, sm_{capability}")  # fmt: skip
    return f"compute_{older[-1]}"


@cache
def version() -> str:
    """NVRTC's version, such as ``13.5``; raises CompilerError if there is none."""
    binding = _binding()
    try:
        return ".".join(map(str, binding.getVersion()))
    except RuntimeError as error:  # the binding is there, the library is not
        raise CompilerError(f"CuPy finds no NVRTC: {error}") from None


def available() -> bool:
    """True if NVRTC can be called."""
    try:
        return bool(version())
    except CompilerError:
        return False


def _binding() -> Any:
    try:
        from cupy_backends.cuda.libs import nvrtc  # noqa: PLC0415 - CuPy is optional
    except ImportError as error:
        raise CompilerError(f"CUDA kernels are compiled by CuPy's NVRTC: {error}") from None
    return nvrtc


def _marked(text: str, log: str) -> str:
    """The log, and the first line that it names with its neighbours."""
    found = re.search(r"kernel\.cu\((\d+)\)", log)
    if found is None:
        return log
    wrong = int(found.group(1))
    lines = text.splitlines()
    shown = range(max(1, wrong - _CONTEXT_LINES), min(len(lines), wrong + _CONTEXT_LINES) + 1)
    marked = (f"{'>' if n == wrong else ' '} {n:5d} | {lines[n - 1]}" for n in shown)
    return log.rstrip() + "\n" + "\n".join(marked) + "\n"
