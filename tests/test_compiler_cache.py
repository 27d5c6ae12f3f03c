"""The C compiler and the kernel loader, with compilers that misbehave and damaged caches."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from fusecuda.codegen import compilations
from fusecuda.codegen.cache import DiskCache, default_cache, digest_of
from fusecuda.codegen.compilations import compile_count
from fusecuda.cpu_fallback import backend, scratch, shared_library, texts
from fusecuda.cpu_fallback import compiler as compiler_module
from fusecuda.cpu_fallback.compiler import Compiler, find_compiler, why_no_compiler
from fusecuda.cpu_fallback.loader import KernelSource, KernelTable, LoadedKernel, load_kernels
from fusecuda.errors import CompilerError

ROOT = Path(__file__).parents[1]
ABI = 7
PRELUDE = f"#include <stdint.h>\n#include <math.h>\nint64_t fc_abi(void) {{ return {ABI}; }}\n"
LIMIT = 2**20

FakeCc = Callable[[str], Path]


def constant(name: str, value: int) -> KernelSource:
    """A kernel whose entry returns `value` and whose function name_twice returns its double."""
    text = f"int {name}(void) {{ return {value}; }}\n"
    return KernelSource(name, text + f"int {name}_twice(void) {{ return 2 * {value}; }}")


def call(kernel: LoadedKernel, suffix: str = "") -> int:
    result: int = ctypes.CFUNCTYPE(ctypes.c_int)(kernel.address(suffix))()
    return result


def load(table: KernelTable, *kernels: KernelSource) -> dict[str, LoadedKernel]:
    return table.load(kernels, PRELUDE, "", ABI)


def real_compiler() -> Compiler:
    compiler = find_compiler()
    assert compiler is not None
    return compiler


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, and the system's own compiler."""
    monkeypatch.delenv("FUSECUDA_CC", raising=False)
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def fake_cc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCc:
    """`fake_cc(body)` makes a shell script FUSECUDA_CC; its calls are lines of the file given."""

    def make(body: str) -> Path:
        here = tmp_path / "a compiler's place"
        here.mkdir(exist_ok=True)
        log = here / "calls"
        script = here / f"cc {digest_of(body)[:8]}"
        script.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(log))}\n{body}\n')
        script.chmod(0o755)
        monkeypatch.setenv("FUSECUDA_CC", shlex.quote(str(script)))
        return log

    return make


# --- compiler ---------------------------------------------------------------------------------


def test_find_compiler_describes_the_systems_compiler() -> None:
    compiler = real_compiler()
    assert Path(compiler.argv[0]).is_absolute()
    assert compiler.version != "unknown"
    assert {"-O3", "-fwrapv", "-ffp-contract=off"} <= set(compiler.flags)
    assert compiler.threads == ("-pthread" in compiler.flags)
    assert find_compiler() is compiler


def test_compile_gives_a_shared_library_and_is_counted() -> None:
    before = compile_count()
    payload = real_compiler().compile("#include <math.h>\ndouble f(double x) { return cbrt(x); }")
    library = shared_library.open_library(payload)
    library.f.restype, library.f.argtypes = ctypes.c_double, (ctypes.c_double,)
    assert library.f(27.0) == pytest.approx(3.0)
    assert compile_count() == before + 1


def test_a_cut_library_is_not_taken_for_a_whole_one() -> None:
    payload = real_compiler().compile("int f(void) { return 1; }")
    assert shared_library.is_shared_library(payload)
    for cut in (0, 3, 63, 64, 200, len(payload) // 4):
        assert not shared_library.is_shared_library(payload[:cut])


def test_an_error_message_marks_the_line() -> None:
    source = "int a;\nint b;\nint f(void) {\n  return nonsense;\n}\nint c;\nint d;\n"
    with pytest.raises(CompilerError) as caught:
        real_compiler().compile(source)
    message = str(caught.value)
    assert "exit code 1" in message
    assert "-ffp-contract=off" in message
    assert "nonsense" in message
    assert ">     4 |   return nonsense;" in message
    assert "      2 | int b;" in message
    assert "int a;" not in message


@pytest.mark.parametrize("source", ["\0", "int \ud800;", "'", "#include </nowhere>", "}" * 100])
def test_hostile_text_is_refused_with_a_compiler_error(source: str) -> None:
    with pytest.raises(CompilerError):
        real_compiler().compile(source + "\nint f(void) { return missing; }")


def test_text_and_paths_reach_no_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_cc: FakeCc
) -> None:
    odd = tmp_path / "a b; touch pwned $(touch pwned) 'x"
    odd.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(odd))
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", str(odd / "cache dir"))
    fake_cc('exec cc "$@"')
    kernel = KernelSource("k", "/* `touch pwned` $(touch pwned) \\ */ int k(void) { return 5; }")
    assert call(load(KernelTable(), kernel)["k"]) == 5
    assert [path.name for path in odd.iterdir()] == ["cache dir"]
    assert not list(tmp_path.rglob("pwned"))


