"""``cache``: what the folder of compiled kernels and plans holds, and emptying it."""

from __future__ import annotations

import argparse
from typing import Any

from ..codegen.cache import default_cache
from ..words import counted
from . import tables


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser(
        "cache", help="the folder of compiled kernels and plans: stats, clear"
    )
    parser.add_argument("action", nargs="?", choices=("stats", "clear"), default="stats")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print how much the cache holds, or empty it."""
    cache = default_cache()
    if arguments.action == "clear":
        print(f"{counted(cache.clear(), 'entry')} removed from {cache.folder}")
        return 0
    stats = cache.stats()
    used, limit = tables.size(stats.bytes), tables.size(cache.limit_bytes)
    print(f"{counted(stats.entries, 'entry')}, {used} of at most {limit}, in {stats.folder}")
    return 0
