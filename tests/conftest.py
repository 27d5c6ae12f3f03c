"""Fixtures and options that every test shares."""

from __future__ import annotations

import ctypes
import difflib
import functools
import hashlib
import importlib.util
import os
import shlex
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda
from fusecuda.back_ends import BACK_ENDS
from fusecuda.capture.calls import block_sites
from fusecuda.capture.calls.trace import Trace
from fusecuda.capture.record import plans, rest
from fusecuda.capture.record.recorder import default_recorder
from tests.marks import sample

PACKAGE = str(Path(fusecuda.__file__).parent)
GOLDENS = Path(__file__).parent / "goldens"
ABOUT_KERNELS = ("codegen", "cpu_fallback", "emit_cuda")
HAS_CUPY = importlib.util.find_spec("cupy") is not None
collect_ignore_glob = [] if HAS_CUPY else ["capture/cupy/*.py"]

Golden = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens",
        action="store_true",
        help="write what the tests produce to tests/goldens instead of comparing with it",
    )


def pytest_report_header() -> str:
    return "" if HAS_CUPY else "CuPy is not installed: its tests are left out"


@functools.cache
def cuda_device_count() -> int:
    """Devices the CUDA driver offers; 0 without a driver. Asks the driver, not CuPy."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests for a GPU go where there is none; of many alike most are slow."""
    if others := sample(items, config.args):
        items[:] = [item for item in items if item not in others]
        config.hook.pytest_deselected(items=others)
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not on_gpu or cuda_device_count() > 0:
        return
    items[:] = [item for item in items if not item.get_closest_marker("gpu")]
    config.hook.pytest_deselected(items=on_gpu)


@pytest.fixture(scope="session", autouse=True)
def time_for_plans() -> Iterator[None]:
    """Plans are made however long it takes: no test depends on the speed of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fusecuda.capture.record.budget.Budget.FIRST", float("inf"))
        patch.setattr("fusecuda.kept.IS_ON", False)  # tests patch what plans, and count plans
        patch.setenv("FUSECUDA_WAIT", "1")  # in other processes, too
        yield


def is_ours(error: BaseException | None) -> bool:
    """True if a name or an invariant of the package's own failed."""
    if not isinstance(error, NameError | AssertionError) or error.__traceback__ is None:
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_code.co_filename.startswith(PACKAGE)


@pytest.fixture(scope="session")
def swallowed() -> Iterator[list[str]]:
    """Errors of our own after which NumPy made a call again, so that its values are right."""
    found: list[str] = []

    def give_up(trace: Trace, why: str) -> None:
        if is_ours(error := sys.exc_info()[1]):
            found.append("".join(traceback.format_exception(error)))
        plain(trace, why)

    plain = Trace.give_up
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trace, "give_up", give_up)
        yield found


@pytest.fixture(autouse=True)
def nothing_is_swallowed(swallowed: list[str]) -> Iterator[None]:
    """A test that sees NumPy's values after an error of our own fails."""
    swallowed.clear()
    yield
    assert not swallowed, swallowed[0]


@pytest.fixture
def emulated_cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The emulated device that stands in the place of the C back end, with plans of its own."""
    from tests import emulated, emulator

    if not emulator.available():
        pytest.skip("needs a C++ compiler")
    device = emulated.EmulatedDevice()
    plans.forget()
    monkeypatch.setitem(BACK_ENDS, "cpu", emulated.back_end(device))
    yield device
    plans.forget()


@pytest.fixture(params=["c", "cuda"])
def emitted(request: pytest.FixtureRequest) -> Iterator[str]:
    """Kernels of the C back end, or of the CUDA back end on the emulator."""
    device = request.getfixturevalue("emulated_cuda") if request.param == "cuda" else None
    yield str(request.param)
    assert device is None or device.reports, "nothing ran on the emulator"


_STATES: dict[str, dict[int, Any]] = {}


@pytest.fixture(autouse=True)
def fresh_blocks() -> None:
    """Whether a block pays has not been measured by the tests before."""
    rest.forget()


@pytest.fixture(autouse=True)
def same_draws(request: pytest.FixtureRequest) -> None:
    """What a module's generators draw does not depend on which tests have run before."""
    found = [v for v in vars(request.module).values() if isinstance(v, np.random.Generator)]
    states = _STATES.setdefault(
        request.module.__name__, {id(g): g.bit_generator.state for g in found}
    )
    for generator in found:
        if id(generator) in states:
            generator.bit_generator.state = states[id(generator)]


