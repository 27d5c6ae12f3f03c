"""The examples run, on small sizes; what they compute is NumPy's; the gallery is true."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.marks import one_in

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, PAGE = ROOT / "examples", ROOT / "docs" / "gallery.md"
NAMES = sorted(
    path.stem for path in EXAMPLES.glob("*.py") if path.stem not in ("common", "gallery")
)
LONG = {"digits", "lstm", "residual_block", "transformer"}
Load = Callable[[str], types.ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Imports an example by name, as if the interpreter had been started with it."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def load_one(name: str) -> types.ModuleType:
        module = importlib.import_module(name)
        assert Path(module.__file__ or "").parent == EXAMPLES
        return module

    yield load_one
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == EXAMPLES:
            del sys.modules[name]


def gallery_rows() -> tuple[str, dict[tuple[str, str], list[str]]]:
    """The gallery's version of NumPy; operations and launches of each program in its table."""
    page = PAGE.read_text("utf-8")
    (version,) = re.findall(r"^Plain is NumPy ([\w.]+);", page, re.MULTILINE)
    rows = re.findall(r"^\| (\w+)(?:: (\w+))? \| (\d.*?) \|$", page, re.MULTILINE)
    return version, {(name, other or name): rest.split(" | ")[:3] for name, other, rest in rows}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in NAMES],
)
@one_in(6)
def test_an_example_does_what_the_gallery_says(
    name: str, load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its results are NumPy's, or ``main`` raises; launches are no more; it leaves its pictures."""
    run = load(name).main(["--quick", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert "NumPy" in out and "peak memory" in out
    version, told = gallery_rows()
    for row in run.rows:
        assert min(row.seconds) > 0 and min(row.peak_bytes) > 0
        counted = [f"{count:,}" for count in (row.operations, *row.launches)]
        page = told.pop((name, row.program))
        if version != np.__version__:  # NumPy itself may launch otherwise
            counted[1] = page[1]
        assert counted[:2] == page[:2], "python examples/gallery.py writes it anew"
        # Kernels may share launches here that are larger on the page.
        assert int(counted[2].replace(",", "")) <= int(page[2].replace(",", "")), name
    assert not [left for left in told if left[0] == name]
    ElementTree.parse(tmp_path / f"{name}.svg")
    if importlib.util.find_spec("PIL") is not None:
        made = {p.name for p in tmp_path.iterdir() if p.suffix != ".json"}
        assert made == {p.name for p in (ROOT / "docs" / "pictures").glob(f"{name}.*")}


def test_the_gallery_shows_every_example(load: Load) -> None:
    """With its command and its pictures, none of which is large."""
    assert sorted(load("gallery").EXAMPLES) == NAMES
    page = PAGE.read_text("utf-8")
    commands = re.findall(r"^    python examples/(\w+)\.py$", page, re.MULTILINE)
    assert sorted(commands) == NAMES
    shown = re.findall(r"\]\(pictures/([\w.]+)\)", page)
    pictures = list((ROOT / "docs" / "pictures").iterdir())
    assert sorted(shown) == sorted(picture.name for picture in pictures)
    assert max(picture.stat().st_size for picture in pictures) < 100_000


def test_the_table_is_written_from_the_rows(load: Load) -> None:
    row = load("common").Row("f", 1234, (1500, 2), (12_345_678, 80), (1.0, 0.1))
    line = "| e: f | 1,234 | 1,500 | 2 | 1.00 s | 100 ms | 12.3 MB | 80 B |"
    assert load("gallery").line("e", row).replace("\N{NO-BREAK SPACE}", " ") == line
    assert load("gallery").line("f", row).startswith("| f | 1,234 |")


def test_a_timeline_is_left(load: Load, tmp_path: Path) -> None:
    """Of the training, whose loss goes down; also without scikit-learn and without Pillow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "sklearn.datasets", None)
        patch.setitem(sys.modules, "PIL", None)
        load("digits").main(["--quick", "--out", str(tmp_path)])
    assert {p.name for p in tmp_path.iterdir()} == {"digits.svg", "digits_timeline.json"}
    events = json.loads((tmp_path / "digits_timeline.json").read_text())["traceEvents"]
    assert sum("matmul" in event["name"] for event in events) == 2 * 6  # in each of six steps


def test_drawn_digits_can_be_learned(load: Load) -> None:
    digits = load("digits")
    pictures, labels = digits.drawn(600)
    assert set(labels) == set(range(10)) and pictures.min() >= 0 and pictures.max() <= 1
    weights, bias, wanted = np.zeros((64, 10)), np.zeros(10), np.eye(10)[labels]
    losses = digits.train(digits.train_step, (weights, bias), [(pictures[:500], wanted[:500])], 300)
    assert losses[-1] < losses[0] / 3
    found = np.argmax(pictures[500:] @ weights + bias, axis=1)
    assert np.mean(found == labels[500:]) > 0.9


@pytest.mark.parametrize(
    ("name", "shape", "width"),
    [("residual_block", (2, 4, 5, 3), 3), ("transformer", (2, 5, 8), 8)],
)
def test_gradients_by_hand_are_the_slopes_of_the_loss(
    name: str, shape: tuple[int, ...], width: int, load: Load
) -> None:
    """Along a random direction, for each parameter."""
    model, rng, step = load(name), np.random.default_rng(1), 1e-5
    x, wanted = rng.normal(size=(2, *shape))
    p = model.parameters(width, rng)
    _, gradients = model.gradients(x, wanted, p)
    assert set(gradients) == set(p)
    for key, gradient in gradients.items():
        way = rng.normal(size=p[key].shape)
        losses = [
            model.gradients(x, wanted, {**p, key: p[key] + s * way})[0] for s in (step, -step)
        ]
        slope = (losses[0] - losses[1]) / (2 * step)
        assert slope == pytest.approx(np.sum(gradient * way), rel=1e-5, abs=1e-7), key


def test_water_stays(load: Load) -> None:
    """Its sum is the same after a hundred steps, to rounding; it has moved."""
    water = load("shallow_water")
    start = state = water.hill(30)
    for _ in range(100):
        state = water.step(*state)
    assert state[0].sum() == pytest.approx(start[0].sum(), rel=1e-12)
    assert state[0].max() < start[0].max() / 2


def test_exact_formulas_give_numpys_bits(load: Load) -> None:
    rng = np.random.default_rng(1)
    water = load("seawater_density")
    s, t, p = rng.uniform(0, 42, 501), rng.uniform(-2, 40, 501), rng.uniform(0, 1000, 501)
    assert np.array_equal(water.fused_density(s, t, p), water.density(s, t, p))
    heat = load("heat_equation")
    expected, found = heat.plate(21), heat.plate(21)
    for _ in range(5):
        heat.step(expected, 0.2)
        heat.fused_step(found, 0.2)
    assert np.array_equal(found, expected)


def test_check_notices_a_wrong_result(load: Load) -> None:
    run = load("common").Example("x.py", "", [], size=1, quick=1)
    x = np.linspace(1, 2, 10)
    run.check("same", x, x.copy(), exact=True)
    with pytest.raises(AssertionError):
        run.check("bits", x, np.nextafter(x, 3), exact=True)
    run.check("close", x, np.nextafter(x, 3))
    with pytest.raises(AssertionError):
        run.check("far", (x, {"a": x}), (x, {"a": x * (1 + 1e-12)}))
    with pytest.raises(AssertionError):
        run.check("in place", [x, None], [x + 1, None], exact=True)
