"""The captures that are read: generated once into a folder, with what is true of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from .traffic.kinds import KINDS, TNS, Wish


@dataclass(frozen=True)
class Capture:
    """A generated capture, and what is true of it."""

    path: Path
    packets: int
    connections: int
    queries: int
    fingerprints: int

    @property
    def bytes(self) -> int:
        return self.path.stat().st_size


def capture(folder: Path, kind: str, wish: Wish) -> Capture | None:
    """Made, if it is not there yet; None where what it is made of is not here."""
    if kind == "tns" and not TNS.capture.exists():
        return None
    name = "-".join(str(part) for part in (kind, *asdict(wish).values()))
    path, facts = folder / f"{name}.pcap", folder / f"{name}.json"
    if not facts.exists():
        write(kind, wish, path, facts)
    return Capture(path, **json.loads(facts.read_text()))


def write(kind: str, wish: Wish, path: Path, facts: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    traffic = KINDS[kind](wish)
    with path.open("wb") as file:
        traffic.write(file)
    told = {name: getattr(traffic, name) for name in ("packets", "connections", "queries", "fingerprints")}
    facts.write_text(json.dumps(told))
