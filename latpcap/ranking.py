"""`rank()`: many captures, each read by itself, in the order of what another RTT adds to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from latpcap.capture import Capture
from latpcap.errors import CaptureError, NoDatabaseTraffic
from latpcap.reading import read
from latpcap.result.rank import RankRow, failed_by, rank_rows, rank_table
from latpcap.result.rank_order import DEFAULT_RTT_MS, RankOrder
from latpcap.tables.columnar.table import Table
from latpcap.tables.privacy.pseudonyms import Pseudonyms, without_paths
from latpcap.tables.reading import sources
from latpcap.tables.reading.keys import key_log


def rank(
    source: Any,
    by: str | None = None,
    *,
    sort: str = "added",
    rtt_ms: float = DEFAULT_RTT_MS,
    idle_s: float = 1.0,
    select: Mapping[str, Any] | None = None,
    **reading: Any,
) -> Table:
    """Return one row a file, the one first to which the RTT `rtt_ms` adds most seconds.

    `source` is a path, a glob or a directory, or a list of these; unlike for `read`, every file is a recording of its
    own. `by` ranks what is within the files instead: `server`, `application`, `route`, `client`, `user`, `database`,
    `task` (between rests of `idle_s` seconds) or `connection`. `sort` is `added`, `share`, `seconds` (both of a
    further millisecond) or `round-trips`; `select` is what `Capture.select` takes, and `reading` what `read` takes.
    What cannot be ranked comes last, with the `reason`.
    """
    ranking = Ranking(RankOrder(by, sort, rtt_ms, idle_s), select, **reading)
    for path in sources.files(source):
        ranking.add(path)
    return ranking.table()


class Ranking:
    """Rows of the files that were read so far; of the files themselves nothing is kept."""

    def __init__(
        self,
        asked: RankOrder,
        selected: Mapping[str, Any] | None = None,
        *,
        pseudonymise: bool | Pseudonyms = False,
        keylog: Any = None,
        **reading: Any,
    ) -> None:
        """Take what `Capture.select` and `read` take for each file; names get the same pseudonyms in all."""
        self._asked = asked
        self._selected = dict(selected or {})
        self._names = Pseudonyms() if pseudonymise is True else pseudonymise or None
        self._keys = key_log(keylog, show_names=self._names is None)
        self._reading = reading
        self._rows: list[RankRow] = []
        self.files = 0
        self.failures: list[int] = []
        """For each file that has no row of figures, the exit status that says why: an error would keep the rest."""

    def add(self, path: str, progress: Any = None) -> None:
        """Read a file and rank it; one that cannot be read gets a row that says why."""
        try:
            rows = list(self._read(path, progress))
        except (CaptureError, NoDatabaseTraffic) as error:  # the latter of a selection
            self.failures.append(error.exit_status)
            rows = [RankRow(self._called(path), reason=self._without_path(str(error), path))]
        self.files += 1
        self._rows += rows

    def table(self) -> Table:
        """Rank what was read so far."""
        return rank_table(self._rows, self._asked)

    def _read(self, path: str, progress: Any) -> Iterator[RankRow]:
        names = self._names or False
        capture = read(path, pseudonymise=names, keylog=self._keys, progress=progress, **self._reading).select(
            **self._selected
        )
        try:
            yield from rank_rows(capture.measures, self._called(path), self._asked)
        except NoDatabaseTraffic as error:
            self.failures.append(error.exit_status)
            yield from self._failed(capture, path, self._without_path(str(error), path))

    def _failed(self, capture: Capture, path: str, reason: str) -> Iterator[RankRow]:
        """Yield how often servers let nobody in."""
        ports = {f"{port}": protocol for port, protocol in (self._reading.get("decode_as") or {}).items()}
        failed = failed_by(capture.recording, ports, self._asked.by)
        for name, count in failed.items() or [(None, None)]:
            yield RankRow(self._called(path), name, errors=count, reason=reason)

    def _called(self, path: str) -> str:
        return self._names.capture(path) if self._names else sources.shown(path)

    def _without_path(self, message: str, path: str) -> str:
        """The reason alone: the row names the file."""
        told = without_paths(message, [path], self._names) if self._names else sources.shown(message)
        return told.removeprefix(f"{self._called(path)}: ")
