"""Options: one frozen value that reaches planner and emitters and is part of every cache key."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass, field
from typing import Any, TypedDict

IMPORTED = time.time_ns()  # when this process began to load the package


def default_check() -> float:
    """The share of calls that ``FUSECUDA_CHECK`` asks to compare; 0 where it says nothing."""
    text = os.environ.get("FUSECUDA_CHECK") or "0"
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"FUSECUDA_CHECK must be a number, not {text!r}") from None


# The names in the engine's table of back ends; True for those that work on NumPy's arrays, at once.
DEVICES = {"cpu": True, "cuda": False}
MOST_STREAMS = 4


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose for a region; equal options share plans and kernels.

    ``device`` names the back end, "cpu" or "cuda"; with ``contract`` products and sums may be
    rounded once, on a GPU; ``strict`` raises for what would run unfused. At most ``streams`` of a
    device, 1 to 4, are used at once; a CPU has none, so there it has no effect. The share
    ``check``, from 0 to 1, of the runs of each plan is computed unfused too, and compared. Raises
    ValueError for what is out of range.
    """

    device: str = "cpu"
    contract: bool = False
    strict: bool = False
    streams: int = 1
    check: float = field(default_factory=default_check)  # the share of calls that are compared

    def __post_init__(self) -> None:
        if self.device not in DEVICES:
            raise ValueError(f"device must be one of {', '.join(DEVICES)}, not {self.device!r}")
        if self.streams not in range(1, MOST_STREAMS + 1):
            raise ValueError(f"streams must be 1 to {MOST_STREAMS}, not {self.streams}")
        if not 0 <= self.check <= 1:
            raise ValueError(f"check must be a share from 0 to 1, not {self.check}")

    @property
    def on_host(self) -> bool:
        """True if the device works on NumPy's arrays, and is done when its program returns."""
        return DEVICES[self.device]


class Choices(TypedDict, total=False):
    """`Options` as keywords, each of which may be left out."""

    device: str
    contract: bool
    strict: bool
    streams: int
    check: float


def default_device() -> str:
    """The device named by ``FUSECUDA_DEVICE``, else ``"cpu"``."""
    return os.environ.get("FUSECUDA_DEVICE", "cpu")


_DEVICE, _CHECK = map(os.environ.encodekey, ("FUSECUDA_DEVICE", "FUSECUDA_CHECK"))


def asked_for() -> tuple[Any, Any]:
    """What ``FUSECUDA_DEVICE`` and ``FUSECUDA_CHECK`` say, in whatever form; None for nothing."""
    held = getattr(os.environ, "_data", None)  # `os.environ.get` takes ten times as long
    if held is None:
        return os.environ.get("FUSECUDA_DEVICE"), os.environ.get("FUSECUDA_CHECK")
    return held.get(_DEVICE), held.get(_CHECK)


_SWITCHES = {
    "FUSECUDA_FUSE": True,
    "FUSECUDA_GRAPHS": True,
    "FUSECUDA_VERIFY": False,
    "FUSECUDA_WAIT": False,
}


def _is_on(name: str) -> bool:
    """What the switch ``name`` says, 0 or 1; as usual where it says nothing or something else."""
    return {"0": False, "1": True}.get(os.environ.get(name, ""), _SWITCHES[name])


def warn_of_switches() -> None:
    """Warn, where the package is imported, of switches that are neither 0 nor 1."""
    for name in _SWITCHES:
        if os.environ.get(name, "") not in ("", "0", "1"):
            warnings.warn(f"{name} must be 0 or 1, not {os.environ[name]!r}", stacklevel=3)


def fusion_enabled() -> bool:
    """False when ``FUSECUDA_FUSE=0`` asks for every operation to run unfused, for bisecting."""
    return _is_on("FUSECUDA_FUSE")


def graphs_enabled() -> bool:
    """False when ``FUSECUDA_GRAPHS=0`` asks for kernels on a device to be launched one by one."""
    return _is_on("FUSECUDA_GRAPHS")


def verify_enabled() -> bool:
    """True when ``FUSECUDA_VERIFY=1`` asks for the IR verifiers to run between passes."""
    return _is_on("FUSECUDA_VERIFY")


def waits_for_kernels() -> bool:
    """True when ``FUSECUDA_WAIT=1`` asks for all to be planned and compiled before it first runs.

    Dumps ask for that, too.
    """
    return _is_on("FUSECUDA_WAIT") or dump_folder() is not None


def dump_folder() -> str | None:
    """The folder named by ``FUSECUDA_DUMP``, where each new plan leaves its graph and sources."""
    return os.environ.get("FUSECUDA_DUMP") or None


def log_words() -> str:
    """What ``FUSECUDA_LOG`` asks to print: of retraces, plans, kernels, runs, tracebacks, all."""
    return os.environ.get("FUSECUDA_LOG", "")
