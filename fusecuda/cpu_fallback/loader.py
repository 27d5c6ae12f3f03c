"""Kernels by their C text: from this process, from the disk, or from the compiler.

A kernel's key is the digest of all the text that it is compiled with and of the compiler. On disk
each kernel's key leads to the key of a library, since kernels that were missing together lie in
one library, and the library's key leads to its bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fusecuda.codegen.cache import default_cache, digest_of, is_key
from fusecuda.cpu_fallback.compiler import (
    Compiler,
    find_compiler,
    is_compiler_known,
    why_no_compiler,
)
from fusecuda.cpu_fallback.runs import SourceRejectedError
from fusecuda.cpu_fallback.shared_library import address_of, open_library
from fusecuda.cpu_fallback.texts import unit
from fusecuda.cpu_fallback.threads import processors
from fusecuda.errors import CompilerError

_PART = 12_000  # characters of kernels that a run of the compiler of their own pays for
_ABI_FUNCTION = "fc_abi"  # int64_t fc_abi(void), from the prelude


@dataclass(frozen=True)
class KernelSource:
    """C text that defines one kernel."""

    symbol: str  # the entry function, unique to the text
    text: str  # defines it, and helpers named symbol_*


@dataclass(frozen=True, eq=False)
class LoadedKernel:
    """A kernel in this process's memory, where it stays."""

    symbol: str
    library: ctypes.CDLL

    def address(self, suffix: str = "") -> int:
        """The address of the function named symbol + suffix, or 0 if there is none."""
        return address_of(self.library, self.symbol + suffix)


@dataclass(frozen=True)
class _Setting:
    """All that a kernel's machine code depends on besides its own text."""

    compiler: Compiler
    prelude: str
    epilogue: str
    abi: int

    @property
    def digest(self) -> str:
        return _digest(self.compiler.fingerprint, str(self.abi), self.prelude, self.epilogue)

    def kernel_key(self, kernel: KernelSource) -> str:
        return digest_of("kernel", self.digest, kernel.symbol, kernel.text)

    def library_key(self, unit: str) -> str:
        return digest_of("library", self.digest, unit)

    def unit(self, kernels: Iterable[KernelSource]) -> str:
        """The one C text that holds all the kernels."""
        return unit(self.prelude, (kernel.text for kernel in kernels), self.epilogue)


_digest = functools.lru_cache(maxsize=8)(digest_of)  # of texts as long as the prelude


_Keyed = dict[str, KernelSource]  # by kernel key
_Quick = tuple[str, int, str, str, KernelSource]


