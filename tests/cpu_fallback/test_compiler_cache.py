"""Kernels by their text: in this process, on disk, from one run; and damaged caches."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.codegen import compilations
from fusecuda.codegen.cache import DiskCache, default_cache
from fusecuda.codegen.compilations import compile_count
from fusecuda.cpu_fallback import compiler as compiler_module
from fusecuda.cpu_fallback import loader, shared_library, texts
from fusecuda.cpu_fallback.loader import KernelSource, KernelTable
from fusecuda.cpu_fallback.program import Program
from fusecuda.errors import CompilerError
from tests.c_kernels import ABI, PRELUDE, FakeCc, call, constant, load, real_compiler

ROOT = Path(__file__).parents[2]
LIMIT = 2**20
pytestmark = pytest.mark.usefixtures("cache_folder")


def test_missing_kernels_are_compiled_together_and_once() -> None:
    table = KernelTable()
    before = compile_count()
    first = load(table, constant("a", 1), constant("b", 2))
    assert compile_count() == before + 1
    again = load(table, constant("b", 2), constant("c", 3), constant("a", 1), constant("a", 1))
    assert compile_count() == before + 2
    assert again["a"] is first["a"]
    assert [call(again[name]) for name in "abc"] == [1, 2, 3]
    assert call(again["b"], "_twice") == 4
    assert again["b"].address("_thrice") == 0
    assert first["a"].library is first["b"].library is not again["c"].library


def test_the_disk_serves_a_new_table(cache_folder: Path) -> None:
    load(KernelTable(), constant("a", 1), constant("b", 2))
    before = compile_count()
    table = KernelTable()
    kernels = {**load(table, constant("a", 1)), **load(table, constant("b", 2))}
    assert [call(kernels[name]) for name in "ab"] == [1, 2]
    assert kernels["a"].library is kernels["b"].library
    assert compile_count() == before
    assert cache_folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in cache_folder.iterdir()} == {0o600}


def test_a_warm_second_process_runs_no_compiler(fake_cc: FakeCc) -> None:
    log = fake_cc('exec cc "$@"')
    script = (
        "from tests.cpu_fallback.test_compiler_cache import *\n"
        "table = KernelTable()\n"
        "print(call(load(table, constant('k', 11))['k']), compile_count())\n"
    )
    runs = []
    for _ in range(2):
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        runs.append((done.stdout.split(), len(log.read_text().splitlines())))
    assert [output for output, _ in runs] == [["11", "1"], ["11", "0"]]
    assert runs[0][1] == runs[1][1] == 3  # version, probe, kernel


@pytest.mark.parametrize("damage", ["all", "libraries", "references", "nonsense"])
def test_a_damaged_cache_is_compiled_anew(cache_folder: Path, damage: str) -> None:
    load(KernelTable(), constant("a", 1))
    for path in cache_folder.iterdir():
        library = b"\x7fELF" in path.read_bytes()
        if damage == "all" or library == (damage == "libraries"):
            if damage == "nonsense":
                DiskCache(cache_folder, LIMIT).store(path.stem, b"nonsense")
            else:
                path.write_bytes(path.read_bytes()[:-1] + b"?")
    if damage != "nonsense":
        before = compile_count()
        assert call(load(KernelTable(), constant("a", 1))["a"]) == 1
        assert compile_count() == before + 1
    before = compile_count()
    assert call(load(KernelTable(), constant("a", 1))["a"]) == 1
    assert compile_count() == before + (damage == "nonsense")


def test_an_unusable_library_on_disk_is_replaced(cache_folder: Path) -> None:
    load(KernelTable(), constant("a", 1))
    unlike = real_compiler().compile("int unlike(void) { return 1; }")
    for path in cache_folder.iterdir():
        if b"\x7fELF" in path.read_bytes():
            assert default_cache().store(path.stem, unlike)
    before = compile_count()
    assert call(load(KernelTable(), constant("a", 1))["a"]) == 1
    assert call(load(KernelTable(), constant("a", 1))["a"]) == 1
    assert compile_count() == before + 1


def test_a_wrong_abi_is_refused_and_not_stored(cache_folder: Path) -> None:
    with pytest.raises(CompilerError, match="ABI 7, not 8"):
        KernelTable().load([constant("a", 1)], PRELUDE, "", ABI + 1)
    assert not [path for path in cache_folder.glob("*") if b"\x7fELF" in path.read_bytes()]


def test_large_kernels_are_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In as many runs as there are processors, each of kernels that are worth one."""
    monkeypatch.setattr(loader, "processors", lambda: 2)
    filling = f"/* {'x' * loader._PART} */"
    kernels = [constant(name, n) for n, name in enumerate("abc")]
    large = [KernelSource(k.symbol, k.text + filling) for k in kernels]
    table, before = KernelTable(), compile_count()
    loaded = load(table, *large, constant("d", 3))
    assert compile_count() == before + 2
    assert [call(loaded[name]) for name in "abcd"] == [0, 1, 2, 3]
    bad = KernelSource("bad", "int bad(void) { return undeclared; }" + filling)
    with pytest.raises(CompilerError, match="undeclared"):
        load(table, bad, KernelSource("e", constant("e", 4).text + filling))
    assert call(load(table, KernelSource("e", constant("e", 4).text + filling))["e"]) == 4


