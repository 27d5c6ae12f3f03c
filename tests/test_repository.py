"""What must hold for the repository as a whole."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "fusecuda"

# Where packages come from is for each machine's own settings to say. The names are put
# together here so that this file passes its own test.
REGISTRY_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pypi", "python", "org"),
        ("pythonhosted", "org"),
        ("anaconda", "org"),
        ("anaconda", "com"),
        ("pypi", "nvidia", "com"),
        ("pypi", "ngc", "nvidia", "com"),
        ("registry", "npmjs", "org"),
    )
)

HEAVY_IMPORTS = ("cupy", "matplotlib", "scipy")

ENVIRONMENT_NAME = re.compile(r"FUSECUDA_[A-Z0-9_]+")
C_GETENV = re.compile(r'getenv\s*\(\s*"(FUSECUDA_[A-Z0-9_]+)"')
PATH_OF_FILE = re.compile(r"(?<![\w*{}<>./-])\w[\w-]*(?:/[\w-]+)+\.(?:py|h|c|md)\b")
HOME_OF_NAMES = re.compile(r"\| `([\w/]+\.py)`: (`\w+`(?:, `\w+`)*)")


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def repository_files() -> list[Path]:
    """Files that git tracks, and those that it would with the next `git add`."""
    try:
        # The tests may run as another user than the one who owns the clone.
        listed = run(
            *("git", "-c", "safe.directory=*", "ls-files", "-z"),
            *("--cached", "--others", "--exclude-standard"),
        )
    except FileNotFoundError:
        pytest.skip("git is not installed")
    if listed.returncode != 0:
        pytest.skip("not a git clone")
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def python_strings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def environment_variables() -> set[str]:
    """Each name in the package that can only be a variable's: a whole string, or C's getenv."""
    names: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if ENVIRONMENT_NAME.search(source):  # to take a file apart costs more
            strings = python_strings(source)
            names.update(text for text in strings if ENVIRONMENT_NAME.fullmatch(text))
    for suffix in ("*.c", "*.h"):
        for path in PACKAGE.rglob(suffix):
            names.update(C_GETENV.findall(path.read_text(encoding="utf-8")))
    return names


def documented_variables(readme: str) -> set[str]:
    """Names in the first cell of the rows of README's tables."""
    names: set[str] = set()
    for line in readme.splitlines():
        if line.lstrip().startswith("|"):
            first_cell = line.strip().strip("|").split("|")[0]
            names.update(ENVIRONMENT_NAME.findall(first_cell))
    return names


def test_import_contract_holds() -> None:
    if importlib.util.find_spec("importlinter") is None:
        pytest.skip("import-linter is not installed")
    command = "from importlinter.cli import lint_imports_command as lint; lint()"
    result = run(sys.executable, "-c", command, "--no-cache")
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_file_names_a_package_registry() -> None:
    found: list[str] = []
    for path in repository_files():
        content = path.read_bytes()
        if b"\0" in content:
            continue
        text = content.decode("utf-8", errors="replace").lower()
        found += [f"{path.relative_to(ROOT)}: {host}" for host in REGISTRY_HOSTS if host in text]
    assert not found, "\n".join(found)


def test_every_environment_variable_is_in_the_readme() -> None:
    documented = documented_variables((ROOT / "README.md").read_text(encoding="utf-8"))
    missing = sorted(environment_variables() - documented)
    assert not missing, f"README.md's table of environment variables lacks {', '.join(missing)}"


def test_import_loads_no_engine() -> None:
    """Planner and back end are loaded by the first plan, which a program may never come to."""
    late = ("engine", "executable", "back_ends", "fusion.kernel_ir", "streams.memory_plan")
    program = "import sys; from fusecuda import fused; print(*sys.modules)"
    result = run(sys.executable, "-c", program)
    assert result.returncode == 0, result.stderr
    assert not {f"fusecuda.{name}" for name in late} & set(result.stdout.split())


def test_whatever_records_has_the_names_of_arrays() -> None:
    """Each way to `fused` loads the namespace, in which arrays find functions."""
    for way in ("from fusecuda import fused", "from fusecuda.capture.calls.fused import fused"):
        result = run(sys.executable, "-c", f"{way}; import sys; print(*sys.modules)")
        assert result.returncode == 0, result.stderr
        assert "fusecuda.numpy" in result.stdout.split()


def test_import_loads_no_heavy_package() -> None:
    shown = f"sorted(set({HEAVY_IMPORTS}) & set(sys.modules))"
    program = f"import sys; from fusecuda import fused; print(*{shown})"
    result = run(sys.executable, "-c", program)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == []


def test_files_that_are_named_are_there() -> None:
    """Pages and the package name files by their paths, or by the ends of these."""
    files = repository_files()
    paths = ["/" + file.relative_to(ROOT).as_posix() for file in files]
    missing: list[str] = []
    for file in files:
        if file.suffix == ".md" or (file.suffix == ".py" and PACKAGE in file.parents):
            named = set(PATH_OF_FILE.findall(file.read_text(encoding="utf-8")))
            missing += [
                f"{file.relative_to(ROOT)}: {name}"
                for name in sorted(named)
                if not any(path.endswith("/" + name) for path in paths)
            ]
    assert not missing, "\n".join(missing)


def test_state_is_where_the_architecture_says() -> None:
    """A name in the table of the process's state is a word of the file that it is said to be in."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    homes = HOME_OF_NAMES.findall(text)
    assert len(homes) > 20
    for end, names in homes:
        candidates = [p for p in PACKAGE.rglob("*.py") if p.as_posix().endswith("/" + end)]
        words = {word for p in candidates for word in re.findall(r"\w+", p.read_text("utf-8"))}
        missing = set(re.findall(r"\w+", names)) - words
        assert not missing, f"{end} has no {', '.join(sorted(missing))}"