def test_the_environment_may_give_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSECUDA_CC", "cc -DVALUE='1 + 2'")
    compiler = real_compiler()
    assert compiler.argv[1:] == ("-DVALUE=1 + 2",)
    kernel = KernelSource("k", "int k(void) { return VALUE; }")
    assert call(load(KernelTable(), kernel)["k"]) == 3
    plain = compiler.fingerprint
    monkeypatch.setenv("FUSECUDA_CC", "cc")
    assert real_compiler().fingerprint != plain


def optimized() -> KernelSource:
    """A kernel that returns whether the optimizer was on."""
    body = "#ifdef __OPTIMIZE__\nreturn 1;\n#else\nreturn 0;\n#endif\n"
    return KernelSource("k", f"int k(void) {{\n{body}}}")


@pytest.mark.parametrize("command", ["cc -O0", "env cc -O0", "env VALUE=1 cc -O0 -DVALUE=1"])
def test_arguments_of_the_environment_win_over_ours(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert call(load(KernelTable(), optimized())["k"]) == 1
    monkeypatch.setenv("FUSECUDA_CC", command)
    assert call(load(KernelTable(), optimized())["k"]) == 0


@pytest.mark.parametrize("command", ["/nowhere/cc", "no-such-cc -x", "'unclosed", "''"])
def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("FUSECUDA_CC", command)
    assert find_compiler() is None
    with pytest.raises(CompilerError, match="FUSECUDA_CC"):
        load_kernels([constant("k", 1)], PRELUDE, abi=ABI)


def test_no_compiler_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerError, match="no C compiler"):
        load(KernelTable(), constant("k", 1))


def test_a_flag_that_the_compiler_lacks_is_left_out(fake_cc: FakeCc) -> None:
    fake_cc('case "$*" in *pthread*|*march*) exit 1;; esac; exec cc "$@"')
    compiler = real_compiler()
    assert not compiler.threads
    assert not {"-pthread", "-march=native"} & set(compiler.flags)
    assert "-fno-math-errno" in compiler.flags
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4