def test_one_bad_text_fails_alone() -> None:
    table = KernelTable()
    bad = KernelSource("bad", "int bad(void) { return undeclared; }")
    with pytest.raises(CompilerError, match="undeclared"):
        load(table, constant("a", 1), bad, constant("b", 2))
    before = compile_count()
    assert sorted(load(table, constant("a", 1), constant("b", 2))) == ["a", "b"]
    with pytest.raises(CompilerError, match="undeclared"):
        load(table, bad)
    assert compile_count() == before


def test_symbols_must_be_names_and_unlike() -> None:
    with pytest.raises(ValueError, match="both named k"):
        load(KernelTable(), constant("k", 1), constant("k", 2))
    with pytest.raises(ValueError, match="identifier"):
        load(KernelTable(), KernelSource("not a name", ""))


def test_threads_that_want_one_kernel_compile_it_once() -> None:
    table, before, results = KernelTable(), compile_count(), list[int]()
    names = ("a", "b", "c")

    def work(turn: int) -> None:
        wanted = [constant(name, ord(name)) for name in (*names[turn % 3 :], *names[: turn % 3])]
        results.extend(call(kernel) for kernel in load(table, *wanted[:2]).values())

    threads = [threading.Thread(target=work, args=(turn,)) for turn in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted([97, 98, 99] * 8)
    assert compile_count() - before <= 3


def test_a_forked_child_is_not_locked_out() -> None:
    process, table = compiler_module._process, KernelTable()
    with process.finding, compilations._process.lock, table._lock:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                table.forget_other_threads()
                load(table, constant("forked", 3))
                os._exit(compile_count())  # its own count: one
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@pytest.mark.parametrize("way", ["_open_from_file", "_open_from_memory"])
def test_a_library_loads_where_files_of_one_kind_cannot_run(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "_open_from_file" and sys.platform != "linux":
        pytest.skip("there are no files in memory")

    def refuse(payload: bytes) -> ctypes.CDLL:
        raise OSError(errno.EPERM, f"no mapping of {len(payload)} bytes")

    monkeypatch.setattr(shared_library, way, refuse)
    kernels = load(KernelTable(), constant("a", 1)) | load(KernelTable(), constant("b", 2))
    assert [call(kernels[name]) for name in "ab"] == [1, 2]
    other = "_open_from_memory" if way == "_open_from_file" else "_open_from_file"
    monkeypatch.setattr(shared_library, other, refuse)
    with pytest.raises(CompilerError, match="cannot be loaded: no mapping"):
        load(KernelTable(), constant("c", 3))


def test_why_a_library_cannot_be_loaded_names_no_file() -> None:
    """The same words each time, for a problem is told once."""
    payload = real_compiler().compile("extern int nowhere(void); int f(void) { return nowhere(); }")
    messages = set()
    for _ in range(2):
        with pytest.raises(CompilerError, match=r"cannot be loaded.*nowhere") as caught:
            shared_library.open_library(payload)
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_libraries_keep_no_descriptor_open() -> None:
    """A process may have a few hundred descriptors, and many more kernels."""
    texts = [f"int f(void) {{ return {number}; }}" for number in range(3)]
    payloads = [real_compiler().compile(text) for text in texts]
    lowest = os.dup(0)
    os.close(lowest)
    libraries = [shared_library.open_library(payload) for payload in payloads * 5]
    assert [library.f() for library in libraries] == [0, 1, 2] * 5
    again = os.dup(0)
    os.close(again)
    assert again == lowest


def test_the_driver_is_compiled_with_no_kernel(fake_cc: FakeCc) -> None:
    """It is what the probe built, so that it costs no run of the compiler either."""
    log = fake_cc('exec cc "$@"')
    load(KernelTable(), constant("a", 1))
    runs = len(log.read_text().splitlines())
    before, table = compile_count(), KernelTable()
    source = KernelSource(texts.DRIVER, texts.driver())
    kernel = table.load([source], texts.prelude(), texts.epilogue(), texts.ABI)[texts.DRIVER]
    assert kernel.address()
    assert kernel.library.fc_abi() == texts.ABI
    assert compile_count() == before
    assert len(log.read_text().splitlines()) == runs


def test_kernels_carry_no_driver() -> None:
    def twice(x: Any) -> Any:
        return x * 2 + 1

    executable = fc.lower(twice, fc.spec((5,)))
    program = executable.native()
    assert isinstance(program, Program)
    for library in program.libraries:
        assert not shared_library.address_of(library, texts.DRIVER)
    np.testing.assert_array_equal(program([np.arange(5.0)])[0], np.arange(5.0) * 2 + 1)
