"""A bounded folder of checked entries that many processes may use at once.

An entry is one file, named by its key: four header lines (format, key, payload length, SHA-256 of
the payload) and the payload. Nothing in it is trusted before all four agree and the file proves to
be one that nobody else may write, as the folder may have been open to others before. Nothing is
ever unpickled. No file-system trouble reaches the caller: a cache that cannot work is an empty one,
and says so once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEFAULT_LIMIT_BYTES = 512 * 2**20
MOST_ENTRIES = 20_000  # which take 40 ms to be counted
_FORMAT = b"fusecuda-cache 1"
_SUFFIX = ".entry"
_TEMPORARY_PREFIX = "storing-"
_KEY = re.compile(r"[0-9a-f]{16,128}")
_ENTRY_NAME = re.compile(rf"{_KEY.pattern}{re.escape(_SUFFIX)}")
_EVICT_DOWN_TO = 0.8
_RESCAN_SHARE = 1 / 32  # of the limit: how much this process writes before it counts again
_STALE_TEMPORARY_S = 3600.0  # an unfinished file this old belongs to a process that died
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # never waits on a FIFO


@dataclass(frozen=True)
class CacheStats:
    """What a cache folder holds now."""

    entries: int
    bytes: int
    folder: Path


@dataclass(frozen=True)
class _Found:
    path: str
    bytes: int
    mtime_ns: int


def digest_of(*parts: str) -> str:
    """SHA-256, in hex, of the parts and of where each ends: ("ab", "c") is not ("a", "bc")."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(b"%d:" % len(data))
        state.update(data)
    return state.hexdigest()


def is_key(text: str) -> bool:
    """Whether the text may name an entry: 16 to 128 lower-case hex digits."""
    return _KEY.fullmatch(text) is not None


def pack_entry(key: str, payload: bytes) -> bytes:
    """The file content that holds `payload` under `key`."""
    checksum = hashlib.sha256(payload).hexdigest()
    header = (_FORMAT, key.encode(), b"%d" % len(payload), checksum.encode(), payload)
    return b"\n".join(header)


def unpack_entry(key: str, content: bytes) -> bytes | None:
    """The payload, or None unless `content` is the whole, unaltered entry of `key`."""
    fields = content.split(b"\n", 4)
    if len(fields) != 5:
        return None
    payload = fields[4]
    return payload if content == pack_entry(key, payload) else None


