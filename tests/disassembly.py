"""Machine code of kernels: what the disassembler shows of their accesses to memory."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from fusecuda.emit_cuda import nvrtc
from fusecuda.emit_cuda.source import CudaSource

_ACCESS = re.compile(r"\b((?:LDG|STG|LDL|STL|LDS|STS|ATOMG|RED)[.\w]*)")


@cache
def disassembler() -> str | None:
    """The path of nvdisasm, from its wheel or the search path; None if there is none."""
    packages = Path(sysconfig.get_paths()["purelib"])
    found = sorted(packages.glob("nvidia/*/bin/nvdisasm"))
    return str(found[-1]) if found else shutil.which("nvdisasm")


def accesses(sources: Sequence[CudaSource], arch: str) -> Counter[str]:
    """How often each instruction that touches memory stands in the code of ``sources``."""
    tool = disassembler()
    assert tool is not None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(nvrtc.cubin(sources, arch))
        file.flush()
        done = subprocess.run([tool, "-c", file.name], capture_output=True, text=True, check=True)
    return Counter(_ACCESS.findall(done.stdout))
