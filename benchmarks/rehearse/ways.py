"""The lab as a way to the database: its namespaces and its link, TCP end to end from the client to the server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab

from latpcap.live.capturing.capturer import Capturer
from latpcap.live.link import network_paths
from latpcap.live.link.network_paths import CommandRun, Relayed
from latpcap.live.relay import Route
from latpcap.live.server import Server
from latpcap.projection.assumptions import Conditions
from latpcap.result.pairs.rehearsal import CongestionControls

SERVERS = [f"{lab.DEBIANS}:3306", f"{lab.DEBIANS}:5432"]


class Lab:
    """What a rehearsal is measured by: nothing stands between the two ends but the link."""

    kind = "link"
    goes_on = False
    host = lab.DEBIANS
    """Where the jobs find the servers."""
    seed = None
    """The lab's link goes on with its random numbers from run to run."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions

    def run(self, command: Sequence[str], into: Path, servers: Sequence[str], link_ms: float | None) -> CommandRun:
        if link_ms is None:
            lab.set_link()
        else:
            asked = self._conditions  # the lab's jitter is that of each way
            lab.set_link(link_ms, 100 * (asked.loss or 0), asked.jitter_ms / 2, asked.bandwidth_bps or 0)
        with lab.capturing(lab.CLIENT, into, "tcp"):
            status = subprocess.run(lab.inside(lab.CLIENT[0], [*lab.REALTIME, *command])).returncode
        crossed = lab.control("")["dirs"][0]["rx"]
        lab.set_link()
        return CommandRun(status, crossed, CongestionControls("cubic", "cubic"))


class Relay(Relayed):
    """The relay listens where the jobs run, and forwards to the lab's servers over its link, which delays nothing."""

    host = "127.0.0.1"

    def __init__(self, conditions: Conditions) -> None:
        lab.set_link()
        super().__init__([Route(self.host, port, Server(lab.DEBIANS, port)) for port in (3306, 5432)], conditions)


class Link(network_paths.Link):
    """The network of a rehearsal, in which the lab's servers are farther away; its congestion control is the lab's."""

    host = lab.DEBIANS

    def __init__(self, conditions: Conditions) -> None:
        lab.set_link()
        super().__init__(self.today, conditions, "cubic")

    @staticmethod
    def today(path: Path) -> Capturer:
        return Capturer(path, capture_filter="tcp", where="the lab", interfaces=[lab.CLIENT[1]])


Reached = Lab | Relay | Link
WAYS: dict[str, type[Reached]] = {"lab": Lab, "link": Link, "relay": Relay}
