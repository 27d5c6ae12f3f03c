"""A hook of mkdocs: pages that its navigation does not name stand at the end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """The configuration with all pages in its navigation."""
    named = set(re.findall(r"\w+\.md", str(config.nav)))
    pages = (page.name for page in sorted(Path(config.docs_dir).glob("*.md")))
    config.nav += [page for page in pages if page not in named]
    return config
