"""Why no connection of a recording talks to a database, in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from latpcap.measures.health import HealthNote, core_notes
from latpcap.tables.columnar import columns
from latpcap.tables.recording import Recording
from latpcap.units import listed

IN_THE_WAY = (
    *("stopped", "file-cut", "file-damaged", "file-unreadable", "unknown-interface"),
    *("unknown-link-type", "encrypted-packets", "malformed-packets", "too-many-fragments"),
)
"""Reasons why TCP connections may not be seen."""
NO_DIALOGUE = ("other-database", "unrecognised", "refused", "unanswered")
"""The names of connections that do not talk to a database."""
NOT_LET_IN = ("refused", "unanswered")
"""States of connections that no server has let in."""
MAX_PORTS = 3
"""Ports that a sentence names."""
HINT = "if a database listens there, name it with --decode-as PORT=PROTOCOL"
SERVICES = {22: "SSH", 25: "SMTP", 53: "DNS", 80: "HTTP", 443: "HTTPS", 3389: "RDP", 8080: "HTTP", 8443: "HTTPS"}
"""Services that usually listen on ports of no database."""


def notes_without_traffic(recording: Recording) -> tuple[HealthNote, ...]:
    """The health of a recording without database traffic."""
    packets = int(columns.column(recording.captures_table, "packets").values.sum())
    return (*core_notes(recording), HealthNote("no-database-traffic", "error", why_none(recording), packets))


def why_none(recording: Recording, paths: Sequence[str] = ()) -> str:
    """Say in one sentence why there is no database traffic, where the files show it; an error names their `paths`."""
    files = [path or "" for path in columns.texts(recording.captures_table, "path")]
    where = (paths or files)[0] if len(files) == 1 else f"{len(files)} files"
    notes = core_notes(recording)
    hidden = list(_told(notes, IN_THE_WAY, files))
    seen = len(recording.all_connections_table)
    if seen == 0:
        reason = "; ".join(hidden) or _without_tcp(recording)
        return f"{where}: no TCP connection, so no database traffic: {reason}"
    of = "connection" if seen == 1 else "connections"
    said = list(_told(notes, NO_DIALOGUE, files)) or [*filter(None, [_nobody_there(unanswered_ports(recording))])]
    ports = "" if said else f" ({_ports(recording)})"
    return f"{where}: {seen:,} TCP {of}{ports}, none to a database; {'; '.join([*(said or [HINT]), *hidden])}"


def unanswered_ports(recording: Recording) -> list[int]:
    """The ports of the servers where no connection was let in at all; else none."""
    table = recording.all_connections_table
    if not columns.codes(table, "state").where(NOT_LET_IN.__contains__).all():
        return []
    return sorted({int(server.rpartition(":")[2]) for server in columns.codes(table, "server").names})


def _nobody_there(ports: Sequence[int]) -> str:
    if not ports:
        return ""
    return f"port {_some(ports)} refused the connections or did not answer"


def _ports(recording: Recording) -> str:
    """Return the ports that most connections go to, with what usually listens there."""
    servers = columns.codes(recording.all_connections_table, "server").texts()
    ports = Counter(int(server.rpartition(":")[2]) for server in servers if server)
    most = [port for port, _ in ports.most_common()]
    usual = dict.fromkeys(SERVICES[port] for port in most[:MAX_PORTS] if port in SERVICES)
    return f"port {_some(most)}{f', usually {listed(usual)}' if usual else ''}"


def _some(ports: Sequence[int]) -> str:
    return listed([str(port) for port in ports[:MAX_PORTS]]) + (" and others" if len(ports) > MAX_PORTS else "")


def _told(notes: Iterable[HealthNote], codes: Iterable[str], files: Sequence[str]) -> Iterator[str]:
    """The messages of the notes of these codes, each once: of several files with the first one's name."""
    for code in codes:
        said: dict[str, list[str]] = {}
        for message in (note.message for note in notes if note.code == code):
            path = next((path for path in files if message.startswith(f"{path}: ")), "")
            said.setdefault(message.removeprefix(f"{path}: "), []).append(path)
        for message, paths in said.items():
            named = f"{paths[0]}: {message}" if paths[0] and len(files) > 1 else message
            more = f" (and in {len(paths) - 1} more)" if len(paths) > 1 else ""
            yield named + more


def _without_tcp(recording: Recording) -> str:
    packets = int(columns.column(recording.captures_table, "packets").values.sum())
    if packets == 0:
        return "it contains no packets"
    return f"none of its {packets:,} packets is TCP" if packets > 1 else "its only packet is not TCP"
