"""A private folder for one piece of work, wherever this machine lets us write."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from fusecuda.codegen.cache import default_cache

_MEMORY = "/dev/shm"  # on Linux, a folder that is kept in memory
_LEAST_FREE_BYTES = 2**20
T = TypeVar("T")


def in_scratch_folder(work: Callable[[Path], T]) -> T:
    """What `work` makes of a new folder, which is gone afterwards.

    The folder is made in the temporary folder; if that cannot be written to, or `work` raises
    OSError there, in the cache's folder, then in memory. The first OSError is raised if all fail.
    """
    problem = None
    for place in _places():
        try:
            # A TemporaryDirectory would also be removed by a child that is forked meanwhile.
            name = tempfile.mkdtemp(prefix="fusecuda-", dir=place)
            try:
                return work(Path(name))
            finally:
                shutil.rmtree(name, ignore_errors=True)
        except OSError as error:
            problem = problem or error
    raise problem or OSError(errno.ENOENT, "there is no temporary folder to write to")


def refuse_full(folder: Path) -> None:
    """Raise OSError if next to nothing can be written to the folder's file system any more."""
    space = os.statvfs(folder)
    if space.f_bavail * space.f_frsize < _LEAST_FREE_BYTES or (
        space.f_files and not space.f_favail
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _places() -> Iterator[str]:
    with contextlib.suppress(OSError):
        folder = tempfile.gettempdir()
        mode = os.stat(folder).st_mode
        if (
            not mode & stat.S_IWOTH or mode & stat.S_ISVTX
        ):  # else anybody may exchange what is in it
            yield folder
    private = default_cache().private_folder()
    if private is not None:
        yield str(private)
    if os.path.isdir(_MEMORY):
        yield _MEMORY
