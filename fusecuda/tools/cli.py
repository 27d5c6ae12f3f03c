"""The command line: ``python -m fusecuda COMMAND``; each command is a module of its own.

Only the one that is asked for is loaded: a script that is run waits for no planner.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from .. import __version__
from .usage import UsageError

COMMANDS = ("demo", "run", "explain", "replay", "bisect", "reduce", "bench", "cache", "info")


def make_parser(asked: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of the commands ``asked`` for; one leaves the function to call in ``run``."""
    parser = argparse.ArgumentParser(prog="fusecuda", description="Fuses NumPy array code.")
    parser.add_argument("--version", action="version", version=f"fusecuda {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in asked:
        where = ".bench.command" if name == "bench" else f".{name}"
        import_module(where, __package__).add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status: 0, 1 where a check failed, 2 where the user asked for what cannot be."""
    argv = sys.argv[1:] if argv is None else argv
    parser = make_parser(argv[:1] if argv[:1] and argv[0] in COMMANDS else COMMANDS)
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
