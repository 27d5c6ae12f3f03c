"""``help()`` of each public name says what it gives and what each parameter means."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.tools import profile

# What classes that users meet promise besides NumPy's own; other public names are ours to change.
PROMISED: dict[type, str] = {
    fc.Executable: "emit explain hlo kernels launches timeline",
    fc.FusedFunction: "explain why",
    type(fc.fused()): "explain",
    type(fc.profile()): "rows save_trace seconds table",
    type(fc.count_launches()): "total",
    fc.Array: "get",
}
RECORDS = (fc.Exported, fc.Kernel, fc.Options)  # whose fields are what they are about
PAGE = Path(__file__).resolve().parent.parent / "docs" / "api.md"


def functions() -> list[tuple[str, Any]]:
    """Each public function, and each promised method, by name."""
    found = [(n, v) for n in fc.__all__ if inspect.isfunction(v := getattr(fc, n))]
    for kind, names in PROMISED.items():
        for name in names.split():
            member = inspect.getattr_static(kind, name)
            got = member.fget if isinstance(member, property) else getattr(member, "func", member)
            found.append((f"{kind.__name__}.{name}", got))
    return found


@pytest.mark.parametrize(
    ("name", "function"), functions(), ids=lambda v: v if type(v) is str else ""
)
def test_each_parameter_is_named(name: str, function: Any) -> None:
    """A docstring, whose first line is a sentence, names each parameter in ``…``."""
    doc = inspect.getdoc(function) or ""
    assert doc.splitlines()[0].rstrip().endswith((".", ";", ":")), f"{name} has no first line"
    for parameter in inspect.signature(function).parameters:
        assert parameter == "self" or f"``{parameter}``" in doc, f"{name} is silent on {parameter}"


@pytest.mark.parametrize("option", [f.name for f in dataclasses.fields(fc.Options)])
def test_each_option_is_explained(option: str) -> None:
    """Where options are given, and where they are kept."""
    assert f"- ``{option}``" in (fc.fused.__doc__ or "")
    assert f"``{option}``" in (fc.Options.__doc__ or "")


@pytest.mark.parametrize("kind", RECORDS, ids=lambda k: k.__name__)
def test_each_field_is_named(kind: Any) -> None:
    for field in dataclasses.fields(kind):
        assert f"``{field.name}``" in (kind.__doc__ or ""), field.name
    for field in dataclasses.fields(profile.Cost):
        assert f"``{field.name}``" in (fc.cost.__doc__ or ""), field.name


def test_every_public_name_has_help() -> None:
    for name in fc.__all__:
        value = getattr(fc, name)
        assert inspect.getdoc(value), name
        if inspect.isclass(value):
            assert "object at" not in (value.__doc__ or "") and value.__doc__, name


def test_every_public_name_is_listed() -> None:
    """Those too that nobody has asked for yet."""
    code = "import fusecuda; print(set(fusecuda.__all__) - set(dir(fusecuda)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_errors_are_named_where_they_are_raised() -> None:
    for name in ("fused", "lower", "export", "cost", "spec", "parse_hlo"):
        assert "Raises" in (getattr(fc, name).__doc__ or ""), name


def test_what_an_array_shares_with_numpys_says_so() -> None:
    """Attributes and methods are documented, with the parameters of NumPy's functions."""
    for name in dir(fc.Array):
        if not name.startswith("_") and hasattr(np.ndarray, name):
            assert inspect.getdoc(inspect.getattr_static(fc.Array, name)), name
    assert list(inspect.signature(fc.Array.sum).parameters)[:4] == ["a", "axis", "dtype", "out"]


def test_the_reference_shows_every_public_name() -> None:
    """The page of the interface names all, and of each class what is promised."""
    page = PAGE.read_text(encoding="utf-8")
    for name in fc.__all__:
        assert f"::: fusecuda.{name}\n" in page, name
    for kind, names in PROMISED.items():
        assert kind.__name__ in page
        for name in names.split():
            assert f"- {name}\n" in page, f"{kind.__name__}.{name}"
