"""The analysis of many files as one pure function: `part` of the work gives a partial, `reduce` puts partials together.

The unit of the work is a client group: the connections of one client host to one server host, whose lanes a replay
needs together. Each is analysed whole, by whichever part it belongs to, so it does not matter how many parts there are,
in which order they end, and where they run: threads, processes or machines of any `concurrent.futures.Executor`.

```python
with ProcessPoolExecutor() as executor:
    partials = executor.map(partial(part, files, asked=asked), Partition.all(8))
scanned = reduce(partials)
```

A partial is bytes (Arrow), a row for each client group and each statement; sums are integers, times nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any
from zlib import crc32

import numpy as np
from arro3.core import DataType
from arro3.core import Table as ArrowTable
from msgspec import Struct

from latpcap import _core
from latpcap._core import __version__
from latpcap.errors import UsageError
from latpcap.measures.health import HealthNote, by_severity, core_notes, notes_in
from latpcap.measures.statements import group
from latpcap.reading import read
from latpcap.result.analysis import Measures
from latpcap.result.tables import health_table
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.table import Table
from latpcap.tables.connections import MISSING
from latpcap.tables.dataset.layout import is_dataset
from latpcap.tables.part.client_groups import client_groups_of, hosts_of
from latpcap.tables.part.selected import only
from latpcap.tables.recording import Recording
from latpcap.tables.writing.ipc import TIME, received, rows_in, sent, table_of
from latpcap.units import DEFAULT_DISK_BYTES, DEFAULT_MEMORY_BYTES, RttIs

TABLES = ("captures", "health", "groups", "statements")
GROUP_SHARES = 1024
"""Client groups are weighed in this many shares."""
RTTS_MS = (1.0, 5.0, 15.0, 50.0)
_COUNT, _NS, _TEXT = DataType.uint64(), DataType.int64(), DataType.string()


class Partition(Struct, frozen=True):
    """Which client groups: part `number` (from 0 on) of `of`."""

    number: int = 0
    of: int = 1
    shares: tuple[int, ...] = ()
    """Shares, of the `GROUP_SHARES` of all groups, in this part; without, it is that which has its number among `of`
    shares."""

    @classmethod
    def all(cls, of: int) -> list[Partition]:
        """Every part, where there are to be so many."""
        if of < 1:
            raise UsageError("there is one part at least")
        return [cls(number, of) for number in range(of)]

    @classmethod
    def weighed(cls, of: int, weights: Sequence[int]) -> list[Partition]:
        """Every part, each with about as much to do, where each of the `GROUP_SHARES` weighs so much.

        >>> [len(part.shares) for part in Partition.weighed(2, [900, 500, 500] + [1] * (GROUP_SHARES - 3))]
        [562, 462]
        """
        if of > GROUP_SHARES:
            return cls.all(of)
        shares: list[list[int]] = [[] for _ in cls.all(of)]
        parts = [(0, number) for number in range(of)]
        for share in sorted(range(GROUP_SHARES), key=lambda share: -weights[share]):
            weight, number = heappop(parts)  # the lightest so far takes the heaviest that is left
            shares[number].append(share)
            heappush(parts, (weight + weights[share], number))
        return [cls(number, of, tuple(sorted(each))) for number, each in enumerate(shares)]

    @property
    def part(self) -> tuple[Sequence[int], int]:
        """As `latpcap.read` takes it."""
        return (self.shares, GROUP_SHARES) if self.shares else ((self.number,), self.of)

    def holds(self, group: str) -> bool:
        """The group of a dataset is of this part, on any machine."""
        numbers, of = self.part
        return share_of(group, of) in numbers


def share_of(group: str, of: int) -> int:
    """Which of so many shares of all has a group of a dataset, which is known by its name."""
    return crc32(group.encode("utf-8", "surrogateescape")) % of


class ScanOptions(Struct, frozen=True):
    """The options of every part."""

    rtt_ms: tuple[float, ...] = RTTS_MS
    think_s: float = 1.0
    rtt_baseline_ms: float | None = None
    rtt_is: RttIs = "ping"
    show_literals: bool = False
    decode_as: tuple[tuple[int, str], ...] = ()
    """Ports and their protocols."""
    keylog: tuple[str, ...] = ()
    """Files, where the part is computed."""
    memory: int = DEFAULT_MEMORY_BYTES
    disk: int = DEFAULT_DISK_BYTES
    temp_folder: str | None = None
    threads: int | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """Return the options of `read`."""
        options = {name: getattr(self, name) for name in self.__struct_fields__ if name != "rtt_ms"}
        return {**options, "decode_as": dict(self.decode_as), "keylog": [*self.keylog] or None}


class Partial(Struct, frozen=True):
    """The result of one part: it can be sent anywhere."""

    version: str
    """The version that found it."""
    partition: Partition
    asked: ScanOptions
    captures: bytes
    """The files that were read: the same for every part."""
    notes: bytes
    """Notes made while it read."""
    cases: bytes
    """Notes that add up."""
    groups: bytes
    statements: bytes


class Scan(Struct, frozen=True):
    """The result of all parts."""

    captures: Table
    health: Table
    """Notes made while all of it was read, of files and of connections, by severity."""
    groups: Table
    """One row a client group, by server and client."""
    statements: Table
    """One row a statement, those first that waited longest for the network."""
    total: dict[str, int]
    """Sums over the groups."""

    def json(self) -> str:
        """All of it as one JSON object, the same for any partition."""
        from latpcap.report.jsonout import dump

        tables = {name: _lines(getattr(self, name)) for name in TABLES}
        return dump({"schema": "latpcap.scan/1", "total": self.total, **tables})


def part(
    files: Sequence[str], partition: Partition | None = None, asked: ScanOptions | None = None, *, progress: Any = None
) -> Partial:
    """Read one part of `files` (of all of it) as one recording, and analyse its client groups.

    `files` may be a dataset, of which no more is loaded. A `latpcap.Progress` can be cancelled from another thread.
    """
    partition, asked = partition or Partition(), asked or ScanOptions()
    of = None if _is_saved(files) else partition.part
    found = read([*files], part=of, progress=progress, **asked.reading).recording
    recording = _of_part(found, files, partition)
    groups: list[dict[str, Any]] = []
    statements: list[dict[str, Any]] = []
    for name, measures in _measures(recording, asked).of_each(client_groups_of(recording)):
        client, server = hosts_of(name or "")
        groups.append({"client": client, "server": server, **_facts(measures, asked.rtt_ms)})
        statements.extend(_statements(measures))
    return Partial(
        __version__,
        partition,
        asked,
        sent(recording.captures_table),
        sent(found.without_rows.notes_table),
        sent(_cases(found, files, partition)),
        sent(table_of(groups, _group_columns(asked.rtt_ms))),
        sent(table_of(_summed(statements), STATEMENT_COLUMNS)),
    )


def _of_part(read: Recording, files: Sequence[str], partition: Partition) -> Recording:
    """The client groups of the part, of what was read: these alone, or all of a dataset."""
    if partition.of == 1 or not _is_saved(files):
        return read
    known = read.without_rows
    names = client_groups_of(known)
    streams = known.connection_column("stream").values.astype(np.int64)
    return only(read, streams[np.array([partition.holds(name) for name in names], bool)])


def _is_saved(files: Sequence[str]) -> bool:
    """They are a dataset: all parts of a scan read the same tables."""
    return any(is_dataset(path) for path in files)


def _cases(read: Recording, files: Sequence[str], partition: Partition) -> ArrowTable:
    """Return notes that add up; of a dataset the first part tells them, as all have read the same."""
    cases = ArrowTable.from_arrow(read.without_rows.core.cases())
    return columns.rows_of(cases, np.empty(0, np.int64)) if partition.number > 0 and _is_saved(files) else cases


def reduce(partials: Iterable[Partial]) -> Scan:
    """Put together what all parts of one scan have found; raises `UsageError` where they are not all parts of one."""
    parts = sorted(partials, key=lambda each: each.partition.number)
    _check(parts)
    groups = sorted(rows_in(each.groups for each in parts), key=lambda row: (row["server"], row["client"]))
    statements = _summed(rows_in(each.statements for each in parts))
    return Scan(
        Table(received(parts[0].captures), "files", "latpcap.captures/1"),
        health_table(by_severity(_noted(parts))),
        Table(table_of(groups, _group_columns(parts[0].asked.rtt_ms)), "client groups"),
        Table(table_of(statements, STATEMENT_COLUMNS), "statements"),
        {"client_groups": len(groups)} | {name: sum(row[name] for row in groups) for name in COUNTS},
    )


def _noted(parts: Sequence[Partial]) -> list[HealthNote]:
    notes, cases = ([received(getattr(each, name)) for each in parts] for name in ("notes", "cases"))
    several = [*notes, notes[0].slice(0, 0)]  # of one part, too, what cases count comes last
    return notes_in(ArrowTable.from_arrow(_core.Recording.of({"notes": several, "cases": cases}, [], []).notes()))


def check_workers(versions: Iterable[str], captures: Iterable[object]) -> None:
    """Refuse workers of different versions, and such that have read different files; `captures` says what each read."""
    several = sorted({*versions})
    if len(several) > 1:
        raise UsageError(f"workers have different versions of latpcap ({', '.join(several)}): install the same on all")
    if len({*captures}) > 1:
        raise UsageError(
            "workers have read different files under the same names, or their memory was full at different packets: "
            "all must see the same files, and --memory hold a part of them"
        )


def _check(parts: Sequence[Partial]) -> None:
    if not parts:
        raise UsageError("there is no part to put together")
    check_workers((each.version for each in parts), (each.captures for each in parts))
    if len({each.asked for each in parts}) > 1:
        raise UsageError("parts were asked for different things: they are not of one scan")
    of, shares = parts[0].partition.of, sorted(share for each in parts for share in each.partition.shares)
    if [(each.partition.number, each.partition.of) for each in parts] != [(number, of) for number in range(of)]:
        raise UsageError(f"{len(parts)} parts are there, and not each of the {of} once")
    if shares and shares != [*range(GROUP_SHARES)]:
        raise UsageError("parts were divided differently: they are not of one scan")


# --- client groups ----------------------------------------------------------------------------------------------------

COUNTS = ("connections", "exchanges", "round_trips", "request_bytes", "response_bytes", "errors")
BUDGET = ("network", "service", "transfer", "stall", "client", "think", "setup", "loss", "unknown")


def _group_columns(rtt_ms: Sequence[float]) -> dict[str, DataType]:
    return {
        **dict.fromkeys(("client", "server", "protocol"), _TEXT),
        **dict.fromkeys(COUNTS, _COUNT),
        **dict.fromkeys(("start", "end"), TIME),
        **dict.fromkeys(("runtime_ns", *(f"{name}_ns" for name in BUDGET), "baseline_rtt_ns", "ns_per_ms"), _NS),
        **{f"{name}_{rtt:g}ms_ns": _NS for rtt in rtt_ms for name in ("runtime", "optimistic", "pessimistic")},
        **dict.fromkeys(("findings", "health"), _TEXT),
    }


def _measures(recording: Recording, asked: ScanOptions) -> Measures:
    return Measures(
        recording,
        think_s=asked.think_s,
        rtt_baseline_ms=asked.rtt_baseline_ms,
        decode_as=dict(asked.decode_as),
        rtt_is=asked.rtt_is,
    )


def _facts(measures: Measures, rtt_ms: Sequence[float]) -> dict[str, Any]:
    """Return the figures of one group."""
    recording, exchanges = measures.recording, measures.recording.exchanges
    budget = measures.budget
    counted = {
        "protocol": " ".join(sorted(set(recording.connections.protocol.texts()))),  # type: ignore[arg-type]
        "connections": len(recording.database_rows),
        "exchanges": len(exchanges),
        "round_trips": int(exchanges.round_trips.sum()),
        "request_bytes": int(exchanges.request_bytes.sum()),
        "response_bytes": int(exchanges.response_bytes.sum()),
        "errors": len(measures.evidence.failures.rows),
        "start": recording.start_ns,
        "end": recording.start_ns + round(recording.runtime_s * 1e9),
        "runtime_ns": _ns(recording.runtime_s),
    }
    parts = {f"{name}_ns": _ns(getattr(budget, f"{name}_s")) for name in BUDGET}
    of_all = {note.code for note in core_notes(recording)}  # what is said of files, and of connections of any group
    health = {note.code for note in measures.health if note.severity != "info"} - of_all
    projection = measures.project(rtt_ms)
    asked = [point.rtt_ms for point in projection.points]
    found = measures.findings(asked)
    points = {
        f"{name}_{point.rtt_ms:g}ms_ns": _ns(getattr(point, f"{name}_s"))
        for point in projection.points
        for name in ("runtime", "optimistic", "pessimistic")
    }
    per_ms = projection.seconds_per_ms
    return {
        **counted,
        **parts,
        "baseline_rtt_ns": _ns(projection.baseline_rtt_ms, 1e6),
        "ns_per_ms": _ns(per_ms),
        **points,
        "findings": " ".join(sorted({each.code for each in found})) or None,
        "health": " ".join(sorted(health)) or None,
    }


def _ns(value: float | None, unit_ns: float = 1e9) -> int | None:
    return None if value is None else round(value * unit_ns)


# --- statements -------------------------------------------------------------------------------------------------------

SUMS = ("executions", "exchanges", "round_trips", "rows", "affected_rows", "request_bytes", "response_bytes")
WAITED = ("network_ns", "service_ns", "loss_ns")
STATEMENT_COLUMNS = {
    **dict.fromkeys(("protocol", "fingerprint", "command"), _TEXT),
    **dict.fromkeys(SUMS, _COUNT),
    **dict.fromkeys(WAITED, _NS),
    **dict.fromkeys(("first_seen", "last_seen"), TIME),
}


def _statements(measures: Measures) -> Iterator[dict[str, Any]]:
    """Yield the costs of one group's statements; requests without a statement by their command."""
    recording = measures.recording
    statements = group(recording, measures.timeline)
    counts = {name: getattr(statements, name) for name in SUMS}
    for row in range(len(statements)):
        fingerprint = statements.fingerprint[row]
        seen = [None if at == MISSING else int(at) + recording.start_ns for at in _seen(statements, row)]
        yield {
            "protocol": statements.protocol[row],
            "fingerprint": fingerprint,
            "command": statements.text[row] if fingerprint is None else None,
            **{name: None if counts[name][row] is None else int(counts[name][row]) for name in SUMS},
            "network_ns": _ns(float(statements.network_s[row])),
            "service_ns": _ns(float(statements.service_s[row])),
            "loss_ns": _ns(float(statements.loss_s[row])),
            "first_seen": seen[0],
            "last_seen": seen[1],
        }


def _seen(statements: Any, row: int) -> tuple[int, int]:
    return int(statements.first_seen[row]), int(statements.last_seen[row])


def _summed(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for each statement, the one first that waited longest for the network."""
    sums: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row["protocol"], row["fingerprint"] or "", row["command"] or "")
        known = sums.get(key)
        sums[key] = dict(row) if known is None else _added(known, row)
    return [sums[key] for key in sorted(sums, key=lambda key: (-sums[key]["network_ns"], key))]


def _added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    both = {name: _both(sum, one[name], other[name]) for name in (*SUMS, *WAITED)}
    first, last = (_both(which, one[name], other[name]) for name, which in (("first_seen", min), ("last_seen", max)))
    return {**one, **both, "first_seen": first, "last_seen": last}


def _both(join: Any, one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return join(known) if known else None


def _lines(table: Table) -> list[dict[str, Any]]:
    """The rows as a line of JSON Lines has them."""
    return [json.loads(line) for part in table.encode("jsonl") for line in part.splitlines()]
