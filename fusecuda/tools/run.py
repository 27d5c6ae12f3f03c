"""``run``: a whole script, unchanged, with its CuPy operations recorded from begin to end.

The script runs as ``__main__`` with its own ``sys.argv``; what it raises, prints and returns to the
shell is its own. CuPy is followed from the moment the script imports it. With ``--device cpu`` the
name ``cupy`` stands for lazy arrays of ours, computed by the C back end, whether CuPy is installed
or not. NumPy arrays cannot be followed from outside: of a NumPy script, ``@fused`` functions and
`fusecuda.numpy` are fused, all else runs as it is.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import os
import sys
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from ..options import Options
from .late import NAMESPACE, PATH, CupyFinder, StandInFinder
from .own_code import OwnModules, make_wholes, no_more_wholes, with_wholes, without_wholes
from .usage import UsageError, one_line

if TYPE_CHECKING:
    from ..capture.record.block import Region
    from ..capture.record.lines import Tally

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser("run", help="run a script with its array operations fused")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="where CuPy arrays are computed")
    parser.add_argument("--report", action="store_true", help="say line by line what was fused")
    parser.add_argument("script", metavar="SCRIPT", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script is given")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the script; the report goes to standard error."""
    return run_script(
        arguments.script, arguments.arguments, arguments.device, report=arguments.report
    )


def run_script(
    script: str, arguments: Sequence[str], device: str | None = None, report: bool = False
) -> int:
    """The exit status of ``script``, which is run as ``python script arguments…`` would."""
    try:
        with open(script, "rb") as opened:
            source = opened.read()
    except OSError as error:
        raise UsageError(one_line(error)) from None
    file = os.path.abspath(script)
    loader = importlib.machinery.SourceFileLoader("__main__", file)
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=file, __builtins__=__builtins__, __cached__=None)
    main.__dict__.update(__loader__=loader, __annotations__={})
    sys.modules["__main__"] = main
    sys.argv = [script, *arguments]
    folder = os.path.dirname(os.path.realpath(script))
    _lead_path(folder)
    with _Following(device, report, folder) as following:
        status = _execute(source, file, main, following)
    return status


def _lead_path(folder: str) -> None:
    """Let modules be found in ``folder``, and no longer where Python looks for our own command's.

    If this package lies there, it is still found there, after all else.
    """
    if sys.flags.safe_path:
        return
    before, sys.path[:1] = sys.path[:1], [folder]
    ours = os.path.dirname(_PACKAGE)
    if ours in map(os.path.abspath, before) and ours not in sys.path:
        sys.path.append(ours)


def _execute(source: bytes, script: str, main: types.ModuleType, following: _Following) -> int:
    """Run the script's code; what it raises is shown as if we were not there."""
    try:
        exec(following.code(source, script), main.__dict__)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        inner = error.__traceback__.tb_next if error.__traceback__ else None
        inner = error.__traceback__ = without_wholes(inner)
        sys.excepthook(type(error), error, inner)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


class _Following:
    """The region of a script, entered when CuPy is there."""

    def __init__(self, device: str | None, report: bool, folder: str) -> None:
        self.device = device
        self.folder = folder  # of the script
        self.tally = _tally() if report else None
        self.region: Region | None = None
        self.finders: list[Any] = []  # of CuPy
        self.modules: OwnModules | None = None

    def code(self, source: bytes, script: str) -> types.CodeType:
        """The code of a script; its functions are called as wholes if that can be faster."""
        if self.modules is not None:
            return with_wholes(source, script)
        return compile(source, script, "exec", dont_inherit=True)

    def __enter__(self) -> Self:
        if self.device == "cpu" and not _has_host_space():
            finder = StandInFinder(self._stand_in)
            self._find(finder)
            if PATH not in sys.path:
                sys.path.insert(1, PATH)
            if NAMESPACE in sys.modules:  # as for a report
                finder.enter()
            if self.tally is None:
                self.modules = OwnModules(self.folder)
                sys.meta_path.insert(_place_of_path_finder(), self.modules)
        elif "cupy" in sys.modules:
            self._follow_cupy()
        else:
            self._find(CupyFinder(self._follow_cupy))
        return self

    def _find(self, finder: Any) -> None:
        self.finders.append(finder)
        sys.meta_path.insert(0, finder)

    def _stand_in(self) -> None:
        """Enter what stands in for CuPy, and record from now on."""
        from .stand_in import follow, install

        self.finders.append(install())
        region = follow()
        if self.tally is None:
            make_wholes()
        else:  # a report tells what can be fused, of small arrays too
            region.at_once_below = 0
        self._follow(region)

    def _follow_cupy(self) -> None:
        from ..capture.cupy.patches import open_region

        chosen = self.device is not None
        self._follow(open_region(Options(device=self.device or "cpu"), chosen))

    def _follow(self, region: Region) -> None:
        from ..capture.record.recorder import recorder_in_force

        region.tally = self.tally
        self.region = region
        recorder_in_force.set(region)
        region.open()

    def __exit__(self, *exc: object) -> None:
        for finder in (*self.finders, self.modules):
            if finder is not None and finder in sys.meta_path:
                sys.meta_path.remove(finder)
        no_more_wholes()
        if self.region is not None:
            _end(self.region)
        if self.tally is not None:
            sys.stdout.flush()
            print(self.tally.text(), end="", file=sys.stderr)


def _place_of_path_finder() -> int:
    """Where among the finders that of files stands, behind those of what Python has within it."""
    finders: list[Any] = sys.meta_path
    files = importlib.machinery.PathFinder
    return finders.index(files) if files in finders else 0


def _end(region: Region) -> None:
    from ..capture.record.recorder import default_recorder, recorder_in_force

    region.flush()
    region.close()
    if recorder_in_force.get() is region:
        recorder_in_force.set(default_recorder)


def _tally() -> Tally:
    from ..capture.record.lines import Tally

    return Tally()


def _has_host_space() -> bool:
    """True where tests let CuPy arrays lie in host memory."""
    spaces = sys.modules.get("fusecuda.capture.cupy.memory")
    return spaces is not None and "cpu" in spaces.SPACES
