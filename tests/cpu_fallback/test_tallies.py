"""Tallies: plans and kernels agree on where there are some."""

from __future__ import annotations

import re
from pathlib import Path

from fusecuda import cpu_fallback
from fusecuda.fusion import tallies


def test_kernels_have_tallies_where_plans_say_so() -> None:
    """Else threads would add to one place at a time."""
    text = (Path(cpu_fallback.__path__[0]) / "runs.h").read_text(encoding="utf-8")
    places = int(re.findall(r"FC_TALLIED = (\d+)", text)[0])
    each = int(re.findall(r"elements >= (\d+) \* places", text)[0])
    assert places == tallies.PLACES
    assert tallies.pays(places, each * places)
    assert not tallies.pays(places, each * places - 1)
    assert not tallies.pays(places + 1, each * (places + 1))