@pytest.fixture(params=[0, 1 << 30], ids=["recorded", "at once"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Lazy arrays outside of blocks are recorded whatever their size, and then done at once."""
    monkeypatch.setattr(default_recorder, "at_once_below", request.param)
    return int(request.param)


@pytest.fixture
def where_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that are entered again and again are recorded each time."""
    monkeypatch.setattr(block_sites, "_FIRST", sys.maxsize)


@pytest.fixture
def nothing_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What calls write to is too large to be kept as it was, so that they could begin again."""
    monkeypatch.setattr("fusecuda.capture.calls.undoing._BYTES", 0)


@pytest.fixture
def on_lazy_arrays(where_they_stand: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are recorded each time, as where CuPy has not been imported."""
    monkeypatch.setattr("fusecuda.capture.calls.fused.provider", lambda: None)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lazy arrays are recorded whatever their size."""
    monkeypatch.setattr(default_recorder, "at_once_below", 0)


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep compiled kernels away from the user's own cache.

    Each run starts with an empty folder for all its processes; FUSECUDA_TEST_CACHE names one to
    keep instead.
    """
    kept = os.environ.get("FUSECUDA_TEST_CACHE")
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = Path(kept).absolute() if kept else shared / "kernel-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSECUDA_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def quick_compilations(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels of tests that are about something else are compiled without optimisation.

    Their bits are the same, which the tests of the rooms about kernels show. Where FUSECUDA_CC is
    set, as for `make test-features`, and in slow tests all are compiled as they are elsewhere.
    """
    room = request.path.relative_to(Path(__file__).parent).parts[0]
    as_they_are = room in ABOUT_KERNELS or request.node.get_closest_marker("slow") is not None
    found = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    with pytest.MonkeyPatch.context() as patch:
        if found and not as_they_are and "FUSECUDA_CC" not in os.environ:
            patch.setenv("FUSECUDA_CC", f"{found} -O0")
        yield


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, and the system's own compiler."""
    monkeypatch.delenv("FUSECUDA_CC", raising=False)
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def fake_cc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> Callable[[str], Path]:
    """`fake_cc(body)` makes a shell script FUSECUDA_CC; its calls are lines of the file given."""

    def make(body: str) -> Path:
        here = tmp_path / "a compiler's place"
        here.mkdir(exist_ok=True)
        log = here / "calls"
        script = here / f"cc {hashlib.sha256(body.encode()).hexdigest()[:8]}"
        script.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(log))}\n{body}\n')
        script.chmod(0o755)
        monkeypatch.setenv("FUSECUDA_CC", shlex.quote(str(script)))
        return log

    return make


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    """True if what is compared with what is generated is to be written anew."""
    asked: bool = request.config.getoption("--update-goldens")
    return asked


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """``golden("name.txt", text)`` demands that tests/goldens/name.txt holds just that text.

    A missing file fails: only ``--update-goldens`` writes, so nothing blesses itself.
    """
    update: bool = request.config.getoption("--update-goldens")

    def compare(name: str, text: str) -> None:
        path = (GOLDENS / name).resolve()
        if not path.is_relative_to(GOLDENS.resolve()):
            raise ValueError(f"{name!r} leads out of {GOLDENS}")
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            return
        if not path.exists():
            pytest.fail(f"no golden file {name}; `make golden` writes it", pytrace=False)
        expected = path.read_bytes().decode()
        if text != expected:
            diff = difflib.unified_diff(
                expected.splitlines(), text.splitlines(), f"goldens/{name}", "produced", lineterm=""
            )
            # Texts that differ in line ends alone have an empty diff.
            shown = "\n".join(diff) or f"only line ends differ from goldens/{name}"
            pytest.fail(shown, pytrace=False)

    return compare