class KernelTable:
    """The kernels that a process has loaded, is building, or has failed to build."""

    def __init__(self) -> None:
        self._quick: dict[_Quick, LoadedKernel] = {}  # by text: no digest is computed
        self._loaded: dict[str, LoadedKernel] = {}
        self._libraries: dict[str, ctypes.CDLL] = {}
        self._failed: dict[str, str] = {}  # the message
        self._failed_with: Compiler | None = None
        self.forget_other_threads()

    def forget_other_threads(self) -> None:
        """No other thread is building or holds the lock: true at first, and in a forked child."""
        self._lock = threading.RLock()
        self._building: dict[str, threading.Event] = {}

    def load(
        self,
        kernels: Sequence[KernelSource],
        prelude: str,
        epilogue: str,
        abi: int,
        most: int | None = None,
    ) -> dict[str, LoadedKernel]:
        """Each kernel by its symbol; see load_kernels."""
        compiler = find_compiler()
        if compiler is None:
            raise CompilerError(why_no_compiler())
        fixed = (compiler.fingerprint, abi, prelude, epilogue)
        found = {kernel.symbol: self._quick.get((*fixed, kernel)) for kernel in kernels}
        ready = {symbol: kernel for symbol, kernel in found.items() if kernel is not None}
        if len(ready) == len(kernels):
            return ready
        _refuse_clashes(kernels)
        setting = _Setting(compiler, prelude, epilogue, abi)
        keyed = {setting.kernel_key(kernel): kernel for kernel in kernels}
        loaded = self._load_keyed(setting, keyed, most or processors())
        for key, kernel in keyed.items():
            self._quick[(*fixed, kernel)] = loaded[key]
        return {kernel.symbol: loaded[key] for key, kernel in keyed.items()}

    def at_hand(
        self, kernels: Sequence[KernelSource], prelude: str, epilogue: str, abi: int
    ) -> bool:
        """See kernels_at_hand."""
        if not is_compiler_known():
            return False
        compiler = find_compiler()
        if compiler is None:
            return True
        fixed = (compiler.fingerprint, abi, prelude, epilogue)
        if all((*fixed, kernel) in self._quick for kernel in kernels):
            return True
        setting = _Setting(compiler, prelude, epilogue, abi)
        failed = self._failed if compiler == self._failed_with else {}
        return all(
            key in self._loaded or key in failed or self._load_from_disk(setting, key, kernel)
            for kernel in kernels
            for key in [setting.kernel_key(kernel)]
        )

    def _load_keyed(self, setting: _Setting, keyed: _Keyed, most: int) -> dict[str, LoadedKernel]:
        """Every kernel, built by this thread or awaited from the one that builds it.

        A thread builds all that it has claimed before it waits for any other, so no two wait for
        each other; it then looks again, since what it waited for may have been abandoned.
        """
        while True:
            claimed, awaited = self._claim(setting, keyed)
            if not claimed and not awaited:
                return {key: self._loaded[key] for key in keyed}
            try:
                self._obtain(setting, claimed, most)
            finally:
                self._release(claimed)
            for event in awaited:
                event.wait()

    def _claim(self, setting: _Setting, keyed: _Keyed) -> tuple[_Keyed, list[threading.Event]]:
        """The missing kernels that are now ours to build, and the ends of others' builds."""
        claimed: _Keyed = {}
        awaited = []
        with self._lock:
            if setting.compiler != self._failed_with:  # another compiler, another chance
                self._failed.clear()
                self._failed_with = setting.compiler
            missing = {key: kernel for key, kernel in keyed.items() if key not in self._loaded}
            for key in missing:
                if key in self._failed:
                    raise CompilerError(self._failed[key])
            for key, kernel in missing.items():
                if key in self._building:
                    awaited.append(self._building[key])
                else:
                    claimed[key] = kernel
                    self._building[key] = threading.Event()
        return claimed, awaited

    def _release(self, claimed: _Keyed) -> None:
        with self._lock:
            ended = [self._building.pop(key, None) for key in claimed]
        for event in ended:
            if event is not None:
                event.set()

    def _obtain(self, setting: _Setting, claimed: _Keyed, most: int) -> None:
        """Each claimed kernel is in the table, as loaded or as failed."""
        missing = {
            key: kernel
            for key, kernel in claimed.items()
            if not self._load_from_disk(setting, key, kernel)
        }
        if not missing:
            return
        first, *others = _parts(missing, most)
        threads = [threading.Thread(target=self._build, args=(setting, part)) for part in others]
        with contextlib.suppress(RuntimeError):  # the interpreter ends, and begins no thread
            for thread in threads:
                thread.start()
        self._build(setting, first)
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        known = self._loaded.keys() | self._failed.keys()
        if left := {key: kernel for key, kernel in missing.items() if key not in known}:
            self._build(setting, left)  # what a thread could not begin, or has raised

    def _load_from_disk(self, setting: _Setting, key: str, kernel: KernelSource) -> bool:
        """Whether the kernel came from the disk; what proves unusable there is removed."""
        cache = default_cache()
        reference = cache.load(key)
        if reference is None:
            return False
        library_key = reference.decode("ascii", "replace")
        if not is_key(library_key):
            cache.remove(key)
            return False
        try:
            library = self._libraries.get(library_key)
            if library is None:
                payload = cache.load(library_key)
                if payload is None:
                    return False
                library = open_library(payload)
            self._admit(setting, library_key, library, {key: kernel})
        except CompilerError:
            cache.remove(library_key)
            cache.remove(key)
            return False
        return True

    def _build(self, setting: _Setting, missing: _Keyed) -> None:
        """These kernels come from one run of the compiler, or are marked as failed.

        If it rejects them together, each is tried alone, so that one bad text fails alone.
        """
        unit = setting.unit(missing.values())
        library_key = setting.library_key(unit)
        try:
            payload = setting.compiler.compile(unit)
            self._admit(setting, library_key, open_library(payload), missing)
        except SourceRejectedError as error:
            if len(missing) == 1:
                self._failed.update(dict.fromkeys(missing, str(error)))
                return
            for key, kernel in missing.items():
                self._build(setting, {key: kernel})
            return
        except CompilerError as error:
            self._failed.update(dict.fromkeys(missing, str(error)))
            return
        cache = default_cache()
        if cache.store(library_key, payload):
            for key in missing:
                cache.store(key, library_key.encode())

    def _admit(
        self, setting: _Setting, library_key: str, library: ctypes.CDLL, kernels: _Keyed
    ) -> None:
        """The kernels are loaded, once the library proves to have their ABI and their functions."""
        _check_abi(library, setting)
        for kernel in kernels.values():
            if not address_of(library, kernel.symbol):
                raise CompilerError(
                    f"the C compiler {setting.compiler.argv[0]} reported success but its library"
                    f" lacks the function {kernel.symbol}"
                )
        self._libraries[library_key] = library
        for key, kernel in kernels.items():
            self._loaded[key] = LoadedKernel(kernel.symbol, library)


