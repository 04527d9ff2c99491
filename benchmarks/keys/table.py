#!/usr/bin/env python3
"""Write the table of benchmarks/results/keys.md: what latpcap and tshark read of each run of `record.py`, given its key log."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab
from runs import CLIENTS, RUNS, SUITES, Run

import latpcap
from latpcap.verify import verify

DOCUMENT = Path(__file__).resolve().parents[1] / "results" / "keys.md"
MARK = "<!-- written by table.py -->\n"
HEAD = """
| client | inside | lines in the log | read: executions, rows, errors | as in clear | as Wireshark |
|---|---|--:|---|---|---|
"""

WORDS = {"two-sessions": ", the second resumed", "key-update": ", key updates", "tickets": ", with tickets"} | {
    special: ", encrypt-then-mac" if special.endswith("etm") else ", mac-then-encrypt"
    for special in ("cbc-sha", "cbc-sha256", "cbc-sha384", *SUITES)
    if "cbc" in special
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else lab.LAB / "keys"
    order = sorted(RUNS, key=lambda run: list(CLIENTS).index(run.client))
    rows = [row(run, folder) for run in order if run.tls != "clear" and (folder / f"{run.name}.json").exists()]
    before, mark, after = DOCUMENT.read_text().partition(MARK)
    kept = after[after.index("\n\n", len(HEAD)) :] if after.startswith("\n|") else "\n" + after
    DOCUMENT.write_text(before + mark + HEAD + "\n".join(rows) + kept)


def row(run: Run, folder: Path) -> str:
    path = folder / f"{run.name}.pcapng"
    keys = path.with_suffix(".keys")
    agreed = json.loads(path.with_suffix(".json").read_text())
    if not keys.exists():
        return line(run, agreed, "0", "nothing: it logs no keys", "", "")
    capture = latpcap.read(path, keylog=keys, show_literals=True)
    clear = latpcap.read(folder / f"{twin(run)}.pcapng", show_literals=True)
    return line(
        run,
        agreed,
        str(len(keys.read_text().splitlines())),
        ", ".join(f"{number:,}" for number in read(capture)),
        as_in_clear(list(work(capture)), list(work(clear))),
        as_wireshark(path, keys) if run.client != "psycopg-direct" else "no direct TLS there",
    )


def line(run: Run, agreed: dict[str, Any], *found: str) -> str:
    client = short(agreed["client"]) + (", `keylog.so`" if run.client.endswith("preloaded") else "")
    client += ", direct TLS" if run.client == "psycopg-direct" else ""
    inside = ", ".join(agreed["tls"]) + WORDS.get(run.special, "")
    text = f"| {' | '.join([client, inside, *found])} |"
    print(text, flush=True)
    return text


def twin(run: Run) -> str:
    return f"{run.client}-clear" + ("-two-sessions" if run.special == "two-sessions" else "")


def short(client: str) -> str:
    """Without paths, revisions and distributions."""
    client = re.sub(r"github\.com/|mysql-connector-j-| \(Revision.*?\)| \(Debian.*?\)|jackc/|-MariaDB.*", "", client)
    return client.replace(" Ver 15.1 Distrib", "")


def read(capture: latpcap.Capture) -> tuple[int, int, int]:
    exchanges = capture.exchanges.to_dicts()
    executions = sum(each["executions"] for each in capture.statements.to_dicts())
    return executions, sum(each["rows"] or 0 for each in exchanges), sum(1 for each in exchanges if each["error"])


def work(capture: latpcap.Capture) -> Iterator[tuple[Any, ...]]:
    """Every exchange after the login."""
    for each in capture.exchanges.to_dicts():
        if each["purpose"] != "setup":
            yield tuple(
                each[name] for name in ("command", "statement", "rows", "affected_rows", "error", "round_trips")
            )


def as_in_clear(encrypted: list[Any], clear: list[Any]) -> str:
    return "yes" if clear and encrypted == clear else f"no: {len(encrypted)} exchanges of {len(clear)}"


def as_wireshark(path: Path, keys: Path) -> str:
    """Return what `latpcap wireshark --verify` finds."""
    measures = [each for each in verify(path, keylog=keys).measures if "statements" in each.name]
    unexplained = sum(1 for each in measures for difference in each.differences if difference.reason is None)
    equal = sum(each.equal for each in measures)
    if not any(each.wireshark for each in measures):
        return "not opened there"
    return f"yes: {equal}" if equal and not unexplained else f"no: {equal}, {unexplained} differ"


if __name__ == "__main__":
    main()
