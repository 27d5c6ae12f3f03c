"""Random programs that enter one ``with`` block again and again."""

from __future__ import annotations

from tests.programs_of_calls import PRELUDE, Writer

_TURNS = 6  # entries of the block, of which the last ones may be lifted
_LEAVING = ("return", "del ", "global ", " as e")  # what a block that is lifted does not do


def written(seed: int) -> tuple[str, list[str]]:
    """A program around a block in a function or in the module, and steps that enter it."""
    writer = Writer(seed)
    body = _body(writer, in_function=bool(seed % 3))
    loop = f"for turn in range({_TURNS}):\n    with block():\n"
    if seed % 3:
        inside = "".join(f"    {line}\n" for line in (loop + body).splitlines())
        head = "def f(x, y, n, l, d, o):\n    t0 = x + n\n    m0 = n\n"
        text = PRELUDE + head + inside + "    return x, y, n, l, d, o, t0, m0\n"
        return text, writer.steps(3)
    inside = "".join(f"    {line}\n" for line in (loop + body).splitlines())
    caught = "except Exception as error:\n    raised = type(error).__name__, str(error)\n"
    return f"{PRELUDE}t0 = x + n\nm0 = n\ntry:\n{inside}{caught}", ["pass"]


def _body(writer: Writer, in_function: bool) -> str:
    """The statements of a block, at the depth of its body."""
    lines: list[str] = []
    count = writer.random.randint(3, 9)
    often = writer.random.random() < 0.9
    while len(lines) < count:
        found = writer.statement()
        text = "\n".join(found)
        leaves = any(word in text for word in _LEAVING)
        if not (often and leaves) and (in_function or "return" not in text):
            lines += found
    return "".join(f"        {line}\n" for line in lines)
