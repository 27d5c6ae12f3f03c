"""What a type checker makes of the user's code: signatures stay, nothing is untyped."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from tests import stubs

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


NAMESPACE = """
import numpy as np
import numpy.typing as npt

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.numpy import fft, linalg, random, special

x: npt.NDArray[np.float64] = np.ones((3, 4))
a: fc.Array = fnp.asarray(x, dtype=np.float32)
b = fnp.exp(-a) * 2 + [1.0, 2.0, 3.0, 4.0] - x
c: fc.Array = fnp.where(b > 0, b, 0.0)
total: float = float(fnp.sum(c, axis=0, keepdims=True)[0, 0])
c[1:-1] += 0.5
c @= fnp.eye(4)
rows: tuple[fc.Array, ...] = fnp.nonzero(a)
hi, lo = fnp.divmod(a, 3)
d: fc.Array = special.erf(a) + linalg.inv(fnp.eye(3)) + a.mean(axis=-1, keepdims=True)
d += fft.fft(a).real
same: bool = fnp.allclose(a, b)
shape: tuple[int, ...] = a.T.reshape(3, -1).shape
sums: fc.Array = fnp.add.reduce(a, axis=1)
e: fc.Array = fnp.stack([a, b], axis=-1).astype("f4").clip(0, 1).sum(0).max()
back: npt.NDArray[np.float64] = np.asarray(c)
bits: npt.DTypeLike = fnp.float32
drawn: fc.Array = random.default_rng(0).normal(1.0, size=(3, 4)) + random.rand(3, 4)
cost: int = fc.cost(abs, fc.spec((3, 4), fnp.float32), device="cpu", check=0.5).launches

