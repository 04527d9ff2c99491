"""Connections that are opened and closed without a login, as health checks of load balancers and monitors are."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.measures.failed_connections import TcpConnections
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Ints
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording
from latpcap.units import counted, format_s

LATEST = np.iinfo(np.int64).max


class ConnectionChecks(Struct, frozen=True):
    """The connections without a login, rows of the table of all connections in their order."""

    rows: Ints
    by_server: Bools
    """The server closed it: nobody logged in for as long as it allows."""
    lasted_ns: Ints
    first_frame: int

    @property
    def text(self) -> str:
        """How many there are, and who closed them."""
        by_server = int(np.count_nonzero(self.by_server))
        ways = [f"{len(self.rows) - by_server:,} by the client"] if by_server < len(self.rows) else []
        if by_server:
            lasted = format_s(float(self.lasted_ns[self.by_server].max()) / 1e9)
            ways.append(f"{by_server:,} by the server after up to {lasted}")
        were = "was" if len(self.rows) == 1 else "were"
        return (
            f"{counted(len(self.rows), 'connection')} {were} opened and closed without a login ({', '.join(ways)}), "
            f"like health checks of load balancers and monitors (first: frame {self.first_frame})"
        )


def connection_checks(recording: Recording) -> ConnectionChecks | None:
    """Look for them; `None` where there are none."""
    asks_nothing = _asks_nothing(recording)
    if len(asks_nothing) == len(recording.all_connections_table) and not asks_nothing.any():
        return None
    of = TcpConnections(recording, {})
    silent = (of.protocol.codes >= 0) & ~of.is_database & ~of.has("data_end")
    silent &= recording.selected is None and recording.period is None
    silent[recording.database_rows] = asks_nothing
    client, server = (
        np.minimum(_known(of.time(f"{side}_fin_time")), _known(of.time(f"{side}_reset_time")))
        for side in ("client", "server")
    )
    by_server = of.has("server_fin_time") & (server < client)
    rows = np.flatnonzero(silent & of.has("ack_time") & (by_server | (client < LATEST) & (client <= server)))
    if len(rows) == 0:
        return None
    lasted = np.minimum(client, server)[rows] - of.time("ack_time")[rows]
    frames = columns.column(of.table, "first_frame").ints(0)
    return ConnectionChecks(rows, by_server[rows], lasted, int(frames[rows[0]]))


def _asks_nothing(recording: Recording) -> Bools:
    """The database connections on which the server has greeted, and nothing else was said or lost."""
    exchanges = recording.exchanges
    asked = np.zeros(len(recording.connections), bool)
    asked[exchanges.connection[(exchanges.request != MISSING) | exchanges.failed]] = True
    client_data = recording.connection_column("client_data_packets").values > 0
    lost = recording.connection_column("lost_bytes").values > 0
    return np.asarray(recording.connections.server_first & ~asked & ~client_data & ~lost, bool)


def _known(times: Ints) -> Ints:
    """The times, with the latest in the place of those that are missing."""
    known: Ints = np.where(times == MISSING, LATEST, times)
    return known
