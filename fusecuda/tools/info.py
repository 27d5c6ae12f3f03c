"""``info``: versions, devices, compiler, threads and cache."""

from __future__ import annotations

import argparse
from typing import Any

from ..api import info


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser("info", help="versions, devices, compiler, threads and cache")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each entry of `fusecuda.info`."""
    entries = info()
    width = max(map(len, entries))
    for name, value in entries.items():
        shown = ", ".join(value) if isinstance(value, list) else value
        print(f"{name:<{width}}  {shown}".rstrip())
    return 0
