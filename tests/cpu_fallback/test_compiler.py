"""The C compiler: which it is, what it takes, and compilers that lie."""

from __future__ import annotations

import ctypes
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from fusecuda.codegen.compilations import compile_count
from fusecuda.cpu_fallback import kernels, shared_library, texts
from fusecuda.cpu_fallback.commands import libraries
from fusecuda.cpu_fallback.compiler import find_compiler, why_no_compiler
from fusecuda.cpu_fallback.loader import KernelSource, KernelTable, load_kernels
from fusecuda.errors import CompilerError
from tests.c_kernels import ABI, PRELUDE, FakeCc, call, constant, load, real_compiler

pytestmark = pytest.mark.usefixtures("cache_folder")


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


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all is linked with libraries")
def test_only_what_calls_libraries_is_linked_with_them() -> None:
    """Not where a user's flags may put in calls, either."""
    plain, rooted = "int f(void) { return 1; }", "#include <math.h>\nint f(void) { return 2; }"
    with_libm = [("-lm",)]
    assert libraries(("cc",), rooted) == libraries(("cc",), "#include <pthread.h>") == with_libm
    assert libraries(("cc", "-fsanitize=address"), plain) == with_libm
    for argv in (("cc",), ("ccache", "gcc", "-O1", "-mno-avx512f")):
        assert libraries(argv, plain) == [("-nostdlib", "-lgcc"), *with_libm]


def test_where_linking_alone_fails_libraries_are_linked_with(fake_cc: FakeCc) -> None:
    log = fake_cc('case "$*" in *-nostdlib*) exit 1;; esac\nexec cc "$@"')
    assert call(load(KernelTable(), constant("k", 5))["k"]) == 5
    *_, alone, with_libm = log.read_text().splitlines()
    assert "-nostdlib" in alone
    assert with_libm.endswith("-lm")


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


@pytest.mark.parametrize("command", ["cc -O0", "env cc -O0", "nice -n 1 cc -O0 -DVALUE=1"])
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


def test_chains_of_choices_take_one_flag_more(fake_cc: FakeCc) -> None:
    """By which they are made into vectors once, not again for the rest of a loop."""
    log = fake_cc('exec cc "$@"')
    compiler = real_compiler()
    flag = "--param=vect-epilogues-nomask=0"
    taken = flag in compiler.flags  # Clang takes it not
    for choices in (0, 15, 16, 300):
        steps = "".join(f"const int v{k + 2} = v{k} ? v{k + 1} : v{k};\n" for k in range(choices))
        compiler.compile(f"int f(int v0, int v1) {{\n{steps}return 1;\n}}\n")
        last = log.read_text().splitlines()[-1].split()
        assert (flag in last) == (taken and choices >= 16)
        assert "-fno-tree-pre" in last or not taken


def test_a_flag_that_the_compiler_lacks_is_left_out(fake_cc: FakeCc) -> None:
    fake_cc('case "$*" in *pthread*|*march*) exit 1;; esac; exec cc "$@"')
    compiler = real_compiler()
    assert not compiler.threads
    assert not {"-pthread", "-march=native"} & set(compiler.flags)
    assert "-fno-math-errno" in compiler.flags
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4


def test_only_a_refusal_leaves_a_flag_out(fake_cc: FakeCc, cache_folder: Path) -> None:
    """A run that came to nothing, as on a full machine, says nothing about flags: none is kept."""
    fake_cc('case "$*" in *pthread*) exit 0;; esac; exec cc "$@"')
    assert find_compiler() is None
    assert "wrote no library" in why_no_compiler()
    assert not list(cache_folder.glob("*"))


def test_what_the_driver_needs_is_part_of_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without atomics there are no threads, and kernels load all the same."""
    monkeypatch.setenv("FUSECUDA_CC", "cc '-D__atomic_load_n=)'")
    compiler = real_compiler()
    assert not compiler.threads
    assert "-pthread" not in compiler.flags
    assert "-fno-math-errno" in compiler.flags
    assert call(load(KernelTable(), constant("k", 4))["k"]) == 4
    assert kernels.load_driver().address()


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
def test_a_compiler_that_lies_is_found_out_once(
    fake_cc: FakeCc, cache_folder: Path, lie: str
) -> None:
    body, message = LIES[lie]
    log = fake_cc(body)
    table = KernelTable()
    with pytest.raises(CompilerError, match=message):
        load(table, constant("k", 1))
    calls = log.read_text()
    with pytest.raises(CompilerError, match=message):  # remembered
        load(table, constant("k", 1))
    assert log.read_text() == calls
    payloads = [path.read_bytes() for path in cache_folder.glob("*")]
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
