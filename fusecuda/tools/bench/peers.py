"""Peers: how each library runs a plain program, through its own namespace or decorator, unchanged.

Where a program does not run so, a peer says why and takes no part: nothing is written by hand.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from ...capture.calls.fused import fused
from ...capture.record.budget import Budget
from ..programs.program import Program

OURS, PLAIN = "fused", "unfused"


def nothing(result: Any) -> None:
    """There is nothing to wait for."""


def over_arrays(place: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What does to each array in lists and tuples as ``place`` does; all else is copied."""

    def over(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(over(v) for v in value)
        return place(value) if isinstance(value, numpy.ndarray) else copy.deepcopy(value)

    return over


@dataclass(frozen=True)
class Way:
    """A program as a peer runs it.

    ``place`` makes an argument one of the peer's own, a copy; ``host`` gives a result to NumPy;
    ``wait`` returns when a call's result is there, and all that was called before.
    """

    call: Callable[..., Any]
    place: Callable[[Any], Any] = copy.deepcopy
    host: Callable[[Any], Any] = numpy.asarray
    wait: Callable[[Any], None] = nothing


@dataclass(frozen=True)
class Peer:
    """One contender: what it does with a program, what it needs, on which devices it runs."""

    name: str
    how: str
    module: str
    devices: tuple[str, ...]
    way: Callable[[Program, str, int], Way]

    def absence(self, device: str) -> str:
        """Why it takes no part on ``device``, or an empty string."""
        if device not in self.devices:
            return f"runs on {' and '.join(self.devices)} only"
        if importlib.util.find_spec(self.module) is None:
            return "is not installed"
        return ""


def _unfused(program: Program, device: str, threads: int) -> Way:
    if device == "cpu":
        return Way(program.make(numpy))
    import cupy

    return _on_cupy(program.make(cupy))


def _fused(program: Program, device: str, threads: int) -> Way:
    Budget.FIRST = float("inf")  # all the time that planning and compiling take
    if device == "cpu":
        return Way(fused(program.make(numpy)))
    import cupy

    return _on_cupy(fused(program.make(cupy)))


def _on_cupy(call: Callable[..., Any]) -> Way:
    import cupy

    return Way(
        call,
        over_arrays(cupy.array),
        cupy.asnumpy,
        lambda result: cupy.cuda.get_current_stream().synchronize(),
    )


def _cupy_fuse(program: Program, device: str, threads: int) -> Way:
    import cupy

    return _on_cupy(cupy.fuse(program.make(cupy)))


def _numpy(program: Program, device: str, threads: int) -> Way:
    return Way(program.make(numpy))


def _numexpr(program: Program, device: str, threads: int) -> Way:
    import numexpr

    from .expressions import Namespace, written

    numexpr.set_num_threads(threads)
    functions = set(numexpr.expressions.functions)
    function = program.make(Namespace(functions | {"sum", "prod", "min", "max"}))

    def call(*args: Any) -> Any:
        found = [numexpr.evaluate(t, dict(zip(names, args, strict=True)), {}) for t in texts]
        return found[0] if single else tuple(found)

    names, texts, single = written(function, function.__code__.co_argcount)
    return Way(call)


def _numba(program: Program, device: str, threads: int) -> Way:
    return Way(_numba_function(program, threads))


@functools.lru_cache(maxsize=1)
def _numba_function(program: Program, threads: int) -> Callable[..., Any]:
    """Compiled once for all sizes, for it does not depend on them."""
    import numba

    warnings.simplefilter("ignore")  # that nothing was found to run in parallel, and the like
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    function: Callable[..., Any] = numba.njit(parallel=True)(program.make(numpy))
    return function


def _jax(program: Program, device: str, threads: int) -> Way:
    import jax

    jax.config.update("jax_enable_x64", True)
    found = "cpu" if jax.default_backend() == "cpu" else "cuda"
    if found != device:
        raise NotImplementedError(f"it sees no {device}, only {found}")
    example = program.arguments(program.sizes[0])
    numbers = [i for i, a in enumerate(example) if isinstance(a, int)]  # sizes, which it must know
    function = jax.jit(program.make(jax.numpy), static_argnums=numbers)
    ready = jax.block_until_ready
    call = function if device == "cuda" else lambda *args: ready(function(*args))
    return Way(call, over_arrays(jax.numpy.array), numpy.asarray, ready)


def _torch(program: Program, device: str, threads: int) -> Way:
    import torch

    torch.compiler.reset()  # so that it knows the sizes, and keeps to no limit on their number
    torch.set_num_threads(threads)
    function = torch.compile(torch.compiler.wrap_numpy(program.make(numpy)), fullgraph=True)

    def host(value: Any) -> Any:
        return value.cpu().numpy() if isinstance(value, torch.Tensor) else numpy.asarray(value)

    def wait(result: Any) -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    return Way(function, over_arrays(lambda a: torch.tensor(a, device=device)), host, wait)


PEERS = (
    Peer(OURS, "the program under fusecuda's `fused`", "numpy", ("cpu", "cuda"), _fused),
    Peer(PLAIN, "the program as it stands, over NumPy, on a GPU over CuPy", "numpy",
         ("cpu", "cuda"), _unfused),
    Peer("NumPy", "the program over NumPy, on the processor", "numpy", ("cuda",), _numpy),
    Peer("cupy.fuse", "the program over CuPy, under its decorator", "cupy", ("cuda",), _cupy_fuse),
    Peer("numexpr", "one expression for each result, written by running the program on names",
         "numexpr", ("cpu",), _numexpr),
    Peer("Numba", "`njit(parallel=True)` of the program over NumPy", "numba", ("cpu",), _numba),
    Peer("JAX", "`jit` of the program over `jax.numpy`, 64 bits enabled", "jax",
         ("cpu", "cuda"), _jax),
    Peer("torch.compile", "`torch.compile(wrap_numpy(program), fullgraph=True)`", "torch",
         ("cpu", "cuda"), _torch),
)  # fmt: skip


def named(name: str) -> Peer:
    """The peer of that name."""
    return next(peer for peer in PEERS if peer.name == name)


def present(device: str) -> tuple[list[str], dict[str, str]]:
    """The names of those that take part on ``device``, ours first, and why the others do not."""
    absent = {peer.name: why for peer in PEERS if (why := peer.absence(device))}
    if device == "cpu":
        absent.pop("NumPy")  # which is what is unfused there
        absent["CuPy"] = "runs on cuda only"
    return [peer.name for peer in PEERS if not peer.absence(device)], absent
