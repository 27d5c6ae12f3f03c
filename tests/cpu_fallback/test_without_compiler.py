"""No compiler, or one that fails, hangs or lies: one clear message, then the same results."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fusecuda import engine
from fusecuda.graph import build, interpret
from fusecuda.graph.dtypes import FLOAT64
from fusecuda.graph.index_map import axis_map
from fusecuda.graph.node import Graph
from fusecuda.graph.structure import STRUCTURES
from fusecuda.options import Options
from tests.marks import at_length, one_in

PROGRAM = """
import sys
import warnings
import numpy as np
import fusecuda as fc

def program(x, u):
    u[1:-1] += 0.25 * (u[2:] - u[:-2])
    y = np.abs(x)
    found = np.sin(x) + np.exp(x) + np.log(y) * np.tanh(x) + np.cbrt(x) ** 3 + y**1.7
    narrow = np.arctan2(np.expm1(x.astype(np.float32)), np.hypot(x, y).astype(np.float32))
    return (x * 2 + 1).sum(axis=1), found + narrow

rng = np.random.default_rng(3)
x, u = rng.normal(size=(30, 700)), rng.normal(size=50)
function = fc.fused(program)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        sums, found = function(x, u)
np.save("out.npy", np.concatenate([sums, found.ravel(), u]))
messages = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
print(len(messages), messages[0] if messages else "")
"""


def _run(folder: Path, compiler: str | None, before: str = "", **more: str) -> tuple[bytes, str]:
    """The bytes of the results, and what was printed, with ``compiler`` as FUSECUDA_CC.

    The text ``before`` is run before the program, with ``more`` in the environment.
    """
    environment = {**os.environ, "FUSECUDA_CACHE_DIR": str(folder / "cache"), **more}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    if compiler is not None:
        environment["FUSECUDA_CC"] = compiler
    done = subprocess.run(
        [sys.executable, "-c", before + PROGRAM],
        env=environment,
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return (folder / "out.npy").read_bytes(), done.stdout


def _script(folder: Path, body: str) -> str:
    path = folder / "cc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


IMPATIENT = """
from fusecuda.cpu_fallback import compiler
compiler.COMPILE_TIMEOUT_S = compiler.PROBE_TIMEOUT_S = 1.0
"""

FAULTS = {
    "missing": "",
    "fails": 'case "$*" in *--version*) echo fake 1.0; exit 0;; esac\necho broken >&2; exit 1',
    "hangs": 'case "$*" in *--version*) echo fake 1.0; exit 0;; esac\nsleep 60',
    "lies": 'case "$*" in *--version*) echo fake 1.0; exit 0;; esac\nexit 0',
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The results with the system's compiler."""
    data, printed = _run(tmp_path_factory.mktemp("compiled"), None)
    assert printed.startswith("0"), printed
    return data


@pytest.mark.parametrize("fault", FAULTS)
@one_in(4)
def test_results_are_the_same_bits(fault: str, tmp_path: Path, compiled: bytes) -> None:
    """Sums and functions included: the interpreter has the kernels' tree and their vector math."""
    body = FAULTS[fault]
    compiler = _script(tmp_path, body) if body else str(tmp_path / "nowhere" / "cc")
    data, printed = _run(tmp_path, compiler, before=IMPATIENT)
    assert data == compiled
    assert printed.startswith("1 "), printed
    assert "NumPy" in printed


@pytest.mark.parametrize("name", ["gcc", "clang", "tcc", "cc -O0", "cc -march=x86-64"])
@one_in(6)
def test_other_compilers_give_the_same_bits(name: str, tmp_path: Path, compiled: bytes) -> None:
    """Under the name cc, where it is a name."""
    program, *arguments = name.split()
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    here = tmp_path / "bin"
    here.mkdir()
    (here / "cc").symlink_to(path)
    search = f"{here}{os.pathsep}{os.environ['PATH']}"
    chosen = " ".join(["cc", *arguments]) if arguments else ""
    data, printed = _run(tmp_path, chosen, PATH=search)
    assert data == compiled
    assert printed.startswith("0"), printed


@at_length
def test_a_warm_cache_needs_no_compiler(tmp_path: Path, compiled: bytes) -> None:
    """Kernels that are on disk run, and nothing is said."""
    for search in (os.environ["PATH"], "/nowhere"):
        data, printed = _run(tmp_path, "", PATH=search)
        assert data == compiled
        assert printed.startswith("0"), printed


BITS_32 = """
import ctypes, struct
import numpy
real = struct.calcsize
struct.calcsize = lambda form: 4 if form == "P" else real(form)
"""


def test_pointers_of_32_bits_are_refused_before_anything_native_is_made(
    tmp_path: Path, compiled: bytes
) -> None:
    """Frames hold pointers in words of 64 bits: to call a kernel would crash."""
    body = f'touch {tmp_path / "called"}; exec cc "$@"'
    data, printed = _run(tmp_path, _script(tmp_path, body), before=BITS_32)
    assert data == compiled
    assert printed.startswith("1 "), printed
    assert "those of this Python have 32 bits" in printed
    assert not (tmp_path / "called").exists()


def test_places_have_64_bits_where_numpys_have_32(monkeypatch: pytest.MonkeyPatch) -> None:
    """As what argmax, argsort and arange give on such a machine."""
    monkeypatch.setattr(np, "intp", np.int32)
    narrow = np.arange(5, dtype=np.int32)
    monkeypatch.setattr(STRUCTURES["iota"], "value", lambda *_: narrow)
    value = interpret.evaluate(build.iota((5,), 0), [])
    assert value.dtype == np.int64
    np.testing.assert_array_equal(value, range(5))


NO_FOLDERS = """
import tempfile
from fusecuda.cpu_fallback import scratch
def gettempdir():
    raise FileNotFoundError(2, "No usable temporary directory found")
tempfile.gettempdir = gettempdir
"""


@pytest.mark.parametrize("memory", [True, False])
def test_nowhere_to_write_is_one_message(tmp_path: Path, compiled: bytes, memory: bool) -> None:
    """Of the cache where kernels can be made in memory, else that NumPy computes."""
    if memory and not os.path.isdir("/dev/shm"):
        pytest.skip("there is no folder in memory")
    before = NO_FOLDERS + ("" if memory else "scratch._MEMORY = '/nowhere'\n")
    data, printed = _run(tmp_path, "", before=before, FUSECUDA_CACHE_DIR="/proc/nowhere")
    assert data == compiled
    assert printed.startswith("1 "), printed
    assert ("cannot be made" if memory else "computes with NumPy") in printed


def test_results_by_numpy_have_memory_of_their_own() -> None:
    """Two views of one intermediate value do not become two results in one place."""
    parameter = build.parameter(0, (6,), FLOAT64)
    double = build.elementwise("add", [parameter, parameter], FLOAT64)
    views = [build.index(double, axis_map([(start, 1, 0)], 1), (4,)) for start in (0, 2)]
    graph = Graph((parameter,), (*views, double, double))
    x = np.arange(6.0)
    results = [r for r in engine.build(graph, {}, Options())._interpret([x]) if r is not None]
    for a, b in itertools.combinations([x, *results], 2):
        assert not np.may_share_memory(a, b)
    np.testing.assert_array_equal(results[1], (x + x)[2:])
