#!/usr/bin/env python3
"""The table of benchmarks/results/rehearse.md from the lines that `run.py` wrote: `table.py rehearsed.jsonl`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

WAYS = ("lab", "link", "relay")


def main() -> None:
    found: dict[tuple[str, float], dict[str, Any]] = defaultdict(dict)
    for line in Path(sys.argv[1]).read_text().splitlines():
        told = json.loads(line)
        for there in told.get("rtts", ()):
            found[told["job"], there["target_rtt_ms"]][told["way"]] = there
    print(
        "| job | RTT ms | "
        + " | ".join(f"{way}: measured s | predicted | inside" for way in WAYS)
        + " | most off (link) |"
    )
    print("|---|---:|" + "---:|---:|---|" * len(WAYS) + "---|")
    for (job, target_rtt_ms), ways in found.items():
        cells = [cell for way in WAYS for cell in _figures(ways.get(way))]
        print(f"| {job} | {target_rtt_ms:g} | " + " | ".join((*cells, _most_off(ways.get("link")))) + " |")


def _figures(there: dict[str, Any] | None) -> tuple[str, str, str]:
    if there is None:
        return "", "", ""
    measured = f"{there['told']['runtime_s']:.3f}"
    verdict = there["validation"]
    if verdict is None:
        return measured, "–", ""
    return measured, f"{verdict['error']:+.1%}", "yes" if verdict["inside"] else "**no**"


def _most_off(there: dict[str, Any] | None) -> str:
    term = there and there["largest_error"]
    if not term:
        return ""
    return f"{term['name'].replace('_s', '')} {term['predicted_s'] - term['measured_s']:+.3f} s"


if __name__ == "__main__":
    main()
