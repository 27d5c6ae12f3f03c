"""The command line: ``python -m fusecuda COMMAND``; each command is a module of its own."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from . import bisect, cache, demo, explain, info, reduce, replay, run
from .bench import command as bench
from .usage import UsageError

COMMANDS = (demo, run, explain, replay, bisect, reduce, bench, cache, info)


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands; a command leaves the function to call in ``run``."""
    parser = argparse.ArgumentParser(prog="fusecuda", description="Fuses NumPy array code.")
    parser.add_argument("--version", action="version", version=f"fusecuda {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for module in COMMANDS:
        module.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status: 0, 1 where a check failed, 2 where the user asked for what cannot be."""
    parser = make_parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has said what is wrong, or printed the help
        return end.code if isinstance(end.code, int) else 0
    if arguments.command is None:
        parser.print_help()
        return 0
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except UsageError as error:
        print(f"fusecuda {arguments.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has left, which is no fault
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return status
