"""Faults: dumps that run again with the same bits, and faults that are found and made small."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import engine
from fusecuda.back_ends import BACK_ENDS
from fusecuda.capture.record import dumping, plans
from fusecuda.cases.case import Case, lay_out, read
from fusecuda.cpu_fallback import backend
from fusecuda.cpu_fallback.loader import KernelSource
from fusecuda.emit_cuda import nvrtc
from fusecuda.fusion import assembly
from fusecuda.fusion.cost import CPU
from fusecuda.fusion.planner import make_plan, plan_prepared, prepared
from fusecuda.graph import build, library, passes
from fusecuda.graph.node import Graph, LibraryCall, Node, Operand
from fusecuda.graph.text import parse_hlo, print_hlo
from fusecuda.options import Options
from fusecuda.tools import bisect, outcome, reduce
from fusecuda.tools.cli import main
from fusecuda.tools.edited import use_edited
from fusecuda.tools.resized import resized
from tests.marks import at_length

ROOT = Path(__file__).resolve().parents[2]


def program(x: Any, k: float) -> Any:
    """Rows, a library call, and something that is overwritten."""
    e = np.exp(x - np.max(x, axis=1, keepdims=True)) * k
    x[1:] += 0.5 * x[:-1]
    return e / e.sum(axis=1, keepdims=True), np.sqrt(x * x + 1.5) @ x.T


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The dump of one call of `program`, on an array with strides of its own."""
    x = np.random.default_rng(3).normal(size=(40, 42))[:, ::2]
    return dumped(tmp_path / "dumps", monkeypatch, program, x, 2.5)


def dumped(folder: Path, monkeypatch: pytest.MonkeyPatch, function: Any, *arguments: Any) -> Path:
    """The one HLO file that running ``function`` fused leaves in ``folder``."""
    plans.forget()
    monkeypatch.setenv("FUSECUDA_DUMP", str(folder))
    fc.fused(function)(*arguments)
    monkeypatch.delenv("FUSECUDA_DUMP")
    (path,) = folder.glob("*.hlo")
    return path


def of_text(folder: Path, text: str) -> Path:
    path = folder / "graph.hlo"
    path.write_text(text)
    return path


# --- planted faults


