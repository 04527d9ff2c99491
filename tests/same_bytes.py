"""What latpcap writes of every fixture, to be compared byte by byte with what it writes on another system.

    python tests/same_bytes.py FOLDER      needs latpcap alone; run it where the repository's root is the current folder

`./dev windows` runs it on Linux and under Wine.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from itertools import pairwise, product
from pathlib import Path

from latpcap.cli import cli
from latpcap.errors import LatpcapError, NoDatabaseTraffic, UsageError

RTTS = ("--rtt", "1ms,15ms")
TABLES = ("exchanges", "connections", "errors", "tasks", "intervals", "health", "captures")
WRITTEN = (
    *((("analyze", *RTTS), suffix) for suffix in ("json", "html", "md", "txt")),
    (("project", *RTTS), "json"),
    (("rank",), "json"),
    *(((table,), "csv") for table in ("statements", "findings")),
    *(((f"table {table}",), "csv") for table in TABLES),
)
"""Each command, and the suffix of its output."""
OF_TWO = ("compare", "compare --projected")


def main(folder: str) -> None:
    """Write all of it into `folder`, which is there: a file for each command and fixture, or each two of them."""
    captures = sorted(Path("fixtures").glob("*/*.pcapng*"))
    for ((command, *options), suffix), capture in product(WRITTEN, captures):
        run(command, capture, *options, "-o", named(folder, command, capture, suffix))
    for command, (before, after) in product(OF_TWO, pairwise(captures)):
        run(command, before, after, "-o", named(folder, command, before, "json"))
    for capture in captures:
        run("wireshark", capture, "-o", named(folder, "annotated", capture, "pcapng"))


def named(folder: str, command: str, capture: Path, suffix: str) -> Path:
    """The file of an output."""
    return Path(folder, f"{command.replace(' ', '-')}-{capture.parent.name}-{capture.name}.{suffix}")


def run(command: str, *arguments: Path | str) -> None:
    """Run it; that a capture has no database traffic, or is not comparable, is a result, too."""
    with suppress(NoDatabaseTraffic, UsageError):
        words = (each.as_posix() if isinstance(each, Path) else each for each in arguments)  # which `rank` repeats
        cli.main([*command.split(), *words, "--quiet"], "latpcap", standalone_mode=False)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except LatpcapError as error:
        sys.exit(str(error))
