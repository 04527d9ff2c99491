#!/usr/bin/env python3
"""Predict every pair by latpcap and by the baselines that it has to beat: `python benchmarks/open/predictors.py FOLDER OUT`.

Writes `OUT/NAME.csv` for each. A baseline is told what the capture shows: its exchanges, bytes and RTT, as latpcap's own tables have them, so
that none is worse for having counted badly; latpcap's model, ranges and transfers are not theirs.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))

from facts import Facts, facts
from manifest import AS_THEY_ARE, Pair, kept, pairs
from score import COLUMNS, Prediction
from table import projected

import latpcap
from latpcap.tables.recording import Recording

WINDOW_BYTES = 65_535
"""What TCP carries a round trip without window scaling: the bandwidth of the rule of thumb is that by the RTT."""


@dataclass(frozen=True)
class Wait:
    """A node of the graph: from a request to the end of its answer, or the TCP handshake. Seconds from the first packet."""

    connection: int
    asked: float
    answered: float
    round_trips: int
    """That the client spends on it: none on what it sends behind another request without waiting."""


@dataclass(frozen=True)
class Shown:
    """One capture, as the baselines see it."""

    runtime_s: float
    rtt_s: float
    wire_bytes: int
    waits: list[Wait]
    """By the time of their request."""

    @classmethod
    def of(cls, shown: Facts) -> Shown:
        exchanges = shown.capture.recording.exchanges
        wire_bytes = int(exchanges.request_wire_bytes.sum() + exchanges.response_wire_bytes.sum())
        found = sorted(waits(shown.capture.recording), key=lambda wait: wait.asked)
        return cls(shown.runtime_s, shown.rtt.baseline / 1e3, wire_bytes, found)

    @cached_property
    def edges(self) -> list[list[tuple[int, float]]]:
        """What each wait begins after: the last answer on its connection, and the last on any; the client's time lies between."""
        last_of: dict[int, int] = {}
        latest, before, ended = -1, [], []
        for number, wait in enumerate(self.waits):
            while ended and ended[0][0] <= wait.asked:
                latest = heappop(ended)[1]
                last_of[self.waits[latest].connection] = latest
            earlier = {latest, last_of.get(wait.connection, -1)} - {-1}
            before.append([(each, wait.asked - self.waits[each].answered) for each in sorted(earlier)])
            heappush(ended, (wait.answered, number))
        return before

    def makespan_s(self, more_s: float) -> float:
        """The least makespan that the precedence allows where the RTT is longer by `more_s`: the optimum of LLAMP's linear programme.

        Minimise T subject to `end[i] >= end[j] + client[i, j] + waited[i] + round_trips[i] * more` for each edge, `T >= end[i]`: the
        constraints of the longest path bind, so that it is summed directly. How fast T grows with the RTT is the number of round trips on it.
        """
        ends: list[float] = []
        for wait, before in zip(self.waits, self.edges, strict=True):
            begin = max((ends[each] + gap for each, gap in before), default=wait.asked)
            ends.append(begin + max(wait.answered - wait.asked + max(wait.round_trips, 1) * more_s, 0.0))
        return max(ends, default=0.0)


def waits(recording: Recording) -> Iterator[Wait]:
    """Handshakes, and exchanges that have an answer; what the server says first follows the handshake, a round trip later."""
    connections, exchanges = recording.connections, recording.exchanges
    first = int(connections.syn.min())

    def seconds(moment: int) -> float:
        return (moment - first) / 1e9

    shaken = connections.ack.tolist()
    for number, (syn, ack) in enumerate(zip(connections.syn.tolist(), shaken, strict=True)):
        yield Wait(number, seconds(syn), seconds(ack), 1)
    columns = (exchanges.connection, exchanges.request, exchanges.response_end, exchanges.round_trips)
    for connection, asked, answered, trips in zip(*(column.tolist() for column in columns), strict=True):
        if answered >= first:
            is_first = asked < first
            begin = shaken[connection] if is_first else asked
            yield Wait(connection, seconds(begin), seconds(answered), 1 if is_first else trips)


def by_round_trips(shown: Shown, target_s: float) -> float:
    trips = sum(wait.round_trips for wait in shown.waits)
    return max(shown.runtime_s + trips * (target_s - shown.rtt_s), 0.0)


def by_bandwidth(shown: Shown, target_s: float) -> float:
    """The same, and each window of bytes takes a round trip more."""
    return max(by_round_trips(shown, target_s) + shown.wire_bytes / WINDOW_BYTES * (target_s - shown.rtt_s), 0.0)


def by_graph(shown: Shown, target_s: float) -> float:
    """As much longer as the programme's makespan grows: what follows the last answer stays."""
    return max(shown.runtime_s + shown.makespan_s(target_s - shown.rtt_s) - shown.makespan_s(0.0), 0.0)


BASELINES: dict[str, Callable[[Shown, float], float]] = {
    "round-trips": by_round_trips,
    "bandwidth": by_bandwidth,
    "linear-programme": by_graph,
}
LATPCAP, CURVE = "latpcap", "latpcap-curve"
"""Without and with the rest curve that was measured on the machine."""
HOSTS = frozenset({"10.77.0.1", "10.77.0.2"})
"""Client and server of the lab, which are one machine."""


def with_curve(capture: latpcap.Capture, rests: list[list[float]]) -> latpcap.Capture:
    """The capture as it would be if it said how much later client and server answer after a rest."""
    from latpcap.tables.host_curve import HostCurve

    recording = Recording(capture.recording.core)
    rests_ms, extra_ms = map(tuple, zip(*rests, strict=True))
    recording.host_curve = HostCurve(rests_ms, extra_ms, HOSTS)
    return latpcap.Capture(recording)


def ways(capture: latpcap.Capture, rests: list[list[float]] | None) -> dict[str, latpcap.Capture]:
    """Return the capture that latpcap projects, by the predictor's name: with and without the rest curve."""
    return {LATPCAP: capture} | ({CURVE: with_curve(capture, rests)} if rests else {})


def predictions(asked: list[Pair]) -> dict[str, list[Prediction]]:
    """By each predictor; a capture is read once."""
    found: dict[str, list[Prediction]] = defaultdict(list)
    for path, group in groupby(asked, key=lambda pair: pair.capture):
        of_one, read = list(group), facts(path)
        shown, given = Shown.of(read), ways(read.capture, of_one[0].rests)
        for pair in of_one:
            for name, predicted in BASELINES.items():
                found[name].append(Prediction(pair.id, predicted(shown, pair.to_ping_ms / 1e3)))
            for name, capture in given.items():
                ours = projected(capture, pair.to_ping_ms, "ping", pair.measured_s)
                found[name].append(Prediction(pair.id, ours.predicted_s, ours.optimistic_s, ours.pessimistic_s))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=kept(AS_THEY_ARE))
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, found in predictions(list(pairs(arguments.folder))).items():
        with (arguments.out / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(each.cells() for each in found)


if __name__ == "__main__":
    main()