def plant_text(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> None:
    """From now on kernels have the text that ``change`` makes of theirs."""
    real = backend.emit

    def emit(bound: Any, traffic: bool = False) -> KernelSource:
        source = real(bound, traffic)
        text = change(source.text)
        if text == source.text:
            return source
        symbol = f"{source.symbol}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        return KernelSource(symbol, text.replace(source.symbol, symbol))

    monkeypatch.setattr(backend, "emit", emit)


def wrong_after_exp(text: str) -> str:
    """A product of an exponential in the same kernel is a sum."""
    return re.sub(
        r"(v\d+) = fc_exp_f64\((.*)\);((?:.*\n)*?.*)\1 \* ", r"\1 = fc_exp_f64(\2);\3\1 + ", text
    )


def plant_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule of the passes takes every quotient of a product for a product."""

    def confuse_quotients(node: Node) -> Node | None:
        if node.op == "divide" and node.operands[0].op == "multiply":
            return build.elementwise("multiply", node.operands, node.dtype)
        return None

    monkeypatch.setattr(passes, "RULES", (*passes.RULES, confuse_quotients))


def reduced(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, list[str]]:
    """Where ``reduce`` leaves the small graph of ``path``, and its lines."""
    capsys.readouterr()
    assert main(["reduce", str(path), "--seconds", "1e6"]) == 1  # however slow the machine
    small = path.with_name(f"{path.stem}_reduced.hlo")
    lines = small.read_text().splitlines()
    assert "\n".join(lines) in capsys.readouterr().out
    return small, lines


# --- dumps in another process


def test_a_dump_has_the_same_bits_in_a_fresh_process(dump: Path) -> None:
    command = [sys.executable, "-m", "fusecuda", "replay", "--check", str(dump.parent)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=dump.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = [
        line for line in done.stdout.splitlines() if line.startswith("result") and "sha" in line
    ]
    assert len(told) == 3 and "check passed" in done.stdout
    for line in told:
        assert "  as dumped" in line or "NOT as dumped (libraries do not promise it)" in line
    assert "  as dumped" in told[0] and "  as dumped" in told[2]


def test_a_dump_keeps_values_layouts_lines_and_options(dump: Path) -> None:
    case = read(dump)
    x = np.random.default_rng(3).normal(size=(40, 42))[:, ::2]
    assert case.strides == {0: (42, 2)}
    assert case.inputs is not None
    np.testing.assert_array_equal(case.inputs[0], x)
    argument = case.arguments()[0]
    assert argument.strides == x.strides
    assert argument is not case.arguments()[0]
    np.testing.assert_array_equal(argument, x)
    lines = {n.line for n in case.graph.nodes() if n.op == "exp"}
    assert lines == {f"{__file__}:{program.__code__.co_firstlineno + 2}"}
    other = replace(case, options=Options("cuda", contract=True, check=0.0))
    path = dump.with_name("other.hlo")
    other.write(path)
    assert read(path).options == other.options
    assert read(path).strides == case.strides


def test_other_results_than_dumped_are_told(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant_text(monkeypatch, wrong_after_exp)
    assert main(["replay", str(dump), "--repeat", "1", "--check"]) == 1
    out = capsys.readouterr().out
    assert "NOT as dumped" in out and "MISMATCH: result" in out


@pytest.mark.parametrize("strides", [None, (7, 2), (-7, -2), (0, 1), (1, 5), (0, 0)])
def test_laid_out_values_stay(strides: tuple[int, ...] | None) -> None:
    values = np.broadcast_to(np.arange(3.0) if strides != (0, 0) else 4.0, (5, 3))
    if strides and 0 not in strides:
        values = np.arange(15.0).reshape(5, 3)
    placed = lay_out(values, strides)
    np.testing.assert_array_equal(placed, values)
    wanted = (3, 1) if strides is None else strides
    assert placed.strides == tuple(8 * s for s in wanted)


def test_lines_are_read_back() -> None:
    graph = parse_hlo(
        "HloModule g\n  %0 = f64[3] parameter(0)\n"
        "  %1 = f64[3] sqrt(%0) // @ a//b c.py:7\nROOT (%1)\n"
    )
    assert graph.outputs[0].line == "a//b c.py:7"
    assert "// @ a//b c.py:7" in print_hlo(graph, lines=True)
    assert "//" not in print_hlo(graph)


# --- edited sources


def test_edited_sources_run(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(dump), "--edited", "--check", "--repeat", "1"]) == 0
    assert capsys.readouterr().out.startswith("edited: nothing\n")
    path = dump.with_suffix(".c")
    text = path.read_text()
    path.write_text(text.replace("fc_exp_f64(", "fc_exp2_f64("))
    assert main(["replay", str(dump), "--edited", "--check", "--repeat", "1"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("edited: reduce_") and "MISMATCH: result" in out
    assert main(["replay", str(dump), "--check", "--repeat", "1"]) == 0  # only if asked


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r"^// kernel: .*$", "", "has no kernel"),
        (r"\bvoid reduce", "void my_reduce", "does not define the function reduce"),
        (r"int64_t begin, int64_t end, char \*scratch\)", "int64_t begin)", "has to take (const"),
        (r"fc_exp_f64\(", "no_such_function(", "no_such_function"),
    ],
)
def test_edits_that_do_not_fit_are_told(
    dump: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump.with_suffix(".c")
    path.write_text(re.sub(old, new, path.read_text(), flags=re.MULTILINE))
    assert main(["replay", str(dump), "--edited"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fusecuda replay: ") and message in error
    path.unlink()
    assert main(["replay", str(dump), "--edited"]) == 2
    assert "No such file" in capsys.readouterr().err


def test_a_fault_in_an_edit_is_told_with_its_line(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the compiler says of it, and where it is in the user's file."""
    path = dump.with_suffix(".c")
    lines = path.read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if "fc_exp_f64(" in line)
    lines[number] = lines[number].replace(";", " +;")
    path.write_text("\n".join(lines) + "\n")
    assert main(["replay", str(dump), "--edited"]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert re.match(rf"fusecuda replay: {re.escape(str(path))}:{number + 1}:\d+: error: ", error)


def test_edited_cuda_is_what_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as it goes without a GPU: NVRTC takes it, where it is installed."""
    x = build.parameter(0, (30, 20), np.dtype("f8"))
    graph = Graph((x,), (build.elementwise("exp", [x], x.dtype),))
    monkeypatch.setenv("FUSECUDA_DUMP", str(tmp_path))
    dumping.dump(engine.build(graph, {}, Options("cuda")), graph)
    (path,) = tmp_path.glob("*.cu")
    assert path.with_suffix(".c").exists()
    backend_of_cuda = replace(BACK_ENDS["cuda"], program=lambda *_: None)  # needs no device
    monkeypatch.setitem(BACK_ENDS, "cuda", backend_of_cuda)
    executable = engine.build(graph, {}, Options("cuda"))
    (before,) = executable.sources
    assert use_edited(executable, path) == []
    path.write_text(path.read_text().replace(" exp(", " 2.5 * exp("))
    assert use_edited(executable, path) == [before.symbol]
    (after,) = executable.sources
    edited = before.text.replace(before.symbol, after.symbol).replace(" exp(", " 2.5 * exp(")
    assert after.text.endswith(edited)
    assert after.symbol != before.symbol and after.parameters == before.parameters
    if nvrtc.available():
        executable.emit("cuda", arch="sm_90")


# --- bisect and reduce


def test_right_graphs_are_told_to_be_right(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("bisect", "reduce"):
        assert main([command, str(dump.parent)]) == 0
        assert capsys.readouterr().out.endswith("the kernels' results are the interpreter's\n")


@at_length
def test_a_faulty_kernel_is_found_and_made_small(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is wrong only where a product shares a kernel with the exponential that it reads."""
    plant_text(monkeypatch, wrong_after_exp)
    assert main(["bisect", str(dump.parent), "--source"]) == 1
    out = capsys.readouterr().out
    line = program.__code__.co_firstlineno + 2
    assert "every operation is right in a kernel of its own" in out
    assert re.search(rf"consumer: multiply f64\[40,21\] \({__file__}:{line}\)", out)
    assert re.search(rf"producer: exp f64\[40,21\] \({__file__}:{line}\)", out)
    assert re.search(r"kernel:   \w*exp\w*multiply", out)
    assert "void " in out
    small, lines = reduced(dump, capsys)
    assert len(lines) < 10
    assert any(" exp(" in each for each in lines) and any(" multiply(" in each for each in lines)
    assert main(["replay", str(small), "--check", "--repeat", "1"]) == 1
    assert "MISMATCH" in capsys.readouterr().out
    monkeypatch.undo()
    assert main(["replay", str(small), "--check", "--repeat", "1"]) == 0


@pytest.mark.slow
def test_a_faulty_rule_is_found_and_made_small(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant_rule(monkeypatch)
    assert main(["bisect", str(dump)]) == 1
    out = capsys.readouterr().out
    line = program.__code__.co_firstlineno + 4
    assert "the rule confuse_quotients changes it" in out
    assert f"before: divide f64[40,21] ({__file__}:{line}) of multiply f64[40,21]" in out
    _, lines = reduced(dump, capsys)
    assert len(lines) < 8


@at_length
def test_an_operation_that_is_wrong_alone_is_named(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant_text(monkeypatch, lambda text: text.replace("fc_exp_f64(", "fc_exp2_f64("))
    assert main(["bisect", str(dump)]) == 1
    out = capsys.readouterr().out
    assert "the operation alone is at fault: exp f64[40,21]" in out
    assert "kernel:   loop_exp" in out
    _, lines = reduced(dump, capsys)
    ops = [re.sub(r".*= f64\[1,[12]\] (\w+).*", r"\1", line) for line in lines[1:-1]]
    assert ops == ["parameter", "exp"]


def test_a_faulty_pass_is_named(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def halve_results(graph: Graph) -> Graph:
        first, *rest = graph.outputs
        half = build.constant(0.5, first.dtype)
        return graph.with_outputs(
            (build.elementwise("multiply", [first, half], first.dtype), *rest)
        )

    monkeypatch.setattr(passes, "PASSES", (*passes.PASSES, halve_results))
    assert main(["bisect", str(dump)]) == 1
    assert "the pass halve_results changes it: result 0" in capsys.readouterr().out


@pytest.mark.slow
def test_an_exception_is_followed_too(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = assembly.lower

    def lower(cluster: Any, *args: Any, **kwargs: Any) -> Any:
        found = {n.op for cone in cluster.cones.values() for n, _ in cone.inlined}
        if cluster.reduced and "exp" in found:
            raise RuntimeError("no luck")
        return real(cluster, *args, **kwargs)

    monkeypatch.setattr(assembly, "lower", lower)
    assert main(["bisect", str(dump)]) == 1
    out = capsys.readouterr().out
    assert "raises RuntimeError in lower: RuntimeError: no luck" in out
    assert "producer: exp f64[40,21]" in out
    _, lines = reduced(dump, capsys)
    assert len(lines) < 10 and any(" exp(" in each for each in lines)


@at_length
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a kernel that crashes takes us with it")
def test_a_kernel_that_crashes_leaves_us_alive(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fatal = "(__builtin_trap(), 0.0) + fc_exp_f64("
    plant_text(monkeypatch, lambda text: text.replace("fc_exp_f64(", fatal))
    assert main(["bisect", str(dump)]) == 1
    out = capsys.readouterr().out
    assert "dies of SIG" in out and "exp f64[40,21]" in out
    _, lines = reduced(dump, capsys)
    assert len(lines) < 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no process to end")
def test_a_kernel_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "_LONGEST", 0.2)
    found = outcome.isolated(lambda: time.sleep(60))  # type: ignore[arg-type, return-value]
    assert found.is_fault
    assert bisect.told(found).startswith("hangs: no result after")


@at_length
def test_a_text_without_values_fails_on_random_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And values are kept where only they show the fault."""
    path = of_text(
        tmp_path,
        "HloModule g\n  %0 = f64[30] parameter(0)\n  %1 = f64[30] sqrt(%0)\n"
        "  %2 = f64[30] absolute(%0)\n  %3 = f64[30] sqrt(%2)\nROOT (%1, %3)\n",
    )
    plant_text(monkeypatch, lambda text: text.replace("fc_sqrt_f64(", "0.5 * fc_sqrt_f64("))
    small, lines = reduced(path, capsys)
    assert len(lines) == 4
    assert not small.with_suffix(".npz").exists()
    monkeypatch.undo()
    plant_text(
        monkeypatch,
        lambda text: re.sub(r"fc_(sqrt_f64)\((v\d+)\)", r"(\2 == 9 ? 4 : fc_\1(\2))", text),
    )
    case = replace(read(path), inputs=[np.arange(30.0)])
    case.write(path)
    small, lines = reduced(path, capsys)
    assert len(lines) == 4
    assert 9 in np.load(small.with_suffix(".npz"))["p0"]
    assert main(["replay", str(small), "--check"]) == 1


@pytest.mark.parametrize("other", [outcome.SAME, outcome.INVALID, "dies of SIGSEGV"])
def test_only_the_same_fault_is_followed(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(case: Case) -> outcome.Outcome:
        wrong = any(n.op == "sqrt" for n in case.graph.nodes())
        return outcome.Outcome(outcome.DIFFERS if wrong else other)

    monkeypatch.setattr(reduce, "outcome", told)
    text = "HloModule g\n  %0 = f64[30] parameter(0)\n  %1 = f64[30] sqrt(%0)\n"
    text += "  %2 = f64[30] absolute(%1)\n  %3 = f64[30] exp(%2)\nROOT (%3, %0)\n"
    case = Case(parse_hlo(text), inputs=[np.ones(30)])
    small = reduce.Reducer(case, outcome.Outcome(outcome.DIFFERS)).run()
    assert [n.op for n in small.graph.nodes()] == ["parameter", "sqrt"]
    assert small.graph.outputs[0].shape == (1,)


def test_inputs_that_the_interpreter_refuses_are_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = of_text(
        tmp_path,
        "HloModule g\n  %0 = f64[2] parameter(0)\n  %1 = s64[] constant(0x0000000000000064)\n"
        "  %2 = f64[] gather(%0, %1)\nROOT (%2)\n",
    )
    assert main(["bisect", str(path)]) == 0
    assert "invalid: the interpreter fails: IndexError" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["replay", "bisect", "reduce"])
def test_mistakes_are_told(
    command: str, dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*arguments: str) -> str:
        capsys.readouterr()
        assert main([command, *arguments]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    assert "No such file" in told("nothing.hlo")
    (tmp_path / "empty").mkdir()
    assert "there is no .hlo file" in told(str(tmp_path / "empty"))
    case = read(dump)
    assert case.inputs is not None
    np.savez(dump.with_suffix(".npz"), p0=case.inputs[0])
    assert "has no p1" in told(str(dump))
    np.savez(dump.with_suffix(".npz"), p0=case.inputs[0][:3], p1=np.float64(2))
    assert "p0 is f64[3,21], and the graph takes f64[40,21]" in told(str(dump))
    dump.with_suffix(".npz").write_text("nothing")
    assert "is no archive of arrays" in told(str(dump))
    dump.with_suffix(".npz").unlink()
    text = dump.read_text()
    dump.write_text(text.replace("[42, 2]", "[42]"))
    assert "strides do not fit" in told(str(dump))
    dump.write_text(text.replace('"strides"', '"device": "abacus", "strides"'))
    assert "device must be one of" in told(str(dump))
    if not fc.info()["devices"][1:]:
        dump.write_text(text)
        assert "for a GPU, and there is none" in told(str(dump), "--device", "cuda")


def test_without_a_compiler_there_is_nothing_to_bisect(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fusecuda.tools.dumps.find_compiler", lambda: None)
    monkeypatch.setattr("fusecuda.tools.dumps.why_no_compiler", lambda: "gone\nfishing")
    for command in ("bisect", "reduce"):
        assert main([command, str(dump)]) == 2
        assert "there are no kernels to look at: gone\n" in capsys.readouterr().err


# --- what they stand on


def test_nodes_apart_share_no_kernel_with_what_they_read() -> None:
    """From all apart, which is fusion switched off, to none, which is the plan itself."""
    x = build.parameter(0, (30, 20), np.dtype("f8"))
    double = build.elementwise("add", [x, x], x.dtype)
    root = build.elementwise("sqrt", [double], x.dtype)
    total = build.reduce("sum", root, (1,))
    graph = prepared(Graph((x,), (total,)), CPU)
    nodes = [double, root, total]
    for count, launches in ((0, 3), (1, 3), (2, 2), (3, 1)):
        plan = plan_prepared(graph, {}, True, CPU, frozenset(nodes[count:]))
        assert len(plan.steps) == launches
    assert len(make_plan(graph, {}).steps) == 1
    assert len(make_plan(graph, {}, fuse=False).steps) == 3


@pytest.mark.slow
def test_any_number_of_fusions_computes_the_same() -> None:
    """With updates, stencils and library calls, whatever is apart."""
    x = np.random.default_rng(1).normal(size=(12, 9))
    lowered = fc.lower(program, x.copy(), 2.5)
    graph = prepared(lowered.graph, CPU)
    arguments = [x, np.float64(2.5)]
    case = Case(graph, inputs=arguments)
    order = [n for n in graph.nodes() if n.op not in ("parameter", "constant")]
    for count in range(len(order) + 1):
        apart = frozenset(order[count:])

        def make(case: Case, apart: frozenset[Node] = apart) -> engine.Executable:
            plan = plan_prepared(case.graph, {}, True, CPU, apart)
            return engine.build_plan(case.graph, plan, {}, Options())

        assert outcome.outcome(case, make) == outcome.Outcome(outcome.SAME), count


def test_steady_calls_give_the_same_for_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a library that rounds otherwise each time."""
    fresh, calls = library._fresh, itertools.count(1)
    monkeypatch.setattr(library, "_fresh", lambda *args: fresh(*args) * (1 + next(calls) * 2**-52))
    spec = LibraryCall("matmul", (Operand(0), Operand(1)))
    a = np.random.default_rng(0).normal(size=(50, 50))
    with library.steady():
        first = library.call(spec, [a, a])
        again = library.call(spec, [np.asfortranarray(a), a.copy()])
        assert first.tobytes() == again.tobytes() and first is not again
        a[0, 0] += 1  # the operands that are known are copies
        assert library.call(spec, [a, a]).tobytes() != first.tobytes()
        with library.steady():
            assert library.call(spec, [a, a]).tobytes() != first.tobytes()


def test_extents_shrink_with_their_borders() -> None:
    text = """\
HloModule g
  %0 = f64[1000,30] parameter(0)
  %1 = f64[998,30] index(%0), map=(d0, d1) -> (d0 + 1, d1)
  %2 = f64[998,30] index(%0), map=(d0, d1) -> (-1*d0 + 999, d1)
  %3 = f64[998,30] add(%1, %2)
  %4 = f64[29940] reshape(%3)
ROOT (%4)
"""
    graph = parse_hlo(text)
    case = Case(graph, inputs=[np.arange(30000.0).reshape(1000, 30)])
    small = resized(case, 998, 5)
    assert small is not None and small.inputs is not None
    assert small.inputs[0].shape == (7, 30)
    assert small.graph.outputs[0].shape == (150,)
    assert "map=(d0, d1) -> (-1*d0 + 6, d1)" in small.text
    assert outcome.outcome(small).kind == outcome.SAME
    assert resized(case, 30, 3) is not None
    middle = "  %1 = f64[30] index(%0), map=(d0) -> (700, d0)\nROOT (%1)\n"
    text = f"HloModule g\n  %0 = f64[1000,30] parameter(0)\n{middle}"
    assert resized(replace(case, graph=parse_hlo(text)), 1000, 5) is None


def test_told_in_words() -> None:
    found: Sequence[outcome.Outcome] = (
        outcome.Outcome(outcome.SAME), outcome.Outcome(outcome.DIFFERS, "here"),
        outcome.Outcome("dies of SIGSEGV", "gone"),
    )  # fmt: skip
    assert [f.is_fault for f in found] == [False, True, True]
    assert bisect.told(found[2]) == "dies of SIGSEGV: gone"
