"""The functions of ``vecmath.h``, compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import vecmath_harness as harness

Built = dict[str, tuple[Path, str]]


@pytest.fixture(scope="session")
def build(kernel_cache: Path) -> Built:
    """By type the library and what the compiler said."""
    return harness.everything(kernel_cache)


@pytest.fixture(scope="session")
def lib(build: Built) -> harness.Functions:
    """Return the compiled loops."""
    return harness.Functions(*(library for library, _ in build.values()))
