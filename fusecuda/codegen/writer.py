"""Writer: lines of C with their indentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Writer:
    """Collects lines; `block` opens a brace, indents, and closes it."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str = "") -> None:
        """Add one line at the present depth."""
        self._lines.append("    " * self._depth + text if text else "")

    def lines(self, texts: list[str]) -> None:
        """Add several lines at the present depth."""
        for text in texts:
            self.line(text)

    @contextmanager
    def block(self, head: str = "") -> Iterator[None]:
        """Add ``head {``, what the body adds, and ``}``."""
        self.line(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Add what the body adds one level deeper."""
        self._depth += 1
        yield
        self._depth -= 1

    def text(self) -> str:
        """All lines so far."""
        return "\n".join(self._lines) + "\n"
