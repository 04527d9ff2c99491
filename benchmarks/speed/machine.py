"""On what was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from .programs import FAST, HERE, SLOW
from .table import Rows, table


def machine() -> str:
    return table(
        [
            ("machine", ""),
            ("processor", processor()),
            ("processors", str(os.cpu_count())),
            ("memory", f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.1f} GB"),
            ("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
            ("Python", platform.python_version()),
            ("latpcap", commit()),
            ("measured", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; load averages before: {load()}"),
        ]
    )


def processor() -> str:
    """As Linux names it; elsewhere as Python does."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True).stdout.strip()

    changed = " and what is not committed" if git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{FAST['latpcap'].told_version()}, commit {git('rev-parse', '--short', 'HEAD')}{changed}"


def load() -> str:
    return ", ".join(f"{value:.1f}" for value in os.getloadavg())


def readers() -> str:
    """Who is compared, with versions."""
    rows: Rows = [("who", "version", "what it is asked for")]
    for name, program in {**FAST, **SLOW}.items():
        rows.append((name, program.told_version() if program.here else "not installed", program.does))
    return table(rows)
