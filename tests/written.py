"""Every format of every command, written to a folder: two runs must write the same bytes.

    python tests/written.py FOLDER [PROCESSORS]

No process is started for each command, which would take minutes; nothing that one command leaves reaches the next.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "fixtures"
ONE = "mysql/nplus1-300-client.pcapng"
LONG = "mysql/nplus1-10k.pcapng.zst"
"""Enough packets for more than one thread."""
MANY = ("mysql/parallel-8", "postgresql/logins", "firebird/fbclient3-nplus1", "keys/asyncpg-tlsv13", "mysql/sql-errors")
TABLES = ("exchanges", "connections", "statements", "errors", "tasks", "intervals", "health", "captures", "findings")


def commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The name of each file in `folder`, and the command that writes it."""
    long, one = (str(FIXTURES / name) for name in (LONG, ONE))
    several = [str(path) for name in MANY for path in FIXTURES.glob(f"{name}.pcapng*")]
    for name, given in (("long", [long]), ("several", several)):
        for suffix in ("json", "txt", "md", "html"):
            yield f"{name}.{suffix}", ["analyze", *given]
        for table in TABLES:
            for suffix in ("txt", "json", "csv", "jsonl", "parquet"):
                yield (
                    f"{name}-{table}.{suffix}",
                    [*([] if table in ("statements", "findings") else ["table"]), table, *given],
                )
        yield f"{name}-project.json", ["project", *given, "--fix", "all", "--connections", "4", "--jitter", "1ms"]
        yield f"{name}-rank.json", ["rank", *given, "--by", "server"]
        yield f"{name}-rank.txt", ["rank", *given]
        yield f"{name}-names.md", ["report", *given, "--pseudonymise", "--title", "T", "--date", "2031-05-06"]
    for suffix in ("json", "txt", "html", "md"):
        yield f"compare.{suffix}", ["compare", one, long]
    for suffix in ("json", "txt"):
        yield f"projected.{suffix}", ["compare", one, one, "--projected"]
        yield f"sql.{suffix}", ["sql", long, "select command, count(*) n from exchanges group by all order by all"]
    yield "sql.parquet", ["sql", long, "select * from findings"]
    gates = ["--ci", str(folder / "gates.xml"), "--ci", str(folder / "gates.sarif")]
    yield "gates.json", ["analyze", one, "--fail-if", "round_trips > 5000", *gates]
    yield "annotated.pcapng", ["wireshark", one]


def main(folder: Path, processors: int) -> None:
    """Write all of them."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors])  # before anything counts processors
    from latpcap.cli import _run

    for name, (command, *arguments) in commands(folder):
        output = str(folder / name)
        sys.argv = ["latpcap", command, *arguments, *(["--quiet"] if command != "compare" else [])]
        sys.argv += ["-o", output]
        if status := _run():
            sys.exit(f"{' '.join(sys.argv)}: exit status {status}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else len(os.sched_getaffinity(0)))
