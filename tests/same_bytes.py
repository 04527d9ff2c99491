"""What latpcap writes of every fixture, to be compared byte by byte with what it writes on another system.

    python tests/same_bytes.py FOLDER      needs latpcap alone; run it where the repository's root is the current folder

`./dev windows` runs it on Linux and under Wine.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from itertools import product
from pathlib import Path

from latpcap.cli import cli
from latpcap.errors import LatpcapError, NoDatabaseTraffic

WRITTEN = (
    *(("analyze", suffix) for suffix in ("json", "html", "md", "txt")),
    *((table, "csv") for table in ("exchanges", "connections", "statements")),
)
"""Each command, and the suffix of its output."""
RTTS = ("--rtt", "1ms,15ms")


def main(folder: str) -> None:
    """Write all of it into `folder`, which is there, a file for each command and fixture."""
    captures = sorted(Path("fixtures").glob("*/*.pcapng*"))
    for (command, suffix), capture in product(WRITTEN, captures):
        output = Path(folder, f"{command}-{capture.parent.name}-{capture.name}.{suffix}")
        asked = [*(RTTS if command == "analyze" else ()), "--quiet", "-o", str(output)]
        with suppress(NoDatabaseTraffic):
            cli.main([command, str(capture), *asked], "latpcap", standalone_mode=False)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except LatpcapError as error:
        sys.exit(str(error))
