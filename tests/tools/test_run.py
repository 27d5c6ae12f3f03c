"""``python -m fusecuda run``: whole scripts, unchanged, with equal results and fewer launches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda
import fusecuda.capture.calls
from fusecuda.tools.own_code import OwnModules
from tests.marks import chosen, one_in

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
NAMES = sorted(p.stem for p in SCRIPTS.glob("*.py"))


def by_numpy(name: str) -> tuple[Any, str]:
    """What a script computes with NumPy under CuPy's name, and what it prints."""
    if name == "digits":
        pytest.importorskip("sklearn")
    source = (SCRIPTS / f"{name}.py").read_text().replace("import cupy as cp", "import numpy as cp")
    printed: list[str] = []
    space: dict[str, Any] = {"__name__": "plain", "print": lambda *a: printed.append(" ".join(a))}
    exec(compile(source.replace("cp.asnumpy", "np.asarray"), name, "exec"), space)
    with np.errstate(all="ignore"):
        return space["main"](), "\n".join(printed) + "\n"


def same(got: dict[str, Any], want: dict[str, Any]) -> None:
    """Equal within what a hundred sums and exponentials may differ."""
    assert got.keys() == want.keys()
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-9, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_scripts_have_over_a_hundred_lines(name: str) -> None:
    """They are real programs, and never name us."""
    text = (SCRIPTS / f"{name}.py").read_text()
    assert len(text.splitlines()) > 100 and "fusecuda" not in text


@pytest.mark.parametrize("name", chosen(NAMES, [name for name in NAMES if name != "digits"]))
@one_in(6)
def test_scripts_on_cupy_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On real `cupy.ndarray`s over host memory: NumPy's results, several times fewer launches."""
    pytest.importorskip("cupy")
    from tests import cupy_host

    cupy_host.install()
    want, _ = by_numpy(name)
    got, tally = reported(name, "cpu", monkeypatch)
    same(got, want)
    assert tally.after * 2 < tally.before
    assert tally.moved < tally.alone


def reported(name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Any]:
    """The results of a script under ``run`` in this process, and its tally."""
    from fusecuda.capture.cupy import patches
    from fusecuda.capture.record import lines
    from fusecuda.capture.record.recorder import recorder_in_force
    from fusecuda.tools import run

    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = sys.modules["__main__"]
    outer = recorder_in_force.get()
    tallies = []
    tally_of = lines.Tally
    monkeypatch.setattr(lines, "Tally", lambda: tallies.append(tally_of()) or tallies[-1])
    try:
        assert run.run_script(str(SCRIPTS / f"{name}.py"), [], device, report=True) == 0
        got = vars(sys.modules["__main__"])["results"]
    finally:
        sys.modules["__main__"] = before
        recorder_in_force.set(outer)
    assert patches.active() == 0
    (tally,) = tallies
    return got, tally


