"""SciPy's special functions as CUDA C: CUDA's own, or CuPy's expressions, run by the emulator."""

from __future__ import annotations

import numpy as np
import pytest

from fusecuda.cpu_fallback.interpreted import KERNELS
from fusecuda.emit_cuda import nvrtc
from fusecuda.graph import build
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph
from fusecuda.graph.ops import OPS
from tests import emulated, emulator
from tests import vecmath_harness as harness
from tests.emit_cuda.test_cuda_compile import ARCHITECTURES
from tests.marks import one_in

# Everyday operands; beyond them CUDA's functions are as exact as NVIDIA says.
DOMAIN = {
    **dict.fromkeys(("erfinv", "cosm1"), (-0.9, 0.9)),
    **dict.fromkeys(("ndtri", "logit"), (0.01, 0.45)),
    **dict.fromkeys(("gammaln", "gamma", "psi", "kl_div", "rel_entr", "inv_boxcox"), (2.1, 9.0)),
    "erfcinv": (0.01, 1.9),
}
NAMES = (*harness.SPECIAL_UNARY, *harness.SPECIAL_BINARY)


def every_row(dtype: np.dtype) -> tuple[Graph, list[np.ndarray]]:
    """A graph of all special rows on operands of their own."""
    rng, parameters, arguments, outputs = np.random.default_rng(6), [], [], []
    for name in NAMES:
        nodes = []
        for _ in range(OPS[name].arity):
            arguments.append(rng.uniform(*DOMAIN.get(name, (0.05, 6.0)), 40).astype(dtype))
            nodes.append(build.parameter(len(parameters), (40,), dtype))
            parameters.append(nodes[-1])
        outputs.append(build.elementwise(name, nodes, dtype))
    return Graph(tuple(parameters), tuple(outputs)), arguments


@pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values(dtype: str) -> None:
    graph, arguments = every_row(np.dtype(dtype))
    got, _ = emulated.run(graph, arguments)
    want = interpret(graph, arguments, KERNELS)
    close = {"f4": 2e-5, "f8": 1e-12}[dtype]
    wrong = [
        (name, float(np.max(np.abs(a - b) / np.maximum(np.abs(b), 0.05))))
        for name, a, b in zip(NAMES, got, want, strict=True)
        if not np.all(np.abs(a - b) <= close * np.maximum(np.abs(b), 0.05))
    ]
    assert wrong == []


ENDS = {
    "gammaln": [(0.0, np.inf), (-2.0, np.inf), (-np.inf, -np.inf), (np.inf, np.inf)],
    "gamma": [(-2.0, np.nan), (-np.inf, np.nan), (5.0, 24.0), (np.inf, np.inf)],
    "psi": [(0.0, -np.inf), (-0.0, np.inf), (-3.0, np.nan), (-np.inf, np.nan), (np.inf, np.inf)],
    "entr": [(0.0, 0.0), (-1.0, -np.inf), (np.nan, np.nan)],
    "exprel": [(0.0, 1.0)],
}


@pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
def test_ends() -> None:
    """What CuPy says of poles."""
    for name, rows in ENDS.items():
        x, want = np.ascontiguousarray(np.array(rows).T)
        node = build.parameter(0, x.shape, x.dtype)
        graph = Graph((node,), (build.elementwise(name, [node], x.dtype),))
        np.testing.assert_array_equal(emulated.run(graph, [x])[0][0], want, err_msg=name)


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@one_in(4)
def test_every_row_compiles(dtype: str) -> None:
    graph, _ = every_row(np.dtype(dtype))
    _, sources = emulated.assembled(graph)
    assert nvrtc.cubin([s for s in sources if s is not None], ARCHITECTURES[0])