def _parts(kernels: _Keyed, most: int) -> list[_Keyed]:
    """The kernels in up to ``most`` parts that take about equally long, none of them short."""
    total = sum(len(kernel.text) for kernel in kernels.values())
    count = max(1, min(most, len(kernels), total // _PART))
    parts: list[_Keyed] = [{} for _ in range(count)]
    sizes = [0] * count
    for key, kernel in sorted(kernels.items(), key=lambda item: -len(item[1].text)):
        smallest = sizes.index(min(sizes))
        parts[smallest][key] = kernel
        sizes[smallest] += len(kernel.text)
    return [part for part in parts if part]


def _check_abi(library: ctypes.CDLL, setting: _Setting) -> None:
    """Raises CompilerError unless the library says that its kernels are called as we call them."""
    if not address_of(library, _ABI_FUNCTION):
        problem = f"lacks the function {_ABI_FUNCTION}"
    else:
        function = library[_ABI_FUNCTION]
        function.restype, function.argtypes = ctypes.c_int64, ()
        abi = function()
        if abi == setting.abi:
            return
        problem = f"has ABI {abi}, not {setting.abi}"
    raise CompilerError(f"a library made by the C compiler {setting.compiler.argv[0]} {problem}")


def _refuse_clashes(kernels: Sequence[KernelSource]) -> None:
    """Raises ValueError if one symbol has two texts, or is no C name."""
    texts: dict[str, str] = {}
    for kernel in kernels:
        if not (kernel.symbol.isascii() and kernel.symbol.isidentifier()):
            raise ValueError(f"a kernel's symbol must be a C identifier, not {kernel.symbol!r}")
        if texts.setdefault(kernel.symbol, kernel.text) != kernel.text:
            raise ValueError(f"two kernels of unlike text are both named {kernel.symbol}")


_table = KernelTable()
os.register_at_fork(after_in_child=_table.forget_other_threads)


def load_kernels(
    kernels: Sequence[KernelSource],
    prelude: str,
    epilogue: str = "",
    *,
    abi: int,
    most: int | None = None,
) -> dict[str, LoadedKernel]:
    """Each kernel by its symbol; those that are nowhere yet come from one run or a few at once.

    These are as many as there are processors, or ``most`` of them.

    The text compiled is prelude, kernels, epilogue; it must define `int64_t fc_abi(void)` to give
    `abi`. CompilerError says why a kernel cannot be had; asked again, it says so without trying.
    """
    return _table.load(kernels, prelude, epilogue, abi, most)


def kernels_at_hand(
    kernels: Sequence[KernelSource], prelude: str, epilogue: str = "", *, abi: int
) -> bool:
    """Whether `load_kernels` would run no compiler: what lies on the disk has then been loaded."""
    return _table.at_hand(kernels, prelude, epilogue, abi)