fnp.exp("text")  # wrong
fnp.sum(a, axis="rows")  # wrong
a + "text"  # wrong
fnp.sum(a, keepdims=3)  # wrong
fnp.nosuch(a)  # wrong
a.nosuch()  # wrong
special.erf(a, a)  # wrong
fnp.zeros("3")  # wrong
random.default_rng(0).normal(size="3")  # wrong
random.default_rng(0).nosuch()  # wrong
fnp.add(a)  # wrong
n: int = fnp.exp(a)  # wrong
a.astype("f4", casting="never")  # wrong
fc.lower(abs, a, device=3)  # wrong
fc.lower(abs, a, devise="cpu")  # wrong
fc.fused(abs, streams="two")  # wrong
fc.profile().table(limit="all")  # wrong
"""


def test_checkers_take_what_is_right_and_find_what_is_wrong(tmp_path: Path) -> None:
    """Right calls pass under ``--strict``, each wrong line has an error."""
    api = pytest.importorskip("mypy.api")
    files = tmp_path / "program.py", tmp_path / "namespace.py"
    for file, text in zip(files, (PROGRAM, NAMESPACE), strict=True):
        file.write_text(text)
    out, _, _ = api.run(["--strict", "--follow-imports=silent", *map(str, files)])
    lines = [line for line in out.splitlines() if ": error:" in line]
    first = [line for line in lines if "program.py" in line]
    assert len(first) == 2, out
    assert 'Argument 1 to "__call__" of "FusedFunction"' in first[0]
    assert 'revealed type is "numpy.ndarray' in out.replace("Revealed", "revealed")
    found = {
        int(re.findall(r"namespace\.py:(\d+)", line)[0]) for line in lines if line not in first
    }
    wrong = {n for n, line in enumerate(NAMESPACE.splitlines(), 1) if line.endswith("# wrong")}
    assert found == wrong, out


def test_stubs_are_what_is_generated(update_goldens: bool) -> None:
    """``python -m tests.stubs`` would change nothing, but for how the text is laid out."""
    if update_goldens:
        stubs.main()
    for name, text in stubs.texts().items():
        there = (stubs.FOLDER / name).read_text(encoding="utf-8")
        made_with = re.search(r"NumPy (\d+\.\d+)", there)
        if made_with is not None and made_with[1] != stubs.NUMPY:
            pytest.skip(f"the stubs are NumPy {made_with[1]}'s")
        assert ast.dump(ast.parse(there)) == ast.dump(ast.parse(text)), (
            f"{name} is not up to date; `make golden` writes it"
        )


def test_each_name_has_a_type() -> None:
    """What is public in the namespace is in the stub, and methods that run are in the class."""
    tree = ast.parse((stubs.FOLDER / "__init__.pyi").read_text(encoding="utf-8"))
    names = {getattr(n, "name", "") for n in tree.body}
    names |= {a.asname for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    names |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}  # type: ignore[union-attr]
    made_with = re.search(r"NumPy (\d+\.\d+)", ast.get_docstring(tree) or "")
    if made_with is not None and made_with[1] == stubs.NUMPY:
        assert set(fnp.__all__) - names == {"ndarray"}
    array = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Array")
    for member in array.body:
        assert isinstance(member, ast.FunctionDef | ast.Expr | ast.AnnAssign)
        if isinstance(member, ast.FunctionDef):
            assert hasattr(fc.Array, member.name), member.name


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("exp", (1.0,)), ("add", ([1, 2], 3)), ("sum", ([1, 2],)), ("divmod", (7, [2, 3])),
        ("modf", ([1.5],)), ("nonzero", ([0, 1],)), ("split", (np.arange(2), 2)),
        ("shape", ([[1, 2]],)), ("ndim", ([1],)), ("result_type", (np.arange(2), 1.0)),
        ("allclose", ([1.0], [1.0])),
        ("array_equal", ([1], [1])), ("isrealobj", ([1],)), ("array_str", (np.arange(2),)),
        ("broadcast_shapes", ((3, 1), (1, 4))), ("meshgrid", ([1, 2], [3])), ("ix_", ([0], [1])),
        ("histogram", ([1, 2, 2],)), ("histogram2d", ([1, 2], [1, 2])), ("polydiv", ([1, 2], [1])),
        ("unravel_index", (5, (2, 3))), ("diag_indices", (3,)), ("tril_indices", (3,)),
        ("median", ([3.0, 1.0],)), ("bincount", ([1, 1],)), ("einsum", ("i,i", [1, 2], [3, 4])),
        ("matmul", ([[1.0]], [[2.0]])), ("concatenate", ([[1], [2]],)), ("cumsum", ([1, 2],)),
        ("interp", (1.5, [1, 2], [3, 4])), ("searchsorted", ([1, 2], 2)), ("diff", ([1, 2],)),
        ("isscalar", (3,)), ("min_scalar_type", (3,)), ("unstack", ([[1], [2]],)),
        ("may_share_memory", ([1], [1])), ("percentile", ([1.0, 2.0], 50)), ("eye", (3,)),
        ("roots", ([1.0, -3.0, 2.0],)), ("hsplit", (np.arange(2), 2)), ("base_repr", (5,)),
    ],
)  # fmt: skip
def test_results_are_of_the_types_in_the_stubs(name: str, args: tuple[object, ...]) -> None:
    """The tables of results are right where it can be tried."""
    if not hasattr(np, name):
        pytest.skip("not in this NumPy")
    function = getattr(np, name)
    wanted = stubs.RESULTS.get(name, "Array")
    if isinstance(function, np.ufunc) and function.nout == 2:
        wanted = "tuple[Array, Array]"
    result = getattr(fnp, name)(*args)
    kind, _, inner = wanted.partition("[")
    kinds = {"Array": fc.Array, "bool": bool, "str": str, "int": int, "tuple": tuple, "list": list}
    assert isinstance(result, kinds.get(kind, np.dtype)), type(result)
    if kind in ("tuple", "list"):
        assert all(type(r) is (int if inner.startswith("int") else fc.Array) for r in result)
