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
TOLD = 3
"""Ports that a sentence names."""
HINT = "they go to port {}; if a database listens there, name it with --decode-as PORT=PROTOCOL"


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
        return f"{where}: no TCP connection in it, so no database traffic: {reason}"
    of = "connection" if seen == 1 else "connections"
    known = list(_told(notes, NO_DIALOGUE, files)) or [_nobody_there(unanswered_ports(recording)) or _hint(recording)]
    return f"{where}: no database traffic among {seen:,} TCP {of}; {'; '.join([*known, *hidden])}"


def unanswered_ports(recording: Recording) -> list[int]:
    """The ports of the servers where no connection was let in at all; else none."""
    table = recording.all_connections_table
    if not columns.codes(table, "state").where(NOT_LET_IN.__contains__).all():
        return []
    return sorted({int(server.rpartition(":")[2]) for server in columns.codes(table, "server").names})


def _nobody_there(ports: Sequence[int]) -> str:
    if not ports:
        return ""
    return f"nobody listens on port {_some(ports)}: the server refused, or did not answer"


def _hint(recording: Recording) -> str:
    """Ports that may be an unrecognised database's: the ports that most connections go to."""
    servers = columns.codes(recording.all_connections_table, "server").texts()
    ports = Counter(int(server.rpartition(":")[2]) for server in servers if server)
    return HINT.format(_some([port for port, _ in ports.most_common()]))


def _some(ports: Sequence[int]) -> str:
    return listed([str(port) for port in ports[:TOLD]]) + (" and others" if len(ports) > TOLD else "")


def _told(notes: Iterable[HealthNote], codes: Iterable[str], files: Sequence[str]) -> Iterator[str]:
    """The messages of the notes of these codes, each once: of several files with the first one's name."""
    for code in codes:
        said: dict[str, list[str]] = {}
        for message in (note.message for note in notes if note.code == code):
            path = next((path for path in files if message.startswith(f"{path}: ")), "")
            said.setdefault(message.removeprefix(f"{path}: "), []).append(path)
        for message, paths in said.items():
            named = f"{paths[0]}: {message}" if paths[0] and len(files) > 1 else message
            more = f" (likewise {len(paths) - 1} more)" if len(paths) > 1 else ""
            yield named + more


def _without_tcp(recording: Recording) -> str:
    packets = int(columns.column(recording.captures_table, "packets").values.sum())
    if packets == 0:
        return "it holds no packet"
    return f"none of its {packets:,} packets is TCP" if packets > 1 else "its only packet is not TCP"
