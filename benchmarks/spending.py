"""What one run of latpcap takes, under limits: no benchmark may harm the machine it runs on."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import IO

LATPCAP = [os.environ.get("LATPCAP_PYTHON", sys.executable), "-m", "latpcap"]


@dataclass(frozen=True)
class Spent:
    """Processor time, peak resident memory, and how it ended."""

    cpu_s: float
    peak_mb: float
    status: int
    output: str
    complaint: str

    @property
    def mark(self) -> str:
        """`!` where the run was ended by a limit or failed."""
        return "" if self.status in (0, 4) else "!"


def spend(arguments: list[str], cpu_s: int, memory: int, files: int | None = None) -> Spent:
    """Run `latpcap` with these arguments, with at most so much processor time, address space and open files."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaint:
        process = subprocess.Popen([*LATPCAP, *arguments], stdout=output, stderr=complaint, preexec_fn=limit)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = [text_of(file) for file in (output, complaint)]
    peak = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return Spent(used.ru_utime + used.ru_stime, peak, process.returncode, *texts)


def text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(1 << 20).decode(errors="replace")
