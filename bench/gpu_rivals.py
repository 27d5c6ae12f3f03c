"""Who runs the programs on a device: fusecuda, CuPy unfused, `cupy.fuse`, JAX, `torch.compile`.

Each maker turns a case and its inputs into a `Contender` with arrays of its own on the device.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import fusecuda as fc

from .gpu_cases import Case
from .gpu_measure import OURS, Contender, Maker, reason


def makers(everyone: bool) -> tuple[dict[str, Maker], dict[str, str]]:
    """Ours and CuPy; if ``everyone`` all others too, and why some are left out."""
    found: dict[str, Maker] = {OURS: by_fusecuda, "CuPy": by_cupy}
    missing: dict[str, str] = {}
    if not everyone:
        return found, missing
    found["cupy.fuse"] = by_cupy_fuse
    others: dict[str, Callable[[], Maker]] = {"JAX": jax_maker, "torch.compile": torch_maker}
    for name, make in others.items():
        try:
            found[name] = make()
        except Exception as error:  # not installed, or no device for it
            missing[name] = reason(error)
    return found, missing


def free() -> None:
    """What PyTorch keeps for later goes back to the device."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


# --- ours and CuPy


def by_fusecuda(case: Case, inputs: Sequence[Any], streams: int = 1) -> Contender:
    """The executable of the program, on CuPy arrays."""
    specs = [fc.spec(a.shape, a.dtype) for a in inputs]
    executable = fc.lower(case.make(np), *specs, device="cuda", streams=streams)
    if [p.shape for p in executable.graph.parameters] != [a.shape for a in inputs]:
        raise AssertionError(f"{case.name} does not read its arguments in their order")
    contender = _on_cupy(case, inputs, executable.run)
    contender.launches = executable.launches
    return contender


def switched() -> dict[str, Maker]:
    """Ours with CUDA graphs and streams on and off."""

    def maker(graphs: bool, streams: int) -> Maker:
        def make(case: Case, inputs: Sequence[Any]) -> Contender:
            contender = by_fusecuda(case, inputs, streams)
            with environment("FUSECUDA_GRAPHS", str(int(graphs))):
                contender.call()  # which makes the program
            return contender

        return make

    return {
        f"graphs {'on' if graphs else 'off'}, {streams} stream{'s' * (streams > 1)}": maker(
            graphs, streams
        )
        for graphs in (False, True)
        for streams in (1, 4)
    }


@contextlib.contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """A variable of the environment has ``value`` meanwhile."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def by_fused_function(case: Case, inputs: Sequence[Any]) -> Contender:
    """The program under `fused`, called with CuPy arrays."""
    import cupy

    function = fc.fused(case.make(cupy))
    return _on_cupy(case, inputs, lambda arrays: function(*arrays))


def by_cupy(case: Case, inputs: Sequence[Any]) -> Contender:
    """CuPy as it stands, one kernel for each operation."""
    import cupy

    function = case.make(cupy)
    return _on_cupy(case, inputs, lambda arrays: function(*arrays))


def by_cupy_fuse(case: Case, inputs: Sequence[Any]) -> Contender:
    """CuPy's own fusion."""
    import cupy

    function = cupy.fuse(kernel_name="program")(case.make(cupy))  # a lambda's own name is none
    return _on_cupy(case, inputs, lambda arrays: function(*arrays))


def _on_cupy(case: Case, inputs: Sequence[Any], run: Callable[[list[Any]], Any]) -> Contender:
    import cupy

    arrays = [cupy.asarray(a) for a in inputs]
    return Contender(
        lambda: run(arrays),
        lambda result: [cupy.asnumpy(r) for r in _results(case, result, arrays)],
        lambda: cupy.cuda.get_current_stream().synchronize(),
    )


def _results(case: Case, result: Any, arrays: Sequence[Any]) -> Sequence[Any]:
    if case.in_place:
        return [arrays[0]]
    return result if isinstance(result, tuple | list) else [result]


# --- JAX: its own streams, so that CuPy's events do not see its work


def jax_maker() -> Maker:
    """JAX on the device; raises if it is not there or sees none."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() in ("cpu", "tpu"):
        raise RuntimeError(f"JAX sees no GPU, only {jax.default_backend()}")

    def make(case: Case, inputs: Sequence[Any]) -> Contender:
        if case.in_place:
            return _jax_in_place(jax, case, inputs)
        function = jax.jit(case.make(jax.numpy))
        arrays = [jax.device_put(a) for a in inputs]
        last: list[Any] = [None]

        def call() -> Any:
            last[0] = function(*arrays)
            return last[0]

        return Contender(
            call,
            lambda result: [np.asarray(r) for r in _results(case, result, arrays)],
            lambda: jax.block_until_ready(last[0]),
            events=False,
        )

    return make


def _jax_in_place(jax: Any, case: Case, inputs: Sequence[Any]) -> Contender:
    """JAX's way to write every second row: a new version of an array that it is given."""
    if case.make.__name__ != "update_rows":
        raise NotImplementedError(f"{case.name} has no form in JAX")
    function = jax.jit(lambda x: x.at[::2].set(x[::2] * 0.5 + 0.25), donate_argnums=0)
    last = [jax.device_put(inputs[0])]

    def call() -> Any:
        last[0] = function(last[0])
        return last[0]

    return Contender(
        call,
        lambda result: [np.asarray(result)],
        lambda: jax.block_until_ready(last[0]),
        events=False,
    )


# --- PyTorch


def torch_maker() -> Maker:
    """PyTorch's compiler; raises if PyTorch is not there or sees no device."""
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU")
    names = importlib.import_module("bench.gpu_names")

    def make(case: Case, inputs: Sequence[Any]) -> Contender:
        torch.compiler.reset()  # a code object is compiled anew only so many times
        function = torch.compile(case.make(names), dynamic=False, fullgraph=True)
        arrays = [torch.from_numpy(np.array(a)).cuda() for a in inputs]

        def call() -> Any:
            with torch.no_grad():
                return function(*arrays)

        return Contender(
            call,
            lambda result: [r.cpu().numpy() for r in _results(case, result, arrays)],
            torch.cuda.synchronize,
            events=torch.cuda.current_stream().cuda_stream == 0,
        )

    return make
