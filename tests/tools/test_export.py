"""Exports: what cc makes of them has the same bits as the executable, and needs no Python."""

from __future__ import annotations

import ctypes
import functools
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.tools.export.reserved import c_name
from tests.exported import (
    NDArray,
    Program,
    argument_names,
    brief,
    busy,
    c_argument,
    copied,
    counted,
    diffuse,
    every_second,
    flat,
    half,
    has_bfloat16,
    made,
    mixed,
    picked,
    random,
    scaled,
    several,
    softmax,
    stacked,
    steps,
    total,
    turned,
)
from tests.marks import one_in

needs_cc = pytest.mark.skipif(
    not (shutil.which("cc") and shutil.which("make")), reason="needs cc and make"
)


PROGRAMS = [
    Program(softmax, (random((37, 129), "f4"),)),
    Program(diffuse, (random(50_000), 0.1, 0.5)),
    Program(several, (random((30, 7)), random((30, 7)))),
    Program(steps, (random(70_001), 3)),
    Program(picked, (random(10), np.array([3, -1, 0, 9]))),
    Program(stacked, ({"a": random(5), "b": [random(4)]},)),
    Program(counted, (random(1000, "i1"), random(1000) > 0, -7)),
    Program(half, (random(500, "f2"), 0.3)),
    Program(turned, (random(200, "c16"),)),
    Program(turned, (random(5, "c8"),)),
    Program(made, (np.array(2.5),)),
    Program(scaled, (random(7, "c8"), 0.1, 3)),
    Program(mixed, (random(9), 1.7, 5, np.float32(0.1))),
    Program(softmax, (np.empty((0, 4)),)),
    *([Program(brief, (random((3, 50), "bfloat16"), 3))] if has_bfloat16() else []),
]


def call(library: Any, name: str, given: Sequence[Any], outputs: Sequence[Any]) -> int:
    """The code that the C function gives; numbers come behind the arrays."""
    arrays = [v for v in given if isinstance(v, np.ndarray)]
    numbers = [v for v in given if not isinstance(v, np.ndarray)]
    listed = [c_argument(v) for v in (*arrays, *numbers, *outputs)]
    return int(library[name](*listed, ctypes.c_void_p(None)))


