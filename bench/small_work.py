"""What small work costs under each way in, against NumPy: ``python -m bench.small_work``.

Every program of `bench.small_rows` and `bench.small_steps` runs under ``@fused``, in a block, on
lazy arrays, and as a script under ``python -m fusecuda run --device cpu`` with CuPy's name for
NumPy's. Each run is a process of its own with an empty kernel cache and a hard time limit; the
plain program is measured in the same process, turn by turn; the fastest run of each counts, which
nothing else that goes on in the machine slows down. A run counts only if it is right.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILES = ("small_rows.py", "small_steps.py")
WAYS = {"@fused": "numpy", "block": "numpy", "lazy arrays": "fusecuda.numpy", "run": "cupy"}
SCRIPT = "from bench.small_work import worker\n\nworker({!r}, {!r}, {!r}, {!r})\n"
WARM, FIRST, GRACE = 1.2, 1.5, 0.5  # the rule: warm at most 1.2 ×, first 1.5 × and half a second


# --- one program under one way, in a process of its own


def worker(name: str, way: str, budget: float, folder: str) -> None:
    """Print how long a program takes, a line of JSON for each thing that is known."""
    plain, ours = load("numpy"), load(WAYS[way], folder)
    program = next(p for p in plain.PROGRAMS if p.name == name)
    if way in ("@fused", "block"):
        import fusecuda as fc

        target = program.decorated or program.function
        function = getattr(ours, target)
        made = fc.fused(function) if way == "@fused" else in_block(function)
        for module in (ours, *ours.modules):
            if hasattr(module, target):
                setattr(module, target, made)
    inputs = program.make()
    first, got = clock(ours, program.function, inputs)
    plain_first, want = clock(plain, program.function, inputs)
    say(first=first, plain_first=plain_first, fault=difference(got, want))
    runs: list[tuple[float, float]] = []
    start = time.perf_counter()
    while len(runs) < 5 or (time.perf_counter() - start < budget and len(runs) < 200):
        mine, got = clock(ours, program.function, inputs)
        theirs, want = clock(plain, program.function, inputs)
        runs.append((mine, theirs))
        if len(runs) == 1 and first < 2:
            continue
        warm, fastest = (min(times) for times in zip(*runs, strict=True))
        say(warm=warm, plain=fastest, runs=len(runs), fault=difference(got, want))
    if way == "@fused":
        say(explain=getattr(ours, target).explain().splitlines()[0])


def in_block(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, called in a block."""
    import fusecuda as fc

    def call(*args: Any) -> Any:
        with fc.fused():
            result = function(*args)
        return result

    return call


def load(namespace: str, folder: str = "") -> types.ModuleType:
    """The programs, with NumPy's name standing for ``namespace``; modules of a script's folder."""
    with tempfile.TemporaryDirectory() as other:
        modules = []
        sys.path.insert(0, folder or other)
        for name in FILES:
            source = Path(__file__).with_name(name).read_text(encoding="utf-8")
            source = source.replace("import numpy as np", f"import {namespace} as np")
            own = f"{Path(name).stem}_of_{namespace.replace('.', '_')}"
            Path(sys.path[0], f"{own}.py").write_text(source, encoding="utf-8")
            modules.append(importlib.import_module(own))
        del sys.path[0]
    both = types.ModuleType("programs")
    for module in modules:
        both.__dict__.update(vars(module))
    both.PROGRAMS = [p for m in modules for p in m.PROGRAMS]  # type: ignore[attr-defined]
    both.modules = modules  # type: ignore[attr-defined]
    return both


def clock(module: types.ModuleType, function: str, inputs: tuple[Any, ...]) -> tuple[float, Any]:
    """How long the program takes on copies of ``inputs``, its results looked at, and these."""
    import numpy

    own = tuple(copy.deepcopy(v) for v in inputs)
    if module.np is not numpy:
        own = tuple(module.np.asarray(v) if type(v) is numpy.ndarray else v for v in own)
    start = time.perf_counter()
    result = getattr(module, function)(*own)
    result = result if isinstance(result, tuple) else (result,)
    found = [numpy.asarray(r) for r in result]
    return time.perf_counter() - start, found


def difference(got: list[Any], want: list[Any]) -> str:
    """What is wrong with the results, or nothing."""
    import numpy

    try:
        for a, b in zip(got, want, strict=True):
            scale = float(numpy.abs(b).max())
            numpy.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * scale, strict=True)
    except AssertionError as error:
        return " ".join(str(error).split())[:200]
    return ""


def say(**facts: Any) -> None:
    """Tell the process that waits."""
    print(json.dumps(facts), flush=True)


# --- all of them