def test_what_the_driver_needs_is_part_of_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without atomics there are no threads, and kernels load all the same."""
    monkeypatch.setenv("FUSECUDA_CC", "cc '-D__atomic_load_n=)'")
    compiler = real_compiler()
    assert not compiler.threads
    assert "-pthread" not in compiler.flags
    assert "-fno-math-errno" in compiler.flags
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4
    assert backend.load_driver().address()


def test_what_kernels_need_is_part_of_the_probe(fake_cc: FakeCc) -> None:
    """A compiler that takes no kernel at all is found out once, not at each of them."""
    log = fake_cc("exec cc '-Dfc_args=)' \"$@\"")
    assert find_compiler() is None
    calls = log.read_text()
    for name in "abc":
        with pytest.raises(CompilerError, match=r"fc_args|exit code 1"):
            load(KernelTable(), constant(name, 1))
    assert log.read_text() == calls


@pytest.mark.parametrize("name", ["gcc", "clang", "tcc"])
def test_other_compilers_build_the_driver(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    monkeypatch.setenv("FUSECUDA_CC", name)
    compiler = real_compiler()
    assert compiler.threads == (name != "tcc")  # which has no atomics
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4
    before = compile_count()
    library = shared_library.open_library(compiler.compile(texts.probe()))
    assert shared_library.address_of(library, texts.DRIVER)
    assert compile_count() == before  # it is what the probe built


LIES = {
    "nothing": ("exit 0", "wrote no library"),
    "garbage": ("echo garbage > kernel.so", "no shared library"),
    "a program": ("cp /bin/sh kernel.so; truncate -s 5000 kernel.so", "no shared library"),
    "a folder": ("mkdir kernel.so", "wrote no library"),
    "another library": ("echo 'long fc_abi(void){return 7;}' > kernel.c; exec cc \"$@\"", "lacks"),
    "no abi": ("echo 'int k(void){return 7;}' > kernel.c; exec cc \"$@\"", "fc_abi"),
    "failure": ("echo 'out of licences' >&2; exit 3", "(?s)exit code 3.*out of licences"),
    "a crash": ("kill -SEGV $$", "killed by signal 11"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_compiler_that_lies_is_found_out_once(fake_cc: FakeCc, folder: Path, lie: str) -> None:
    body, message = LIES[lie]
    log = fake_cc(body)
    table = KernelTable()
    with pytest.raises(CompilerError, match=message):
        load(table, constant("k", 1))
    calls = log.read_text()
    with pytest.raises(CompilerError, match=message):  # remembered
        load(table, constant("k", 1))
    assert log.read_text() == calls
    payloads = [path.read_bytes() for path in folder.glob("*")]
    assert not any(b"\x7fELF" in payload for payload in payloads)


def test_another_compiler_is_another_chance(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_cc("exit 1")
    table = KernelTable()
    with pytest.raises(CompilerError):
        load(table, constant("k", 6))
    monkeypatch.delenv("FUSECUDA_CC")
    assert call(load(table, constant("k", 6))["k"]) == 6


def test_a_hanging_compiler_is_killed_with_its_children(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 0.3)
    monkeypatch.setattr(compiler_module, "PROBE_TIMEOUT_S", 0.3)
    late = tmp_path / "late"
    fake_cc(f"(sleep 1.5; touch {shlex.quote(str(late))}) &\nsleep 60")
    table = KernelTable()
    start = time.monotonic()
    with pytest.raises(CompilerError, match=r"timed out after 0\.3 s"):
        load(table, constant("k", 1))
    assert time.monotonic() - start < 5
    with pytest.raises(CompilerError, match="timed out"):
        load(table, constant("k", 1))
    time.sleep(1.6)
    assert not late.exists()


PROBE_SLEEPS = 'case "$*" in *--version*) ;; *) sleep 0.5;; esac; exec cc "$@"'


def test_a_slow_probe_is_waited_for_and_said_once(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = real_compiler().flags
    monkeypatch.setattr(compiler_module, "PROBE_TIMEOUT_S", 0.3)
    log = fake_cc(PROBE_SLEEPS)
    with pytest.warns(RuntimeWarning, match=r"is slow: it has been tried out for 0\.3 s") as said:
        compiler = real_compiler()
    assert len(said) == 1
    assert compiler.flags == expected
    assert compiler.threads == ("-pthread" in expected)
    calls = log.read_text()
    monkeypatch.setattr(compiler_module._process, "found", None)
    assert real_compiler().flags == expected  # from the disk, at once and silently
    assert log.read_text() == calls


def hang_while(path: Path, only: str = "") -> str:
    """A compiler's script that hangs on what `only` matches, while there is a file at `path`."""
    return f"""if test -e {shlex.quote(str(path))}; then
    case "$(cat kernel.c 2>&1)" in *{only}*) sleep 60;; esac
fi
exec cc "$@\""""


def test_a_probe_that_hangs_is_tried_again_after_a_rest(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = real_compiler().flags
    hung = tmp_path / "hung"
    hung.touch()
    log = fake_cc(hang_while(hung))
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 0.3)
    for _ in range(3):
        with pytest.raises(CompilerError, match=r"timed out after 0\.3 s"):
            load(KernelTable(), constant("k", 4))
    assert len(log.read_text().splitlines()) == 1
    assert "timed out" in why_no_compiler()
    hung.unlink()
    found = compiler_module._process.found
    assert found is not None
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 60.0)
    rested = dataclasses.replace(found, until=time.monotonic() - 1)
    monkeypatch.setattr(compiler_module._process, "found", rested)
    with compiler_module._process.finding:  # another thread is at it: nobody waits for it
        assert find_compiler() is None
    assert real_compiler().flags == expected
    assert why_no_compiler() == ""
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4


