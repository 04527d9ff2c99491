"""Wireshark's engine as a server: it starts once, then reads one capture after another, as tshark would.

It cannot be told on which port a database is, nor does it tell several texts of one field apart.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from latpcap.verify.wireshark import FIELDS, Dissection


class Sharkd:
    """A running `sharkd`, which Debian ships beside tshark."""

    def __init__(self) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(["sharkd", "-"], text=True, **pipes)
        self.loaded: list[Path] = []

    def frames(self, path: Path, display_filter: str, *fields: str) -> dict[int, list[list[str]]]:
        """The frames of a capture that the filter shows, each with the values of each field."""
        if self.loaded[-1:] != [path]:
            self._ask("load", file=str(path))
            self.loaded.append(path)
        display_filter += " " * len(self.loaded)  # it remembers what a filter showed, even of the capture before
        columns = {f"column{place}": f"{field}:0" for place, field in enumerate(fields or ["frame.number"])}
        shown = self._ask("frames", filter=display_filter, **columns)
        return {frame["num"]: [cell.split(",") if cell else [] for cell in frame["c"]] for frame in shown}

    def dissection(self, path: Path) -> Dissection:
        """What `latpcap wireshark --verify` has tshark tell of a capture where nothing speaks one of `DISSECTORS`."""
        found = Dissection()
        for cells in self.frames(path, "frame", *FIELDS).values():
            found.add(dict(zip(FIELDS, cells, strict=True)))
        return found

    def close(self) -> None:
        """End it."""
        self.process.communicate()

    def _ask(self, method: str, **params: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return answer["result"]
