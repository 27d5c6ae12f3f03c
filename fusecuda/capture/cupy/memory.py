"""Spaces: what a region needs of the memory that its arrays lie in, one entry for each device.

``"cuda"`` is CuPy's own memory. The tests add ``"cpu"``: CuPy arrays over host memory, on which
compiled C kernels run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import cupy
import numpy as np

from ...errors import FlushError

if TYPE_CHECKING:
    from ...engine import Executable


class Space(Protocol):
    """Where arrays lie and who computes on them; ``is_cupys_own`` if CuPy can, without us."""

    is_cupys_own: bool

    def current_device(self) -> int:
        """The number of the device on which arrays are created now."""

    def run(self, executable: Executable, arrays: Sequence[Any], device: int) -> list[Any]:
        """The results of ``executable`` as CuPy arrays, None where an argument was overwritten.

        ``arrays`` are CuPy arrays, NumPy arrays to be brought there, or numbers.
        """

    def copy(self, target: Any, source: Any) -> None:
        """Write the elements of ``source`` into ``target``, both CuPy arrays."""

    def native(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What CuPy's own ``function`` does."""


def _brought(executable: Executable, arrays: Sequence[Any]) -> list[Any]:
    """``arrays`` with those of NumPy's on the device; raises FlushError within a user's capture."""
    stream = cupy.cuda.get_current_stream()
    if stream.ptr > 1 and stream.is_capturing():  # the legacy default one cannot be captured
        name = " and ".join(executable.names[:3])
        raise FlushError(
            f"{name} cannot be captured: an array of NumPy's would be copied to the device; "
            "make it a CuPy array before the capture begins"
        )
    return [cupy.asarray(a) if type(a) is np.ndarray else a for a in arrays]


class CudaSpace:
    """Device memory: kernels are launched on the user's current stream."""

    is_cupys_own = True

    def current_device(self) -> int:
        return int(cupy.cuda.runtime.getDevice())

    def run(self, executable: Executable, arrays: Sequence[Any], device: int) -> list[Any]:
        if self.current_device() != device:
            with cupy.cuda.Device(device):
                return self.run(executable, arrays, device)
        for array in arrays:
            if type(array) is np.ndarray:
                return executable.run(_brought(executable, arrays))
        return executable.run(arrays)

    def copy(self, target: Any, source: Any) -> None:
        cupy.copyto(target, source)

    def native(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return function(*args, **kwargs)


SPACES: dict[str, Space] = {"cuda": CudaSpace()}