def measure(name: str, way: str, budget: float, limit: float) -> dict[str, Any]:
    """What a worker found out before it ended or ran out of time."""
    head = ["-m", "fusecuda", "run", "--device", "cpu"] if way == "run" else []
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(SCRIPT.format(name, way, budget, folder), encoding="utf-8")
        command = [sys.executable, *head, str(script)]
        space = os.environ | {"FUSECUDA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=limit, env=space, check=False
            )
            out, errors, ended = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as late:
            out, errors, ended = late.stdout or b"", b"", None
    found: dict[str, Any] = {"program": name, "way": way}
    for line in out.decode().splitlines():
        facts = json.loads(line)
        facts["fault"] = found.get("fault") or facts.get("fault", "")
        found |= facts
    if ended is None:
        found["late"] = limit
    elif ended:
        last = errors.decode(errors="replace").strip().splitlines() or [f"exit {ended}"]
        found["fault"] = f"raises {last[-1]}"
    return found


def within(found: dict[str, Any]) -> bool:
    """True if a run is right and keeps the rule."""
    if found.get("fault") or "warm" not in found:
        return False
    first = found["first"] <= FIRST * found["plain_first"] + GRACE
    return first and found["warm"] <= WARM * found["plain"]


def lines(rows: list[dict[str, Any]]) -> list[str]:
    """The table as Markdown, and what it comes to."""
    head = ["program", "plain", *(f"{way}: {what}" for way in WAYS for what in ("warm", "first"))]
    text = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for name in dict.fromkeys(row["program"] for row in rows):
        ours = {row["way"]: row for row in rows if row["program"] == name}
        plains = [row["plain"] for row in ours.values() if "plain" in row]
        cells = [name, f"{1e3 * min(plains):.3g} ms" if plains else "–"]
        for way in WAYS:
            cells += _cells(ours[way]) if way in ours else ["–", "–"]
        text.append(f"| {' | '.join(cells)} |")
    return [*text, "", *(f"- {line}" for line in summary(rows))]


def _cells(found: dict[str, Any]) -> list[str]:
    if found.get("fault"):
        return ["wrong", "wrong"]
    late = f"> {found.get('late', 0):.0f} s"
    warm = f"{found['warm'] / found['plain']:.2f} ×" if "warm" in found else late
    first = f"{found['first']:.2f} s" if "first" in found else late
    return [warm, first]


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """Geometric mean and worst of each way, and what broke the rule."""
    text = []
    for way in WAYS:
        mine = [row for row in rows if row["way"] == way]
        timed = [r for r in mine if "warm" in r and not r.get("fault")]
        if timed:
            warm = [(r["warm"] / r["plain"], r["program"]) for r in timed]
            first = [(r["first"] / r["plain_first"], r["program"]) for r in timed]
            over = max((r["first"] - FIRST * r["plain_first"], r["program"]) for r in timed)
            text.append(
                f"{way}: warm {_mean(warm):.2f} × plain in geometric mean, worst "
                f"{max(warm)[0]:.3g} × ({max(warm)[1]}); first {_mean(first):.3g} ×, worst "
                f"{max(first)[0]:.3g} × ({max(first)[1]}); at most {over[0]:.2f} s beyond "
                f"{FIRST} × plain ({over[1]}); {sum(map(within, mine))} of {len(mine)} "
                "keep the rule"
            )
        unfinished = [r["program"] for r in mine if "warm" not in r and not r.get("fault")]
        if unfinished:
            text.append(f"{way}: not done in time: {', '.join(unfinished)}")
        text += [f"{way}: {r['program']}: {r['fault']}" for r in mine if r.get("fault")]
    return text


def _mean(ratios: list[tuple[float, str]]) -> float:
    return math.exp(sum(math.log(r) for r, _ in ratios) / len(ratios))


def main() -> None:
    """Measure what the command line asks for, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.small_work", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose name has TEXT")
    parser.add_argument("--way", choices=WAYS, help="only this way in")
    parser.add_argument("--budget", type=float, default=1.0, metavar="S", help="seconds, warm")
    parser.add_argument("--limit", type=float, default=60.0, metavar="S", help="seconds for a run")
    parser.add_argument("--save", action="store_true", help="write bench/results/small-work-…")
    options = parser.parse_args()
    rows = []
    for program in load("numpy").PROGRAMS:
        for way in [options.way] if options.way else WAYS:
            if options.only.lower() in program.name.lower():
                rows.append(measure(program.name, way, options.budget, options.limit))
                print(json.dumps(rows[-1]), file=sys.stderr)
    text = "\n".join(lines(rows)) + "\n"
    print(text)
    if options.save:
        save(text, rows)


def save(text: str, rows: list[dict[str, Any]]) -> None:
    """Write the table and the figures beside the other results."""
    from fusecuda.tools.bench.facts import facts_of

    facts = facts_of("cpu")
    machine = re.sub(r"\W+", "-", facts["machine"]).strip("-").lower()
    path = ROOT / "bench" / "results" / f"small-work-{machine}-{facts['date']}"
    path.parent.mkdir(exist_ok=True)
    told = "".join(f"- {name}: {value}\n" for name, value in facts.items())
    path.with_suffix(".md").write_text(f"# Small work\n\n{told}\n{text}", encoding="utf-8")
    data = json.dumps({"facts": facts, "rows": rows}, indent=1)
    path.with_suffix(".json").write_text(data, encoding="utf-8")
    print(path.with_suffix(".md"))


if __name__ == "__main__":
    sys.exit(main())
