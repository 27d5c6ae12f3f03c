"""Tracebacks end at the user's line; our own frames are shown if they are asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fusecuda.tools.tracebacks import folded

PROGRAM = """\
import sys
import numpy as np, fusecuda as fc, fusecuda.numpy as fnp

@fc.fused
def wrong(x):
    return x + np.ones(3)

def lazily():
    a = fnp.asarray(np.ones(4))
    return a + fnp.ones(3)

try:
    (wrong if sys.argv[1] == "fused" else lazily)(*[np.ones(4)] * (sys.argv[1] == "fused"))
except ValueError as error:
    if len(sys.argv) > 2:
        raise RuntimeError("in between") from error
    raise
"""


def printed(tmp_path: Path, *arguments: str, words: str = "") -> list[str]:
    script = tmp_path / "wrong.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, check=False,
        cwd=Path(__file__).resolve().parents[2], env={**os.environ, "FUSECUDA_LOG": words},
    )  # fmt: skip
    assert done.returncode == 1
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    ("way", "last"),
    [("fused", "    return x + np.ones(3)"), ("lazy", "    return a + fnp.ones(3)")],
)
def test_the_last_line_shown_is_the_users(tmp_path: Path, way: str, last: str) -> None:
    lines = printed(tmp_path, way)
    frames = [line for line in lines if line.startswith("  File ")]
    assert all("wrong.py" in frame for frame in frames), lines
    assert len(frames) == 2
    assert last in lines
    assert any(line.startswith("ValueError: operands could not be broadcast") for line in lines)
    assert "left out; FUSECUDA_LOG=tracebacks shows them)" in lines[-1]


def test_what_an_error_comes_from_is_folded_too(tmp_path: Path) -> None:
    lines = printed(tmp_path, "lazy", "chained")
    assert all("wrong.py" in line for line in lines if line.startswith("  File "))


def test_our_frames_are_shown_if_asked_for(tmp_path: Path) -> None:
    lines = printed(tmp_path, "fused", words="tracebacks")
    assert any("capture/calls/function.py" in line for line in lines)
    assert not any("left out" in line for line in lines)


def test_a_fault_of_ours_alone_is_shown_whole() -> None:
    """Where no frame is the user's, none is left out."""
    try:
        np.empty(3).reshape(2)
    except ValueError as error:
        trace = error.__traceback__
    assert folded(trace)[1] == 0
    assert folded(None) == (None, 0)
