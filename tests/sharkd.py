"""Wireshark's engine as a server: it starts once, then answers display filters on one capture after another."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any


class Sharkd:
    """A running `sharkd`, which Debian ships beside tshark."""

    def __init__(self) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(["sharkd", "-"], text=True, **pipes)
        self.loaded: list[Path] = []

    def frames(self, path: Path, display_filter: str, *fields: str) -> dict[int, list[str]]:
        """The frames of a capture that the filter shows, each with the first value of each field."""
        if self.loaded[-1:] != [path]:
            self._ask("load", file=str(path))
            self.loaded.append(path)
        display_filter += " " * len(self.loaded)  # it remembers what a filter showed, even of the capture before
        columns = {f"column{place}": f"{field}:1" for place, field in enumerate(("frame.number", *fields))}
        return {frame["num"]: frame["c"][1:] for frame in self._ask("frames", filter=display_filter, **columns)}

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