class DiskCache:
    """Bytes by hex key in one private folder, the least recently used dropped beyond a limit."""

    def __init__(self, folder: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        """Nothing is touched until the first use; a limit of 0 turns the cache off."""
        self.folder = folder
        self.limit_bytes = limit_bytes
        self._off = limit_bytes <= 0
        self._told = False  # the user knows that the folder does not work
        self._counted: int | None = None  # bytes in the folder, as far as this process knows
        self._written = 0  # bytes this process has added since it last counted

    def load(self, key: str) -> bytes | None:
        """The payload stored under `key`, or None; an entry that fails a check is removed."""
        path = self._path(key)
        if not self._usable():
            return None
        try:
            content = _read_our_file(path)
        except OSError:  # absent, or unreadable for now: no reason to remove it
            return None
        payload = None if content is None else unpack_entry(key, content)
        if payload is None:
            _discard(path)
            return None
        with contextlib.suppress(OSError):  # a read-only folder still serves
            _mark_used(path)
        return payload

    def store(self, key: str, payload: bytes, *, quietly: bool = False) -> bool:
        """Whether `payload` now lies under `key`.

        A folder that cannot take it is said once, but for what is stored `quietly`.
        """
        path = self._path(key)
        is_large = len(payload) > self.limit_bytes * _EVICT_DOWN_TO
        if is_large or not self._usable(create=True, quietly=quietly):
            return False
        try:
            size = self._write(path, pack_entry(key, payload))
        except OSError as error:
            is_one = os.path.isdir(path)  # it is this entry alone that has no place
            if not quietly and not is_one:
                self._tell(f"cannot be written to ({error.strerror or error})")
            return False
        with contextlib.suppress(OSError):
            self._keep_bounded(size)
        return True

    def remove(self, key: str) -> None:
        """The entry of `key`, if there is one, is gone."""
        if self._usable():
            _discard(self._path(key))

    def clear(self) -> int:
        """How many entries were removed; files that are not ours stay."""
        if not self._usable():
            return 0
        removed = sum(_discard(found.path) for found in self._entries())
        self._remove_temporaries(older_than_s=0.0)
        self._counted = None
        return removed

    def stats(self) -> CacheStats:
        """How many entries of how many bytes the folder holds now."""
        entries = list(self._entries()) if self._usable() else []
        return CacheStats(len(entries), sum(found.bytes for found in entries), self.folder)

    def _path(self, key: str) -> str:
        if not is_key(key):
            raise ValueError(f"a cache key is 16 to 128 lower-case hex digits, not {key!r}")
        return os.path.join(self.folder, key + _SUFFIX)

    def private_folder(self) -> Path | None:
        """The folder, if it is there and ours alone, for files that are gone before long."""
        return self.folder if self._usable() else None

    def _usable(self, *, create: bool = False, quietly: bool = False) -> bool:
        """Whether the folder is there and is nobody else's to write; if it is, off with a warning.

        Entries are code that we load, so whoever can write here can run code as this user.
        """
        if self._off:
            return False
        tell_of = (lambda problem: None) if quietly else self._tell
        try:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.makedirs(self.folder, mode=0o700)
            status = os.stat(self.folder)
        except FileNotFoundError as error:  # not made yet, or in a place where none can be made
            if create:
                tell_of(f"cannot be made ({error.strerror})")
            return False
        except (OSError, ValueError) as error:
            tell_of(f"cannot be used ({getattr(error, 'strerror', None) or error})")
            return False
        if not stat.S_ISDIR(status.st_mode):
            tell_of("is no folder")
            return False
        problem = _unsafe(status)
        if problem is not None:
            self._off = not quietly
            tell_of(problem)
        return problem is None

    def _tell(self, problem: str) -> None:
        """Warn of what keeps the folder from its work, once in the life of this cache."""
        if not self._told:
            self._told = True
            tell(f"the kernel cache {str(self.folder)!r} {problem}.", stacklevel=4)

    def _write(self, path: str, content: bytes) -> int:
        """Bytes written to `path`, which holds all of the content or what it held before."""
        import tempfile  # noqa: PLC0415 - processes that find all write nothing

        descriptor, temporary = tempfile.mkstemp(prefix=_TEMPORARY_PREFIX, dir=self.folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            _mark_used(temporary)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        return len(content)

    def _entries(self) -> Iterator[_Found]:
        for item in self._listing():
            if _ENTRY_NAME.fullmatch(item.name):
                with contextlib.suppress(OSError):
                    status = item.stat(follow_symlinks=False)
                    yield _Found(item.path, status.st_size, status.st_mtime_ns)

    def _listing(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.folder) as items:
                return list(items)
        except OSError:
            return []

    def _keep_bounded(self, added: int) -> None:
        """The folder is within the limit, but for what other processes write meanwhile.

        Counting the folder at each store would cost more than the store, so it is counted when
        this process first stores, when its own sum passes the limit, and now and then.
        """
        self._written += added
        if self._counted is not None:
            self._counted += added
            recent = self._written < self.limit_bytes * _RESCAN_SHARE
            if recent and self._counted <= self.limit_bytes:
                return
        entries = sorted(self._entries(), key=lambda found: found.mtime_ns)
        total, left = sum(found.bytes for found in entries), len(entries)
        if total > self.limit_bytes or left > MOST_ENTRIES:
            self._remove_temporaries(older_than_s=_STALE_TEMPORARY_S)
            most, many = (_EVICT_DOWN_TO * n for n in (self.limit_bytes, MOST_ENTRIES))
            for found in entries:
                if total <= most and left <= many:
                    break
                _discard(found.path)
                total, left = total - found.bytes, left - 1
        self._counted, self._written = total, 0

    def _remove_temporaries(self, older_than_s: float) -> None:
        before = time.time() - older_than_s
        for item in self._listing():
            if item.name.startswith(_TEMPORARY_PREFIX):
                with contextlib.suppress(OSError):
                    if item.stat(follow_symlinks=False).st_mtime <= before:
                        os.unlink(item.path)


def tell(problem: str, stacklevel: int = 2) -> None:
    """Warn that kernels are not kept, and what the user can do."""
    warnings.warn(
        f"{problem} Kernels that are not kept are compiled anew in each process. To mend it, name"
        " a folder of your own in FUSECUDA_CACHE_DIR.",
        RuntimeWarning,
        stacklevel=stacklevel + 1,
    )


def _unsafe(status: os.stat_result) -> str | None:
    """Why a folder of this status may hold another user's code, or None."""
    if status.st_uid != os.geteuid():
        return f"is not used, since it belongs to user {status.st_uid}, not to you"
    if status.st_mode & _OTHERS_WRITE:
        return (
            f"is not used, since others may write to it (mode {stat.S_IMODE(status.st_mode):o});"
            " to use it, make it yours alone (chmod 700) and then empty it, for what lies in it may"
            " be another's code"
        )
    return None


def _read_our_file(path: str) -> bytes | None:
    """The file's bytes, or None if it is not a regular file that only we may write.

    What is judged is the file that was opened: the name may lead to another one by now. The folder
    may have been open to others once, so a file of theirs in it proves nothing about its content.
    """
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        status = os.fstat(descriptor)
        ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not ours or status.st_mode & _OTHERS_WRITE:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _mark_used(path: str) -> None:
    """The file's time is now, to the nanosecond: the kernel's own stamp is a clock tick coarse."""
    now = time.time_ns()
    os.utime(path, ns=(now, now))


def _discard(path: str) -> bool:
    """Whether the file, or the empty folder in its place, was removed by us."""
    for remove in (os.unlink, os.rmdir):
        with contextlib.suppress(OSError):
            remove(path)
            return True
    return False


_defaults: dict[tuple[str | None, ...], DiskCache] = {}


def default_cache() -> DiskCache:
    """The cache that the environment names, the same object while the environment is the same."""
    names = ("FUSECUDA_CACHE_DIR", "XDG_CACHE_HOME", "HOME")
    environment = tuple(os.environ.get(name) for name in names)
    cache = _defaults.get(environment)
    if cache is None:
        cache = _defaults.setdefault(environment, _make_default(environment[0], environment[1]))
    return cache


def _make_default(chosen: str | None, xdg: str | None) -> DiskCache:
    """The cache of the folder that the variables name, or one that is off and says why."""
    if chosen:
        folder = os.path.expanduser(chosen)
        try:
            return DiskCache(Path(os.path.abspath(folder)))
        except OSError:  # the current folder has been removed
            problem = f"the kernel cache {chosen!r} is relative to a folder that is gone."
    elif xdg and os.path.isabs(xdg):  # the XDG rules say to ignore a relative one
        return DiskCache(Path(xdg, "fusecuda"))
    else:
        home = os.path.expanduser("~")
        if os.path.isabs(home):
            return DiskCache(Path(home, ".cache", "fusecuda"))
        problem = "there is no kernel cache, since you have no home folder."
    return _NoCache(problem)


class _NoCache(DiskCache):
    """A cache without a folder: it says so when there would be something to store."""

    def __init__(self, problem: str) -> None:
        super().__init__(Path(os.devnull), limit_bytes=0)
        self._problem: str | None = problem

    def store(self, key: str, payload: bytes, *, quietly: bool = False) -> bool:
        if self._problem and not quietly:
            tell(self._problem, stacklevel=3)
            self._problem = None
        return super().store(key, payload, quietly=quietly)
