"""Compilers that are slow, hang or are gone, and nowhere to write."""

from __future__ import annotations

import dataclasses
import errno
import os
import shlex
import shutil
import tempfile
import time
import types
import weakref
from pathlib import Path

import pytest

import fusecuda as fc
from fusecuda.codegen.cache import default_cache
from fusecuda.codegen.compilations import compile_count
from fusecuda.cpu_fallback import compiler as compiler_module
from fusecuda.cpu_fallback import scratch
from fusecuda.cpu_fallback.compiler import Compiler, find_compiler, why_no_compiler
from fusecuda.cpu_fallback.loader import KernelTable
from fusecuda.errors import CompilerError
from tests.c_kernels import FakeCc, call, constant, load, real_compiler
from tests.marks import at_length

pytestmark = pytest.mark.usefixtures("cache_folder")


@at_length
def test_a_hanging_compiler_is_killed_with_its_children(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 1.0)
    monkeypatch.setattr(compiler_module, "PROBE_TIMEOUT_S", 1.0)
    beats = tmp_path / "beats"
    fake_cc(f"while :; do echo >>{shlex.quote(str(beats))}; sleep 0.05; done &\nsleep 60")
    table = KernelTable()
    with pytest.raises(CompilerError, match=r"timed out after 1 s"):
        load(table, constant("k", 1))
    with pytest.raises(CompilerError, match="timed out"):
        load(table, constant("k", 1))
    time.sleep(0.1)
    before = beats.stat().st_size
    time.sleep(0.5)
    assert before and beats.stat().st_size == before


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
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 1.0)
    for _ in range(3):
        with pytest.raises(CompilerError, match=r"timed out after 1 s"):
            load(KernelTable(), constant("k", 4))
    assert len(log.read_text().splitlines()) == 1
    assert "timed out" in why_no_compiler()
    hung.unlink()
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 60.0)
    monkeypatch.setattr(compiler_module._process, "found", None)  # as another process
    assert "timed out" in why_no_compiler()
    assert len(log.read_text().splitlines()) == 1
    found = compiler_module._process.found
    assert found is not None
    assert 0 < found.until - time.monotonic() < 60
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    rested = dataclasses.replace(found, until=time.monotonic() - 1)
    monkeypatch.setattr(compiler_module._process, "found", rested)
    with compiler_module._process.finding:  # another thread is at it: nobody waits for it
        assert find_compiler() is None
    assert real_compiler().flags == expected
    assert why_no_compiler() == ""
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4


def test_where_one_compiler_hangs_the_next_is_taken(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_cc("exec sleep 60")
    (script,) = shlex.split(os.environ["FUSECUDA_CC"])
    here = tmp_path / "bin"
    here.mkdir()
    (here / "cc").symlink_to(script)
    (here / "gcc").symlink_to(shutil.which("cc") or "/nowhere")
    monkeypatch.delenv("FUSECUDA_CC")
    monkeypatch.setenv("PATH", f"{here}:/bin:/usr/bin")
    tried: list[str] = []

    def probe(argv: tuple[str, ...]) -> Compiler:
        patience = 0.3 if argv[0] == str(here / "cc") else 60.0
        monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", patience)
        tried.append(Path(argv[0]).name)
        return real(argv)

    real = compiler_module._probe
    monkeypatch.setattr(compiler_module, "_probe", probe)
    for _ in range(2):
        monkeypatch.setattr(compiler_module._process, "found", None)
        assert real_compiler().argv == (str(here / "gcc"),)
    assert tried == ["cc", "gcc"]  # by the first process, so to speak


@at_length
def test_a_kernel_that_takes_too_long_puts_its_compiler_in_doubt(
    fake_cc: FakeCc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else each further kernel might cost as long."""
    hung = tmp_path / "hung"
    log = fake_cc(hang_while(hung))
    table = KernelTable()
    load(table, constant("a", 1))
    hung.touch()
    monkeypatch.setattr(compiler_module, "COMPILE_TIMEOUT_S", 1.0)
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
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", no_temporary_folder)
    monkeypatch.setattr(scratch, "_MEMORY", "/nowhere")
    cache_folder.mkdir(mode=0o700)
    monkeypatch.setattr(compiler_module._process, "found", None)
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4
    assert all(path.suffix == ".entry" for path in cache_folder.iterdir())


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
        with pytest.raises(CompilerError, match="no temporary folder to write to"):
            load(KernelTable(), constant(name, 4))


def test_where_one_place_is_full_the_next_is_tried(
    fake_cc: FakeCc, cache_folder: Path, tmp_path: Path
) -> None:
    cache_folder.mkdir(mode=0o700)
    fake_cc(
        f'case "$PWD" in {shlex.quote(str(cache_folder))}/*) exec cc "$@";; esac\n'
        "echo 'as: kernel.o: No space left on device'; exit 1"
    )
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4


def test_a_temporary_folder_in_which_anybody_may_exchange_files_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode, taken in ((0o777, False), (0o1777, True), (0o755, True)):
        tmp_path.chmod(mode)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        parent = scratch.in_scratch_folder(lambda folder: folder.parent)
        assert (parent == tmp_path) == taken


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_that_ends_leaves_its_parents_folder_alone() -> None:
    def work(folder: Path) -> bool:
        child = os.fork()
        if child == 0:
            weakref.finalize._exitfunc()  # type: ignore[attr-defined]  # as at any exit
            os._exit(0)
        os.waitpid(child, 0)
        return folder.exists()

    assert scratch.in_scratch_folder(work)


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
    assert "for what is cached: no C compiler" in fc.info()["compiler"]
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setattr(compiler_module._process, "found", None)
    assert fc.info()["compiler"].startswith("none: no C compiler")


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
    monkeypatch.setattr(compiler_module, "target_features", lambda: "others")
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
    fake_cc: FakeCc, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_cc('exec cc "$@"')
    real_compiler()
    calls = len(log.read_text().splitlines())
    for path in cache_folder.iterdir():
        path.chmod(0o666)
    monkeypatch.setattr(compiler_module._process, "found", None)
    real_compiler()
    assert len(log.read_text().splitlines()) == 2 * calls
    assert {path.stat().st_mode & 0o777 for path in cache_folder.iterdir()} == {0o600}