def test_a_kernel_that_takes_too_long_puts_its_compiler_in_doubt(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else each further kernel might cost as long."""
    hung = tmp_path / "hung"
    log = fake_cc(hang_while(hung))
    table = KernelTable()
    load(table, constant("a", 1))
    hung.touch()
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 0.3)
    with pytest.raises(CompilerError, match="timed out"):
        load(table, constant("b", 2))
    calls = len(log.read_text().splitlines())
    for name in "cde":
        with pytest.raises(CompilerError, match="timed out"):
            load(table, constant(name, 2))
    assert len(log.read_text().splitlines()) == calls + 1  # the probe, once
    assert call(load(table, constant("a", 1))["a"]) == 1  # what there is still serves


def test_a_kernel_that_takes_too_long_fails_alone(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow = tmp_path / "slow"
    slow.touch()
    log = fake_cc(hang_while(slow, only="too_long"))
    table = KernelTable()
    load(table, constant("a", 1))
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 1.0)
    with pytest.raises(CompilerError, match="timed out"):
        load(table, constant("too_long", 2))
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 60.0)
    assert call(load(table, constant("c", 3))["c"]) == 3
    calls = log.read_text()
    with pytest.raises(CompilerError, match="timed out"):  # remembered
        load(table, constant("too_long", 2))
    assert log.read_text() == calls


def test_a_compiler_that_never_stops_talking_fills_nothing(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_cc('head -c 30000000 /dev/zero | tr "\\0" a; exec cc "$@"')
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4
    fake_cc("exec yes 'it is not easy'")
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 0.5)
    with pytest.raises(CompilerError, match="timed out") as caught:
        load(KernelTable(), constant("k", 5))
    assert len(str(caught.value)) < 5000


# --- places to write ---------------------------------------------------------------------------


def no_temporary_folder() -> str:
    raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")


def test_without_a_temporary_folder_the_caches_own_serves(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", no_temporary_folder)
    monkeypatch.setattr(scratch, "_MEMORY", "/nowhere")
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(compiler_module._process, "found", None)
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4
    assert all(path.suffix == ".entry" for path in folder.iterdir())


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="there is no folder in memory")
def test_without_any_folder_memory_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", no_temporary_folder)
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setattr(compiler_module._process, "found", None)
    before = set(os.listdir("/dev/shm"))
    with pytest.warns(RuntimeWarning, match="cannot be made") as said:
        assert call(load(KernelTable(), constant("k", 4))["k"]) == 4
    assert len(said) == 1
    assert not [name for name in set(os.listdir("/dev/shm")) - before if "fusecuda" in name]


@pytest.mark.filterwarnings("ignore:the kernel cache:RuntimeWarning")
def test_without_any_place_it_is_a_compiler_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", no_temporary_folder)
    monkeypatch.setattr(scratch, "_MEMORY", "/nowhere")
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setattr(compiler_module._process, "found", None)
    for name in "ab":
        with pytest.raises(CompilerError, match="No usable temporary directory"):
            load(KernelTable(), constant(name, 4))


def test_where_one_place_is_full_the_next_is_tried(
    fake_cc: FakeCc, folder: Path, tmp_path: Path
) -> None:
    folder.mkdir(mode=0o700)
    fake_cc(
        f'case "$PWD" in {shlex.quote(str(folder))}/*) exec cc "$@";; esac\n'
        "echo 'as: kernel.o: No space left on device'; exit 1"
    )
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4


def test_a_full_file_system_is_known_by_its_free_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.statvfs(tmp_path)
    scratch.refuse_full(tmp_path)
    for field, value in (("f_bavail", 0), ("f_favail", 0)):
        full = {name: getattr(real, name) for name in ("f_bavail", "f_frsize", "f_favail")}
        full |= {"f_files": 1000, "f_favail": 500, field: value}
        monkeypatch.setattr(os, "statvfs", lambda _, full=full: types.SimpleNamespace(**full))
        with pytest.raises(OSError, match="No space left"):
            scratch.refuse_full(tmp_path)


@pytest.mark.parametrize("command", ["cc", "./cc", "../cc"])
def test_a_current_folder_that_is_gone_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("FUSECUDA_CC", command)
    if command == "cc":
        assert call(load(KernelTable(), constant("k", 4))["k"]) == 4
    else:
        assert find_compiler() is None


# --- without a compiler ------------------------------------------------------------------------


def test_a_warm_cache_serves_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    load(KernelTable(), constant("a", 1), constant("b", 2))
    monkeypatch.setenv("PATH", str(tmp_path))
    before, table = compile_count(), KernelTable()
    assert call(load(table, constant("b", 2))["b"]) == 2
    for name in "cd":
        with pytest.raises(CompilerError, match="no C compiler"):
            load(table, constant(name, 3))
    assert call(load(table, constant("a", 1), constant("b", 2))["a"]) == 1
    assert compile_count() == before
    assert "no C compiler" in why_no_compiler()


def test_a_compiler_that_breaks_or_goes_leaves_what_it_built(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_cc('exec cc "$@"')
    load(KernelTable(), constant("a", 1))
    (script,) = shlex.split(os.environ["FUSECUDA_CC"])
    for body in ("#!/bin/sh\nexit 1\n", ""):
        monkeypatch.setattr(compiler_module._process, "found", None)
        Path(script).write_text(body)
        if not body:
            Path(script).unlink()
        assert call(load(KernelTable(), constant("a", 1))["a"]) == 1
        with pytest.raises(CompilerError, match=r"exit code 1|cannot be run"):
            load(KernelTable(), constant("b", 1))
    monkeypatch.setenv("FUSECUDA_CC", "/nowhere/else")  # another setting is another compiler
    with pytest.raises(CompilerError, match="/nowhere/else"):
        load(KernelTable(), constant("a", 1))


def test_nothing_serves_on_an_unlike_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    load(KernelTable(), constant("a", 1))
    monkeypatch.setattr(compiler_module, "_target_features", lambda: "others")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerError, match="no C compiler"):
        load(KernelTable(), constant("a", 1))


@pytest.mark.parametrize("damage", [b"", b"{}", b"[1]", b'{"argv": 1, "flags": 2}'])
def test_a_memory_of_a_compiler_that_is_none_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: bytes
) -> None:
    load(KernelTable(), constant("a", 1))
    default_cache().store(compiler_module._memory_key(), damage)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerError, match="no C compiler"):
        load(KernelTable(), constant("a", 1))


def test_a_planted_probe_result_is_not_used(
    fake_cc: FakeCc, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_cc('exec cc "$@"')
    real_compiler()
    calls = len(log.read_text().splitlines())
    for path in folder.iterdir():
        path.chmod(0o666)
    monkeypatch.setattr(compiler_module._process, "found", None)
    real_compiler()
    assert len(log.read_text().splitlines()) == 2 * calls
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


# --- loader -----------------------------------------------------------------------------------


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


def test_the_disk_serves_a_new_table(folder: Path) -> None:
    load(KernelTable(), constant("a", 1), constant("b", 2))
    before = compile_count()
    table = KernelTable()
    kernels = {**load(table, constant("a", 1)), **load(table, constant("b", 2))}
    assert [call(kernels[name]) for name in "ab"] == [1, 2]
    assert kernels["a"].library is kernels["b"].library
    assert compile_count() == before
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_a_warm_second_process_runs_no_compiler(fake_cc: FakeCc) -> None:
    log = fake_cc('exec cc "$@"')
    script = (
        "from tests.test_compiler_cache import *\n"
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
def test_a_damaged_cache_is_compiled_anew(folder: Path, damage: str) -> None:
    load(KernelTable(), constant("a", 1))
    for path in folder.iterdir():
        library = b"\x7fELF" in path.read_bytes()
        if damage == "all" or library == (damage == "libraries"):
            if damage == "nonsense":
                DiskCache(folder, LIMIT).store(path.stem, b"nonsense")
            else:
                path.write_bytes(path.read_bytes()[:-1] + b"?")
    if damage != "nonsense":
        before = compile_count()
        assert call(load(KernelTable(), constant("a", 1))["a"]) == 1
        assert compile_count() == before + 1
    before = compile_count()
    assert call(load(KernelTable(), constant("a", 1))["a"]) == 1
    assert compile_count() == before + (damage == "nonsense")


def test_an_unusable_library_on_disk_is_replaced(folder: Path) -> None:
    load(KernelTable(), constant("a", 1))
    unlike = real_compiler().compile("int unlike(void) { return 1; }")
    for path in folder.iterdir():
        if b"\x7fELF" in path.read_bytes():
            assert default_cache().store(path.stem, unlike)
    before = compile_count()
    assert call(load(KernelTable(), constant("a", 1))["a"]) == 1
    assert call(load(KernelTable(), constant("a", 1))["a"]) == 1
    assert compile_count() == before + 1


def test_a_wrong_abi_is_refused_and_not_stored(folder: Path) -> None:
    with pytest.raises(CompilerError, match="ABI 7, not 8"):
        KernelTable().load([constant("a", 1)], PRELUDE, "", ABI + 1)
    assert not [path for path in folder.glob("*") if b"\x7fELF" in path.read_bytes()]


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


def test_a_library_loads_where_temporary_files_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(payload: bytes) -> ctypes.CDLL:
        raise OSError(errno.EPERM, f"no mapping of {len(payload)} bytes")

    monkeypatch.setattr(shared_library, "_open_from_file", refuse)
    kernels = load(KernelTable(), constant("a", 1)) | load(KernelTable(), constant("b", 2))
    assert [call(kernels[name]) for name in "ab"] == [1, 2]
