"""A bounded folder of checked entries that many processes may use at once.

An entry is one file, named by its key: four header lines (format, key, payload length, SHA-256 of
the payload) and the payload. Nothing in it is trusted before all four agree, and nothing is ever
unpickled. No file-system trouble reaches the caller: a cache that cannot work is an empty one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEFAULT_LIMIT_BYTES = 512 * 2**20
_FORMAT = b"fusecuda-cache 1"
_SUFFIX = ".entry"
_TEMPORARY_PREFIX = "storing-"
_KEY = re.compile(r"[0-9a-f]{16,128}")
_ENTRY_NAME = re.compile(rf"{_KEY.pattern}{re.escape(_SUFFIX)}")
_EVICT_DOWN_TO = 0.8
_RESCAN_SHARE = 1 / 32  # of the limit: how much this process writes before it counts again
_STALE_TEMPORARY_S = 3600.0  # an unfinished file this old belongs to a process that died
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
        self._counted: int | None = None  # bytes in the folder, as far as this process knows
        self._written = 0  # bytes this process has added since it last counted

    def load(self, key: str) -> bytes | None:
        """The payload stored under `key`, or None; an entry that fails a check is removed."""
        path = self._path(key)
        if not self._usable():
            return None
        try:
            content = _read_regular_file(path)
        except OSError:  # absent, or unreadable for now: no reason to remove it
            return None
        payload = None if content is None else unpack_entry(key, content)
        if payload is None:
            _discard(path)
            return None
        with contextlib.suppress(OSError):  # a read-only folder still serves
            _mark_used(path)
        return payload

    def store(self, key: str, payload: bytes) -> bool:
        """Whether `payload` now lies under `key`; a folder that cannot take it is no error."""
        path = self._path(key)
        if len(payload) > self.limit_bytes * _EVICT_DOWN_TO or not self._usable(create=True):
            return False
        try:
            size = self._write(path, pack_entry(key, payload))
        except OSError:
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

    def _usable(self, *, create: bool = False) -> bool:
        """Whether the folder is there and is nobody else's to write; if it is, off with a warning.

        Entries are code that we load, so whoever can write here can run code as this user.
        """
        if self._off:
            return False
        try:
            if create:
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
            status = os.stat(self.folder)
        except (OSError, ValueError):
            return False
        if not stat.S_ISDIR(status.st_mode):
            return False
        problem = _unsafe(status)
        if problem is None:
            return True
        self._off = True
        warnings.warn(
            f"the kernel cache {str(self.folder)!r} is not used: {problem}. Name another folder in"
            " FUSECUDA_CACHE_DIR, or make this one yours alone (chmod 700).",
            RuntimeWarning,
            stacklevel=3,
        )
        return False

    def _write(self, path: str, content: bytes) -> int:
        """Bytes written to `path`, which holds all of the content or what it held before."""
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
        total = sum(found.bytes for found in entries)
        if total > self.limit_bytes:
            self._remove_temporaries(older_than_s=_STALE_TEMPORARY_S)
            for found in entries:
                if total <= self.limit_bytes * _EVICT_DOWN_TO:
                    break
                _discard(found.path)
                total -= found.bytes
        self._counted, self._written = total, 0

    def _remove_temporaries(self, older_than_s: float) -> None:
        before = time.time() - older_than_s
        for item in self._listing():
            if item.name.startswith(_TEMPORARY_PREFIX):
                with contextlib.suppress(OSError):
                    if item.stat(follow_symlinks=False).st_mtime <= before:
                        os.unlink(item.path)


def _unsafe(status: os.stat_result) -> str | None:
    """Why a folder of this status may hold another user's code, or None."""
    if status.st_uid != os.geteuid():
        return f"it belongs to user {status.st_uid}, not to you"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(status.st_mode):o})"
    return None


def _read_regular_file(path: str) -> bytes | None:
    """The file's bytes, or None if it is not a regular file."""
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
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
        folder = _default_folder(environment[0], environment[1])
        made = DiskCache(folder or Path(os.devnull), DEFAULT_LIMIT_BYTES if folder else 0)
        cache = _defaults.setdefault(environment, made)
    return cache


def _default_folder(chosen: str | None, xdg: str | None) -> Path | None:
    """The folder that the variables name, or None where the user has no home."""
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen)))
    if xdg and os.path.isabs(xdg):  # the XDG rules say to ignore a relative one
        return Path(xdg, "fusecuda")
    home = os.path.expanduser("~")
    return Path(home, ".cache", "fusecuda") if os.path.isabs(home) else None