def same_bits(got: NDArray, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    assert got.tobytes() == wanted.tobytes()


Build = Callable[[int], tuple[fc.Exported, Any]]


@pytest.fixture(name="built", scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """What builds a program with make, once."""
    folder = tmp_path_factory.mktemp("export")

    @functools.cache
    def build(number: int) -> tuple[fc.Exported, Any]:
        program, own = PROGRAMS[number], folder / str(number)
        made = fc.export(program.function, *program.args, path=own, threads=3)
        library = f"lib{made.name}.so"
        command = ["make", library, "OPT=-O0", "USEFUL=-march=native -w"]
        done = subprocess.run(command, cwd=own, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return made, ctypes.CDLL(str(own / library))

    return build


def number_of(function: Any) -> int:
    return [p.function for p in PROGRAMS].index(function)


@needs_cc
@pytest.mark.parametrize(
    "number", range(len(PROGRAMS)), ids=[p.function.__name__ for p in PROGRAMS]
)
@one_in(12)
def test_the_same_bits(number: int, built: Build) -> None:
    """As the executable gives, in results and overwritten arguments, on one thread and three."""
    program = PROGRAMS[number]
    export, library = built(number)
    expected = copied(program.args)
    result = fc.lower(program.function, *copied(program.args))(*expected)
    results = [r for r in flat(result) if not any(r is a for a in flat(expected))]
    for threads in (1, 3):
        library[f"{export.name}_set_threads"](threads)
        given = flat(copied(program.args))
        outputs = [np.full(np.shape(r), 7).astype(r.dtype) for r in results]
        assert call(library, export.name, given, outputs) == 0
        for output, wanted in zip(outputs, results, strict=True):
            same_bits(output, wanted)
        for got, wanted in zip(given, flat(expected), strict=True):
            same_bits(np.asarray(got), wanted)


@needs_cc
def test_threads_have_scratch_of_their_own(built: Build) -> None:
    """The workspace is that of the most threads."""
    export, library = built(1)
    assert "so many threads, up to 3;" in export.header.read_text()
    library[f"{export.name}_workspace_bytes"].restype = ctypes.c_size_t
    assert library[f"{export.name}_workspace_bytes"]() >= 3 * 32768


@needs_cc
def test_what_is_no_result_is_a_code(built: Build) -> None:
    """An index out of bounds, a division by zero, a number out of range; with the user's line."""
    _, library = built(number_of(picked))
    library.picked_message.restype = ctypes.c_char_p
    code = call(library, "picked", [random(10), np.array([3, -1, 10, 9])], [np.empty(4)])
    message = library.picked_message(code).decode()
    assert code > 0 and message.startswith("IndexError: an index is out of bounds for size 10")
    assert "exported.py:" in message
    u = random(50_000)
    _, library = built(number_of(diffuse))
    library.diffuse_message.restype = ctypes.c_char_p
    code = call(library, "diffuse", [u, 0.1, 1e200], [])
    assert b"too large" in library.diffuse_message(code)
    same_bits(u, random(50_000))
    assert library.diffuse_message(-1) == b"out of memory"


@needs_cc
def test_numbers_fail_as_pythons_do(built: Build) -> None:
    """Out of the bounds of a narrow type, of 64 bits, and divided by zero."""
    small, out = random(1000, "i1"), np.empty(1000, np.int8)
    given = [small, small > 0, 200]
    _, library = built(number_of(counted))
    library.counted_message.restype = ctypes.c_char_p
    code = call(library, "counted", given, [out, np.empty(()), small > 0])
    assert library.counted_message(code).startswith(b"OverflowError")
    _, library = built(number_of(mixed))
    library.mixed_message.restype = ctypes.c_char_p
    code = call(library, "mixed", [random(9), 1.0, 2**62, np.float32(1)], [np.empty(9)])
    assert b"64 bits" in library.mixed_message(code)


@needs_cc
def test_arguments_are_as_they_were(tmp_path: Path) -> None:
    """Where an element cannot be computed, nothing is overwritten."""

    def lost(x: Any, at: Any) -> None:
        x[:] = x[at] + x[::-1]

    made = fc.export(lost, fc.spec(50), fc.spec(50, np.int64), path=tmp_path)
    subprocess.run(["make", "OPT=-O1", "liblost.so"], cwd=tmp_path, check=True, capture_output=True)
    library = ctypes.CDLL(str(tmp_path / f"lib{made.name}.so"))
    x, at = random(50), np.arange(50)
    at[49] = 50
    assert call(library, "lost", [x, at], []) == 1
    same_bits(x, random(50))
    at[49] = -50
    assert call(library, "lost", [x, at], []) == 0
    before = random(50)
    same_bits(x, before[at] + before[::-1])


MAIN = """
#include "{a}.h"
#include "{b}.h"
#include <cstdio>
#include <cstdlib>
int main()
{{
    double x[6] = {{1, 2, 3, 4, 5, 6}}, total[2];
    static double u[50000] = {{0, 1, 0}};
    void *own = std::aligned_alloc(64, {b}_workspace_bytes());
    if ({a}(x, 0.5, total, nullptr) || {b}(u, 0.25, 1.0, own)) return 1;
    if ({b}(u, 0.25, 1.0, (char *)own + 8) != -2) return 2;
    std::printf("%g %g %g %g\\n", total[0], total[1], u[1], u[2]);
}}
"""


@needs_cc
@pytest.mark.skipif(not shutil.which("c++"), reason="needs c++")
def test_a_program_in_cpp_needs_no_python(tmp_path: Path) -> None:
    """It links two exports that have a kernel in common, statically."""
    rows = fc.export(
        lambda double, s: (double * s).sum(axis=1), fc.spec((2, 3)), 2.0, path=tmp_path, name="2 x"
    )
    u = fc.export(diffuse, fc.spec(50_000), 0.1, 0.5, path=tmp_path, name="step")
    again = fc.export(diffuse, fc.spec(50_000), 0.1, 0.5, path=tmp_path, name="other")
    assert (rows.name, u.name) == ("f_2_x", "step")
    assert "const double *double_, double s, double *out" in rows.signature
    (tmp_path / "main.cpp").write_text(MAIN.format(a=rows.name, b=u.name))
    objects = []
    for export in (rows, u, again):
        objects.append(f"{export.name}.o")
        flags = ["-std=c11", "-O1", "-fwrapv", "-ffp-contract=off", "-pthread"]
        subprocess.run(["cc", *flags, "-c", export.source], cwd=tmp_path, check=True)
    run = ["c++", "-Wall", "-Werror", "main.cpp", *objects, "-pthread", "-lm", "-o", "main"]
    subprocess.run(run, cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert printed.stdout.split() == ["3", "7.5", "0.5", "0.25"]


def looks(x: Any) -> Any:
    return x if x.sum() > 0 else -x


OUTSIDE = np.ones(5)
REFUSED = [
    (lambda x: x @ x, (fc.spec((40, 40)),), "numpy.matmul.*test_export.py:.*export what comes"),
    (lambda x: np.sort(x) + 1, (fc.spec(4),), "sort"),
    (looks, (fc.spec(4),), "looks at a value"),
    (lambda x: x[x > 0], (fc.spec(4),), "looks at a value"),
    (np.linalg.inv, (fc.spec((4, 4)),), "inv"),
    (
        lambda x: np.fft.fft(x + 1),
        (fc.spec(4),),
        "numpy.fft.fft is .*test_export.py:.* outside",
    ),
    (lambda x: x + OUTSIDE, (fc.spec(5),), "float64\\[5\\] that is no argument"),
    (lambda x, n: (x * n, n + 1), (fc.spec(5), 2), "returns a int, which is no array"),
    (lambda x, a: x * np.sin(a), (fc.spec(5), 2.0), "computed from arguments by sin"),
    (lambda x, a: x * a, (fc.spec(5), 1j), "a is a complex"),
    (lambda x: None, (fc.spec(5),), "computes nothing"),
]


@pytest.mark.parametrize(("function", "args", "why"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_exported_says_why(
    function: Any, args: Any, why: str, tmp_path: Path
) -> None:
    with pytest.raises(fc.NotFusedError, match=why):
        fc.export(function, *args, path=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_files_tell_what_they_are(tmp_path: Path) -> None:
    """The header has each parameter with shape and role, the source what it computes."""
    made = fc.export(counted, fc.spec(9, np.int8), fc.spec(9, bool), -7, path=tmp_path / "a" / "b")
    header, source = made.header.read_text(), made.source.read_text()
    assert "//   a      int8[9], read\n" in header
    assert "//   flags  bool[9], read; each 0 or 1\n" in header
    assert f"{made.signature};\n" in header
    assert source.startswith("// counted: ") and "reduce(" in source
    assert fc.parse_hlo(made.hlo.read_text())
    made = fc.export(lambda x, n, k: x**n * k, fc.spec(3), 2, 2, path=tmp_path, name="power")
    assert made.signature == "int power(const double *x, int64_t k, double *out, void *workspace)"
    assert "// Fixed when it was exported: n = 2.\n" in made.header.read_text()
    with pytest.raises(ValueError, match="target"):
        fc.export(counted, path=tmp_path, target="fortran")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads"):
        fc.export(softmax, fc.spec((2, 2)), path=tmp_path, threads=0)


def declared(text: str) -> set[str]:
    """What a preprocessed text declares outside of braces."""
    while (shorter := re.sub(r"\{[^{}]*\}", ";", text)) != text:
        text = shorter
    text = re.sub(
        r"__attribute__ ?\(\(.*?\)\)|__asm__ ?\(.*?\)|^#[^\n]*", "", text, flags=re.M | re.S
    )
    found = (re.search(r"(\w+)\s*(?:\(|\[|=|$)", part.strip()) for part in text.split(";"))
    return {name[1] for name in found if name}


@needs_cc
def test_no_name_is_the_compilers_or_a_librarys(built: Build) -> None:
    """What headers define and declare, and all that stands in the source, is called otherwise."""
    export, _ = built(0)
    preprocess = ["cc", "-E", "-P", str(export.source)]
    run = functools.partial(subprocess.run, capture_output=True, text=True, check=True)
    names = declared(run(preprocess).stdout) - {export.name}
    names |= set(re.findall(r"^#define (\w+)", run([*preprocess, "-dM"]).stdout, re.MULTILINE))
    names = {n for n in names if not n.startswith(("_", f"{export.name}_"))}
    assert {"random", "isnan", "NAN", "M_PI", "expf", "fc_launches", "nextafter"} <= names
    assert [n for n in sorted(names) if c_name(n) == n] == []
    assert all(c_name(c_name(n)) == c_name(n) for n in names)


@needs_cc
@pytest.mark.parametrize("first", [0, 1])
def test_an_argument_may_be_called_as_what_is_generated(first: int, tmp_path: Path) -> None:
    """Each word of the source's own part names an argument, of either kind."""
    given = random(70_001), np.array([1, 2]), 1.5, 3
    text = fc.export(busy, *given, path=tmp_path, threads=2).source.read_text()
    names = argument_names(text[text.index("// What is run") :])
    assert {"fc_threads", "free", "threads", "NULL"} <= {*names, "threads"}
    args = every_second(names, first)
    made = fc.export(total(names), *args, path=tmp_path, name="total", threads=2)
    command = ["make", "libtotal.so", "OPT=-O0", "USEFUL=-march=native -w"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = np.empty(4)
    library = ctypes.CDLL(str(tmp_path / "libtotal.so"))
    assert call(library, made.name, args, [result]) == 0
    same_bits(result, sum(args))
