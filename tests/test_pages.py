"""Pages with Python in them: each block runs, and shows what stands below it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from alike import alike
from conftest import ROOT
from pages import PAGES, blocks

for library in ("pandas", "polars", "duckdb", "scapy", "dpkt", "pyshark", "altair", "vl_convert"):
    pytest.importorskip(library)


def test_each_block_shows_what_stands_below_it() -> None:
    command = [sys.executable, "-W", "ignore", str(ROOT / "tests" / "pages.py"), "--print"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False
    )  # pyshark leaves loops open
    assert done.returncode == 0, done.stderr
    stored = [block for path in PAGES for block in blocks(path.read_text())]
    assert len(stored) >= 10
    for (source, told), (_, shown) in zip(stored, blocks(done.stdout), strict=True):
        assert alike(told, shown), f"python tests/pages.py\n{source}\nshows\n{shown}"
