"""The demo shades the elevation model, agrees with NumPy, and writes a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cases.compare import compare
from fusecuda.tools import demo
from fusecuda.tools.cli import main
from fusecuda.tools.demo_shading import shade
from fusecuda.tools.work import work_of
from tests.marks import at_length

pytest.importorskip("matplotlib")

INPUTS = (90.0, 90.0, 315.0, 40.0, 1.6)


def hills() -> np.ndarray:
    """A small landscape."""
    y, x = np.mgrid[0:41, 0:57] / 8.0
    return 300 + 90 * np.sin(x) * np.cos(1.3 * y) + 7 * np.sin(9 * x + y)


def test_demo_writes_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "folder" / "relief.png"
    assert main(["demo", "--size", "1", "--seconds", "0", "--out", str(path)]) == 0
    out = capsys.readouterr().out
    assert str(path) in out
    assert "bit-equal" in out
    assert "1 kernel " in out
    from matplotlib.image import imread

    picture = imread(path)
    assert min(picture.shape[:2]) > 500
    assert picture[..., :3].std() > 0.05  # something is to be seen


@at_length
def test_a_busy_machine_shows_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calls wait for their kernels, where others had no time to."""
    monkeypatch.delenv("FUSECUDA_WAIT", raising=False)
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", str(tmp_path / "cache"))  # nothing is at hand
    monkeypatch.setattr("fusecuda.capture.record.budget.Budget.FIRST", 0.0)
    monkeypatch.setattr("fusecuda.capture.record.budget.Budget.SHARE", 0.0)
    assert main(["demo", "--size", "1", "--seconds", "0", "--out", str(tmp_path / "x.png")]) == 0
    assert "1 kernel " in capsys.readouterr().out


def test_shading_is_fused_and_agrees_with_numpy() -> None:
    z = hills()
    executable = fc.lower(shade, z, *INPUTS)
    plain, ours = shade(z, *INPUTS), executable(z, *INPUTS)
    for name, a, b in zip(demo.RESULTS, plain, ours, strict=True):
        assert np.allclose(b, a, rtol=1e-12, atol=1e-13), name
        if name in demo.EXACT:
            assert compare(b, a).first is None
    assert executable.launches <= 6
    work = work_of(shade, (z, *INPUTS))
    assert work.operations > 10 * executable.launches
    moved = sum(k.bytes_read + k.bytes_written for k in executable.kernels)
    assert moved < work.bytes / 5
    assert executable.memory.peak_bytes < work.peak_bytes


def test_picture_shows_light_from_the_sun() -> None:
    """A cone is bright towards the north-west and dark on the other side."""
    y, x = np.mgrid[-20:21, -20:21] * 30.0
    light = shade(1000 - 0.5 * np.hypot(x, y), 30.0, 30.0, 315.0, 40.0, 1.0)[3]
    assert light[9, 9] > light[-10, -10] + 0.3


def test_refined_keeps_the_samples() -> None:
    model = demo.Model(hills(), 90.0, 90.0, (0.0, 1.0, 0.0, 1.0))
    fine = demo.refined(model, 3)
    assert fine.elevation.shape == (121, 169)
    assert np.array_equal(fine.elevation[::3, ::3], model.elevation)
    assert fine.dx == 30.0
    assert demo.refined(model, 1) is model


def test_unwritable_picture_is_a_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    status = main(
        ["demo", "--size", "1", "--seconds", "0", "--out", str(tmp_path / "file" / "x.png")]
    )
    assert status == 2
    error = capsys.readouterr().err
    assert error.startswith("fusecuda demo: cannot write")
    assert error.count("\n") == 1
