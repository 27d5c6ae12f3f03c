"""What a type checker makes of the user's code: signatures stay, nothing is untyped."""

from __future__ import annotations

from pathlib import Path

import pytest

PROGRAM = """
from typing import Any

import numpy as np
import numpy.typing as npt

import fusecuda as fc
from fusecuda import fused

Floats = npt.NDArray[np.float64]


@fused
def scaled(x: Floats, by: float = 2.0) -> Floats:
    return x * by


@fused(strict=True)
def doubled(x: Floats) -> Floats:
    return x * 2


class Plate:
    def __init__(self) -> None:
        self.u: Floats = np.ones(3)

    @fused
    def step(self, dt: float) -> Floats:
        self.u = self.u * dt
        return self.u


def main() -> None:
    y = scaled(np.ones(3), by=3.0) + doubled(np.ones(3)) + Plate().step(0.5)
    with fused(device="cpu") as region:
        pass
    launches: int = region.launches
    text: str = region.explain() + scaled.explain()
    reveal_type(scaled(y))
    scaled("text")
    Plate().step("text")
    print(launches, text)
"""


def test_signatures_are_kept(tmp_path: Path) -> None:
    """Right calls pass under ``--strict``, wrong ones are found."""
    api = pytest.importorskip("mypy.api")
    (tmp_path / "program.py").write_text(PROGRAM)
    out, _, _ = api.run(["--strict", "--follow-imports=silent", str(tmp_path / "program.py")])
    lines = [line for line in out.splitlines() if ": error:" in line]
    assert len(lines) == 2, out
    assert 'Argument 1 to "__call__" of "FusedFunction"' in lines[0]
    assert 'revealed type is "numpy.ndarray' in out.replace("Revealed", "revealed")
