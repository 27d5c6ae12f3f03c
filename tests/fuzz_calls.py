"""Random programs around a fused function run as their plain twins do.

``python -m tests.fuzz_calls FIRST LAST`` runs the programs of these seeds; with ``--errors`` those
in which numbers raise errors, with ``--blocks`` those that enter a block again and again, with
``--frames`` functions with blocks that call each other.
"""

from __future__ import annotations

import sys
import warnings

from fusecuda.capture.record.budget import Budget
from fusecuda.capture.record.rest import Trial
from tests import programs_of_blocks, programs_of_errors, programs_of_frames
from tests.programs_of_calls import Writer
from tests.side_by_side import DifferenceError, Spaces


def failure(program: str, steps: list[str]) -> str:
    """What was done otherwise than by the plain program, or an empty string."""
    try:
        with warnings.catch_warnings(action="ignore"):
            spaces = Spaces(program)
            for text in steps:
                spaces.step(text)
    except DifferenceError as difference:
        return str(difference)
    return ""


def shrunk(program: str, steps: list[str]) -> tuple[str, list[str]]:
    """A shorter program and fewer steps that fail still."""
    lines = program.splitlines()
    progress = True
    while progress:
        progress = False
        for i in range(len(steps) - 1, -1, -1):
            fewer = steps[:i] + steps[i + 1 :]
            if failure("\n".join(lines), fewer):
                steps, progress = fewer, True
        for i in range(len(lines) - 1, -1, -1):
            for size in (4, 2, 1):
                fewer = lines[:i] + lines[i + size :]
                text = "\n".join(fewer)
                try:
                    compile(text, "", "exec")
                    if failure(text, steps):
                        lines, progress = fewer, True
                        break
                except Exception:
                    continue
    return "\n".join(lines), steps


def written(seed: int) -> tuple[str, list[str]]:
    """The program of a seed."""
    writer = Writer(seed)
    return writer.program(), writer.steps(6)


def main(first: int, last: int) -> None:
    """Print the failures among the programs of these seeds."""
    write = programs_of_errors.written if "--errors" in sys.argv else written
    write = programs_of_blocks.written if "--blocks" in sys.argv else write
    write = programs_of_frames.written if "--frames" in sys.argv else write
    for seed in range(first, last):
        print("seed", seed, file=sys.stderr, flush=True)
        program, steps = write(seed)
        Budget.FIRST = 0.0 if seed % 5 == 4 else float("inf")
        if why := failure(program, steps):
            program, steps = shrunk(program, steps)
            why = failure(program, steps)
            text = "\n".join(line for line in program.splitlines() if line.strip())
            print(f"=== seed {seed}\n{text}\n--", *steps, f">>> {why[:400]}", sep="\n", flush=True)


if __name__ == "__main__":
    if "--trials" not in sys.argv:
        Trial.wants_plain = property(lambda trial: False)  # type: ignore[assignment,method-assign]
    main(int(sys.argv[1]), int(sys.argv[2]))
