"""The kernel cache's folder: damage, permissions, its bound, and many processes at once."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fusecuda.codegen.cache import DiskCache, default_cache, digest_of, pack_entry
from tests.marks import few

ROOT = Path(__file__).parents[2]
KEY = digest_of("an entry")
LIMIT = 2**20
NOBODY = 65534


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "cache", LIMIT)


def entry(cache: DiskCache) -> Path:
    (path,) = cache.folder.iterdir()
    return path


def test_what_is_stored_is_loaded(cache: DiskCache) -> None:
    assert cache.load(KEY) is None
    assert not cache.folder.exists()
    for payload in (b"", b"\n\n\0payload\n", bytes(range(256)) * 100):
        assert cache.store(KEY, payload)
        assert cache.load(KEY) == payload
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert entry(cache).stat().st_mode & 0o777 == 0o600
    assert cache.stats().entries == 1
    assert cache.stats().bytes == entry(cache).stat().st_size
    cache.remove(KEY)
    assert cache.load(KEY) is None


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "header only": lambda path: path.write_bytes(path.read_bytes()[:40]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "payload flipped": lambda path: flip(path, -1),
    "format flipped": lambda path: flip(path, 3),
    "digest flipped": lambda path: flip(path, path.read_bytes().index(b"payload") - 5),
    "another's entry": lambda path: path.write_bytes(pack_entry(digest_of("other"), b"payload")),
    "a number of many digits": lambda path: path.write_bytes(b"fusecuda-cache 1\n" + b"9" * 5000),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_a_miss_and_goes(cache: DiskCache, damage: str) -> None:
    cache.store(KEY, b"payload")
    DAMAGE[damage](entry(cache))
    assert cache.load(KEY) is None
    assert list(cache.folder.iterdir()) == []
    assert cache.store(KEY, b"payload")
    assert cache.load(KEY) == b"payload"


def test_what_is_no_file_in_an_entrys_place_is_a_miss(cache: DiskCache, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(pack_entry(KEY, b"not from the cache"))
    makers: list[Callable[[Path], None]] = [
        Path.mkdir,
        os.mkfifo,
        lambda path: path.symlink_to(secret),
    ]
    for make in makers:
        cache.store(KEY, b"payload")
        path = entry(cache)
        path.unlink()
        make(path)
        assert cache.load(KEY) is None
        assert cache.store(KEY, b"payload")
        assert cache.load(KEY) == b"payload"
    path = entry(cache)
    path.unlink()
    (path / "kept").mkdir(parents=True)
    assert cache.load(KEY) is None
    assert not cache.store(KEY, b"payload")
    assert (path / "kept").exists()


@pytest.mark.parametrize("key", ["", "../" + KEY, KEY + "/..", KEY.upper(), "abc", KEY + "\n"])
def test_a_key_is_hex_and_nothing_else(cache: DiskCache, key: str) -> None:
    with pytest.raises(ValueError, match="hex"):
        cache.store(key, b"payload")
    with pytest.raises(ValueError, match="hex"):
        cache.load(key)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_is_refused_with_one_warning(
    cache: DiskCache, mode: int
) -> None:
    cache.store(KEY, b"payload")
    cache.folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match="others may write.*chmod 700.* and then empty it"):
        assert cache.load(KEY) is None
    assert not cache.store(KEY, b"payload")  # silent: warnings are errors here
    assert cache.stats().entries == cache.clear() == 0
    assert cache.private_folder() is None


def another_users(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    os.chown(path, NOBODY, NOBODY)


PLANTED: dict[str, Callable[[Path], object]] = {
    "another user's": another_users,
    "open to the group": lambda path: path.chmod(0o660),
    "open to all": lambda path: path.chmod(0o606),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_an_entry_that_others_could_have_written_is_a_miss_and_goes(
    cache: DiskCache, planted: str
) -> None:
    """As in a folder that was open to all, and was made private with what others left in it."""
    cache.store(KEY, b"payload")
    path = entry(cache)
    path.write_bytes(pack_entry(KEY, b"planted"))
    PLANTED[planted](path)
    assert cache.load(KEY) is None
    assert not path.exists()
    assert cache.store(KEY, b"payload")
    assert cache.load(KEY) == b"payload"


def test_what_is_judged_is_the_file_that_was_opened(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name may come to lead elsewhere between a look at it and its opening."""
    cache.store(KEY, b"payload")
    seen: list[int] = []

    def fstat(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        seen.append(descriptor)
        return os.stat_result((*status[:4], status.st_uid + 1, *status[5:]))

    real = os.fstat
    monkeypatch.setattr(os, "fstat", fstat)
    assert cache.load(KEY) is None
    assert len(seen) == 1


def test_another_users_folder_is_refused(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(KEY, b"payload")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="belongs to user"):
        assert not cache.store(KEY, b"payload")


@contextlib.contextmanager
def ordinary_user() -> Iterator[Path]:
    """A folder of an ordinary user's, whom this process is for a while; root may write anywhere."""
    root = os.geteuid() == 0
    folder = Path(tempfile.mkdtemp())
    if root:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        os.chmod(folder, 0o700)
        shutil.rmtree(folder)


def test_a_read_only_folder_still_serves() -> None:
    with ordinary_user() as folder:
        cache = DiskCache(folder, LIMIT)
        assert cache.store(KEY, b"payload")
        folder.chmod(0o500)
        assert cache.load(KEY) == b"payload"
        with pytest.warns(RuntimeWarning, match=r"cannot be written to \(Permission denied\)"):
            assert not cache.store(KEY, b"changed")
        assert not cache.store(digest_of("new"), b"payload")  # said once
        with pytest.warns(RuntimeWarning, match="below.*cannot be used"):
            assert not DiskCache(folder / "below", LIMIT).store(KEY, b"payload")
        assert cache.load(KEY) == b"payload"
        entry(cache).chmod(0o000)
        assert cache.load(KEY) is None


@pytest.mark.parametrize("name", ["file", "file/below", "nul\0", "n" * 300])
def test_a_folder_that_cannot_be_is_no_cache_and_says_so_once(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    for first in (DiskCache.load, lambda cache, key: cache.store(key, b"payload")):
        cache = DiskCache(tmp_path / name, LIMIT)
        with pytest.warns(
            RuntimeWarning, match="(?s)the kernel cache .*FUSECUDA_CACHE_DIR"
        ) as said:
            assert not first(cache, KEY)
        assert len(said) == 1
        assert not cache.store(KEY, b"payload")
        assert cache.load(KEY) is None
        assert cache.clear() == cache.stats().entries == 0


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")
def test_a_folder_that_cannot_be_made_is_said_once() -> None:
    cache = DiskCache(Path("/proc/fusecuda"), LIMIT)
    assert cache.load(KEY) is None  # it may yet be made
    with pytest.warns(RuntimeWarning, match="cannot be made"):
        assert not cache.store(KEY, b"payload")
    assert not cache.store(KEY, b"payload")


def test_a_folder_that_vanishes_is_made_again(cache: DiskCache) -> None:
    cache.store(KEY, b"payload")
    shutil.rmtree(cache.folder)
    assert cache.load(KEY) is None
    assert cache.store(KEY, b"payload")
    assert cache.load(KEY) == b"payload"


def test_a_full_disk_leaves_nothing_behind(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(KEY, b"payload")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match=r"cannot be written to \(full\)"):
        assert not cache.store(KEY, b"changed")
    assert not cache.store(KEY, b"changed")
    assert cache.load(KEY) == b"payload"
    assert entry(cache).name.startswith(KEY)


def test_the_least_recently_used_are_dropped(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache", 20_000)
    keys = [digest_of(str(number)) for number in range(40)]
    for key in keys[:15]:
        cache.store(key, bytes(1000))
    assert cache.load(keys[0]) is not None  # used again, so it outlives keys[1]
    for key in keys[15:18]:
        cache.store(key, bytes(1000))
    stats = cache.stats()
    assert stats.bytes <= 0.8 * 20_000
    assert cache.load(keys[0]) is not None
    assert cache.load(keys[1]) is None
    assert cache.load(keys[17]) is not None
    assert not cache.store(keys[20], bytes(19_000))  # would drop all the others
    for key in keys:
        cache.store(key, bytes(1000))
        assert cache.stats().bytes <= 20_000


def test_many_small_entries_are_dropped_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fusecuda.codegen.cache.MOST_ENTRIES", 10)
    keys = [digest_of(str(number)) for number in range(12)]
    for key in keys:  # each by a process of its own, which counts when it first stores
        assert DiskCache(tmp_path, LIMIT).store(key, b"payload")
        assert DiskCache(tmp_path, LIMIT).stats().entries <= 10
    assert DiskCache(tmp_path, LIMIT).load(keys[0]) is None
    assert DiskCache(tmp_path, LIMIT).load(keys[-1]) == b"payload"


def test_another_process_counts_what_is_there(tmp_path: Path) -> None:
    DiskCache(tmp_path, LIMIT).store(KEY, bytes(50_000))
    small = DiskCache(tmp_path, 40_000)
    assert small.store(digest_of("small"), b"payload")
    assert small.load(KEY) is None
    assert small.load(digest_of("small")) == b"payload"


def test_clear_removes_only_what_is_ours(cache: DiskCache) -> None:
    cache.store(KEY, b"payload")
    (cache.folder / "storing-unfinished").write_text("")
    (cache.folder / "thesis.txt").write_text("precious")
    assert cache.clear() == 1
    assert [path.name for path in cache.folder.iterdir()] == ["thesis.txt"]


def test_litter_of_dead_processes_is_dropped(tmp_path: Path) -> None:
    old, new = tmp_path / "storing-old", tmp_path / "storing-new"
    for path in (old, new):
        path.write_text("")
    os.utime(old, (time.time() - 7200,) * 2)
    cache = DiskCache(tmp_path, 10_000)
    for number in range(12):
        cache.store(digest_of(str(number)), bytes(1000))
    assert not old.exists()
    assert new.exists()


WORKER = """
import random, sys
from pathlib import Path
from fusecuda.codegen.cache import DiskCache, digest_of
cache, limit, hits = DiskCache(Path(sys.argv[1]), int(sys.argv[2])), int(sys.argv[2]), 0
for turn in range(400):
    number = random.randrange(60)
    payload = bytes([number]) * (500 + 40 * number)
    if random.random() < 0.5:
        cache.store(digest_of(str(number)), payload)
    else:
        found = cache.load(digest_of(str(number)))
        assert found is None or found == payload
        hits += found is not None
assert hits > 20, hits
"""


@pytest.mark.parametrize("count", few((3, 8), 1))
def test_processes_share_a_folder(count: int, tmp_path: Path) -> None:
    limit = 60_000
    command = [sys.executable, "-c", WORKER, str(tmp_path / "cache"), str(limit)]
    workers = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(count)]
    for worker in workers:
        _, complaint = worker.communicate(timeout=60)
        assert worker.returncode == 0, complaint.decode()
    cache = DiskCache(tmp_path / "cache", limit)
    assert 0 < cache.stats().bytes <= limit * 1.5
    assert not list(cache.folder.glob("storing-*"))


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", str(tmp_path / "chosen"))
    assert default_cache().folder == tmp_path / "chosen"
    assert default_cache() is default_cache()
    assert default_cache().limit_bytes == 512 * 2**20
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", "")
    assert default_cache().folder == tmp_path / "xdg" / "fusecuda"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache().folder == tmp_path / "home" / ".cache" / "fusecuda"
    monkeypatch.setenv("HOME", "nowhere")
    monkeypatch.setattr("fusecuda.codegen.cache._defaults", {})
    assert default_cache().load(KEY) is None
    with pytest.warns(RuntimeWarning, match="no home folder"):
        assert not default_cache().store(KEY, b"payload")
    assert not default_cache().store(KEY, b"payload")


def test_a_relative_folder_is_fixed_at_first_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fusecuda.codegen.cache._defaults", {})
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", "relative")
    monkeypatch.chdir(tmp_path)
    assert default_cache().folder == tmp_path / "relative"
    monkeypatch.chdir("/")
    assert default_cache().folder == tmp_path / "relative"


def test_a_relative_folder_below_one_that_is_gone_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fusecuda.codegen.cache._defaults", {})
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", "relative")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert default_cache().load(KEY) is None
    assert default_cache().stats().entries == 0
    with pytest.warns(RuntimeWarning, match="'relative' is relative to a folder that is gone"):
        assert not default_cache().store(KEY, b"payload")
    assert not default_cache().store(KEY, b"payload")
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", str(tmp_path / "there"))
    assert default_cache().store(KEY, b"payload")