@pytest.mark.parametrize("name", chosen(NAMES, ["pictures"]))
def test_scripts_without_cupy(name: str) -> None:
    """``run --device cpu``: lazy arrays under CuPy's name print what NumPy prints."""
    _, printed = by_numpy(name)
    done = start("--report", str(SCRIPTS / f"{name}.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
    assert "launches before" in done.stderr and f"{name}.py:" in done.stderr


def test_arrays_are_called_as_cupys_are(tmp_path: Path) -> None:
    """At each call of a function, whether it is recorded or called as a whole."""
    text = (
        "import cupy as cp\n"
        "def shown(x):\n"
        "    return f'{x!r} {[x.sum()]}'\n"
        "for step in range(40):\n"
        "    print(shown(cp.arange(3.0)), [cp.ones(2)])\n"
    )
    done = start(script(tmp_path, text))
    line = "array([0., 1., 2.]) [array(3.)] [array([1., 1.])]\n"
    assert (done.stdout, done.returncode) == (40 * line, 0), done.stderr


def start(*arguments: str, device: tuple[str, ...] = ("--device", "cpu")) -> Any:
    """A finished ``python -m fusecuda run``."""
    command = [sys.executable, "-m", "fusecuda", "run", *device, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "script.py"
    path.write_text(text)
    return str(path)


def test_report_by_line(tmp_path: Path) -> None:
    """Launches before and after, bytes saved, and which lines share a launch."""
    text = (
        "import cupy as cp\n"
        "x = cp.ones((100, 8))\n"
        "for step in range(5):\n"
        "    y = cp.sqrt(x) * 2\n"
        "    x[1:-1] = y[1:-1]\n"
        "    x[:] += (y[:1] - 1)\n"
        "print(float(x.sum()))\n"
    )
    done = start("--report", script(tmp_path, text))
    assert done.returncode == 0, done.stderr
    head, moved, _, *rows = done.stderr.splitlines()
    counts = {r.split()[3]: r.split()[:2] for r in rows if "script.py:" in r}
    # line 6 needs line 4 of the first row, which line 5 has not changed
    assert [int(c[0]) for c in counts.values()] == [1, 10, 5, 10, 1]
    after = sum(int(r.split()[1].replace(",", "")) for r in rows if "fused with" not in r)
    assert head == f"fusecuda: 27 launches before, {after} after, in 1 flush"
    assert after < 27
    saved = int(moved.split(": ")[-1].split()[0].replace(",", ""))
    total = sum(int(r.split()[2].replace(",", "")) for r in rows if "fused with" not in r)
    assert saved > 0 and abs(total - saved) <= len(rows)
    assert any("fused with" in r and "5" in r for r in rows)


def test_report_tells_lines_apart_that_do_the_same(tmp_path: Path) -> None:
    """Each has launches of its own."""
    text = (
        "import cupy as cp\n"
        "x = cp.asarray([float(k) for k in range(800)])\n"
        "y = x * 5 + 1\n"
        "print(y.tolist()[3])\n"
        "z = x * 5 + 1\n"
        "print(z.tolist()[3])\n"
    )
    done = start("--report", script(tmp_path, text))
    assert (done.stdout, done.returncode) == ("16.0\n16.0\n", 0), done.stderr
    counts = {r.split()[3]: r.split()[:2] for r in done.stderr.splitlines() if "script.py:" in r}
    assert counts["script.py:3:"] == counts["script.py:5:"] == ["2", "1"]


def test_report_names_what_numpy_computes(tmp_path: Path) -> None:
    """Functions that are not recorded, in and out of modules, each with its line and how often."""
    text = (
        "import cupy as cp\n"
        "x = cp.ones(5000) * 3\n"
        "for step in range(2):\n"
        "    y = cp.fft.rfft(x + step)\n"
        "m = cp.median(x + 1) + cp.linalg.cond(cp.eye(3) + 1)\n"
        "print(abs(y).sum() + m)\n"
    )
    done = start("--report", script(tmp_path, text))
    assert done.returncode == 0, done.stderr
    said = [r for r in done.stderr.splitlines() if r.startswith("not recorded")]
    assert len(said) == 3
    assert any("numpy.fft.rfft at script.py:4 (2 times)" in r for r in said)
    assert any("numpy.median at script.py:5 (1 time)" in r for r in said)
    assert any("numpy.linalg.cond at script.py:5 (1 time)" in r for r in said)


def test_main_is_as_python_makes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beside the real one are found, and lines of tracebacks, from whatever folder."""
    text = (
        "import os, sys, neighbour\n"
        "os.chdir('/')\n"
        "print(sorted(globals()), __file__, sys.argv, sys.path[0], neighbour.here)\n"
        "print(type(__loader__), __loader__.path, __spec__, __doc__, __annotations__)\n"
        "raise KeyboardInterrupt\n"
    )
    real = tmp_path / "real"
    real.mkdir()
    (real / "neighbour.py").write_text("here = 'beside'\n")
    script(real, text)
    (tmp_path / "link.py").symlink_to(real / "script.py")
    monkeypatch.chdir(tmp_path)
    python = [sys.executable, "link.py"]
    plain = subprocess.run(python, capture_output=True, text=True, check=False)
    done = start("link.py")
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)
    assert done.returncode == 130


def test_the_current_folder_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for Python; but where this package lies there, it is found after all else."""
    (tmp_path / "colorsys.py").write_text("")
    (tmp_path / "apart").mkdir()
    text = "import colorsys, os, sys\nprint(colorsys.__file__, sys.path.count(os.getcwd()))\n"
    path = script(tmp_path / "apart", f"{text}print(sys.path[-1])\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(fusecuda.__file__).parents[1]))
    python = [sys.executable, path]
    plain = subprocess.run(python, capture_output=True, text=True, check=True).stdout
    assert start(path).stdout == plain
    (tmp_path / "fusecuda").symlink_to(Path(fusecuda.__file__).parent)
    found, last = start(path).stdout.splitlines()
    assert (found, last) == (plain.splitlines()[0].replace(" 0", " 1"), str(tmp_path))


@pytest.mark.parametrize("name", ["atexit", "time", "script"])
def test_scripts_named_as_modules_of_python(name: str, tmp_path: Path) -> None:
    """A file beside the script, or itself, hides no module that is built into Python."""
    text = "import atexit\nimport time\nimport cupy as cp\n"
    text += "atexit.register(print, 'end')\nprint(cp.ones(2).sum(), time.time() > 0)\n"
    (tmp_path / "time.py").write_text("raise ImportError('not this one')\n")
    (tmp_path / f"{name}.py").write_text(text)
    done = start(str(tmp_path / f"{name}.py"))
    assert (done.stdout, done.stderr) == ("2.0 True\nend\n", "")


def test_argv_main_and_exit_code(tmp_path: Path) -> None:
    """As ``python script.py`` has them."""
    text = (
        "import sys, neighbour\n"
        "print(sys.argv[1:], __name__, __file__ == sys.argv[0], neighbour.here)\n"
        "import __main__; print(__main__.__dict__ is globals())\n"
        "sys.exit(7)\n"
    )
    (tmp_path / "neighbour.py").write_text("here = 'beside'\n")
    done = start(script(tmp_path, text), "--report", "b c")
    assert done.stdout == "['--report', 'b c'] __main__ True beside\nTrue\n"
    assert done.returncode == 7
    assert done.stderr == ""


def test_tracebacks_are_the_scripts_own(tmp_path: Path) -> None:
    """An exception is shown as Python shows it, without a frame of ours."""
    path = script(tmp_path, "def f():\n    return 1 / 0\n\nf()\n")
    ours = start(path)
    plain = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr) and plain.stderr
    broken = start(script(tmp_path, "def f(:\n    pass\n"))
    assert "fusecuda" not in broken.stderr and "SyntaxError" in broken.stderr
    said = start(script(tmp_path, "raise SystemExit('no')\n"))
    assert (said.returncode, said.stderr) == (1, "no\n")


def test_threads_and_processes(tmp_path: Path) -> None:
    """Both work, and compute what they would."""
    text = (
        "import multiprocessing, threading\nimport cupy as cp\n"
        "def work(k):\n    return float((cp.arange(10.0) * k).sum())\n"
        "if __name__ == '__main__':\n"
        "    a = cp.ones(5) * 3\n    found = []\n"
        "    t = threading.Thread(target=lambda: found.append(float(a.sum())))\n"
        "    t.start(); t.join()\n"
        "    with multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "        print(found, pool.map(work, [1, 2, 3]), float(a.max()))\n"
    )
    done = start(script(tmp_path, text))
    assert done.stdout == "[15.0] [45.0, 90.0, 135.0] 3.0\n", done.stderr


def test_numpy_scripts_run_as_they_are(tmp_path: Path) -> None:
    """NumPy's arrays are not followed; ``@fused`` functions in the script are fused."""
    text = (
        "import numpy as np, fusecuda as fc\n"
        "@fc.fused\ndef f(x):\n    return (x * 2 + 1).sum()\n"
        "x = np.arange(5.0)\nprint(type(x + 1).__name__, f(x), type(f(x)).__name__)\n"
    )
    done = start(script(tmp_path, text), device=())
    assert done.stdout == "ndarray 25.0 float64\n", done.stderr


def test_cupy_is_followed_when_it_is_imported(tmp_path: Path) -> None:
    """Without a driver CuPy's own error comes at the user's line, on the device as without us."""
    pytest.importorskip("cupy")
    text = "import sys\nassert 'cupy' not in sys.modules\nimport cupy as cp\nprint(cp.arange)\n"
    done = start(script(tmp_path, text), device=())
    assert done.returncode == 0, done.stderr
    assert "function arange" in done.stdout


def test_a_script_in_whose_folder_this_package_lies() -> None:
    """As in a clone, or in a project that holds one: none of our own modules is the script's."""
    finder = OwnModules(str(Path(fusecuda.__file__).parents[1]))
    assert finder.find_spec("fusecuda.capture.calls.whole", fusecuda.capture.calls.__path__) is None
    assert finder.find_spec("tests.tools.test_run", [str(Path(__file__).parent)]) is not None


def test_a_missing_script() -> None:
    """One line, exit status 2."""
    done = start("nowhere.py")
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_fused_functions_of_numpy_in_a_script(tmp_path: Path) -> None:
    """What stands for CuPy is not taken for CuPy."""
    text = (
        "import cupy as cp\nimport numpy as np\nfrom fusecuda import fused\n"
        "f = fused(lambda x: x * 2)\nprint(f(np.ones(2)), f(cp.ones(2)))\n"
    )
    done = start(script(tmp_path, text))
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "[2. 2.] [2. 2.]\n")


@pytest.mark.parametrize("name", sorted(p.stem for p in (SCRIPTS / "users").glob("*.py")))
@one_in(6)
def test_scripts_of_users(name: str, tmp_path: Path) -> None:
    """They print what they print with NumPy under CuPy's name, and end as they end."""
    path = SCRIPTS / "users" / f"{name}.py"
    (tmp_path / "cupy.py").write_text("from numpy import *\nfrom numpy import linalg\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    plain = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, check=False, env=environment
    )
    done = start(str(path))
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode), done.stderr
    said = [line for line in done.stderr.splitlines() if "of fusecuda left out" not in line]
    assert said == plain.stderr.splitlines()
