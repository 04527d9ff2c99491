"""When a path's RTT changed for good: a fail-over, a VPN, a congestion that stayed (docs/baseline.md).

```text
RTT                      ────────────            what was measured directly (handshakes, ACKs) splits a path by itself;
     ───────────┐        responses alone do not: a slower server looks the same. They need a witness, either
                └──────  a direct measurement in the slower period that they confirm, or the senders' clocks
```

Measurements in the order of their time are cut where their level moves most, again and again; then neighbours that are
no further apart than the rule asks are put together again. What is left are periods.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct

from latpcap.rtt.old.choice import AGREEMENT_SHARE, FLOOR_QUANTILE, HOST_NS, UNIFORM_SPREAD, is_no_work
from latpcap.rtt.old.clocks import Clocks, moved_ns
from latpcap.rtt.old.measurements import MAX_NS, MIN_FOR_DENSITY, Measurements, PathHalf
from latpcap.rtt.old.phases import OldPathChanges
from latpcap.rtt.phases import ChangeEvidence
from latpcap.tables.columnar.columns import Bools, Entries, Floats, Ints
from latpcap.tables.columnar.passes import ordered
from latpcap.tables.samples import Readings

_Change = tuple[int, ChangeEvidence]
"""When, and what shows it."""

MIN_LEVEL_RATIO = 1.25
"""The level of an RTT has changed if it moves by this factor, and by `MIN_LEVEL_NS`."""
MIN_LEVEL_NS = 500_000
"""A smaller change of the level is what busy hosts add."""
MIN_PERIOD_SHARE = 0.1
"""A period lasts for at least this share of the time that its path was measured."""
SAME_CHANGE_NS = 1_000_000_000
"""Changes of both halves within a second are one change."""
MAX_EPISODE_SHARE = 0.25
"""A period after which the RTT returns to what it was is an episode if it lasts for less than this share."""
OF_THE_MOVE = (0.25, 1.15)
"""The part of one direction in a change of the RTT: half of it where both changed alike, all or nothing else."""
MAX_SAMPLES = 20_000
"""Measurements of a path among which changes are sought."""
MIN_EXPLAINED_VARIANCE = 0.1
"""A cut is tried if it explains at least this share of an interval's variance."""
MAX_CUTS = 32
"""Cuts tried for a path."""


class _Series(Entries, frozen=True):
    """The measurements of one path, in the order of time."""

    time: Ints
    ns: Ints
    statement: Ints
    """The statements of responses."""

    def between(self, begin: int, end: int) -> _Series:
        """The measurements from one time to another."""
        return self.part(*np.searchsorted(self.time, (begin, end)))

    def part(self, begin: int, end: int, step: int = 1) -> _Series:
        return self.picked(slice(begin, end, step))

    def thinned(self) -> _Series:
        """Evenly fewer of very many: the level of a period shows all the same."""
        return self.part(0, len(self), -(-len(self) // MAX_SAMPLES) or 1)

    def __len__(self) -> int:
        return len(self.ns)


class _Measured:
    """Measurements by path and time: sorted once, whatever the number of paths."""

    def __init__(self, values: Measurements, path: Ints, count: int, statement: Ints | None = None) -> None:
        self._values, self._path, self._count = values, path, count
        self._all = _Series(values.time, values.ns, values.connection if statement is None else statement)

    def may_change(self) -> Bools:
        """OldPaths of which `MIN_FOR_DENSITY` measurements are short and as many long: the others cost no more."""
        grouped = self._values.grouped(self._path, self._count)
        enough = grouped.counts >= 2 * MIN_FOR_DENSITY
        result = np.zeros(self._count, bool)
        first, end = grouped.starts[:-1][enough], grouped.starts[1:][enough]
        result[enough] = _is_apart(grouped.values[first + MIN_FOR_DENSITY - 1], grouped.values[end - MIN_FOR_DENSITY])
        return result

    @cached_property
    def _sorted(self) -> tuple[Ints, Ints]:
        path = self._path[self._values.connection]
        order = ordered(path, self._values.time)
        return order, np.searchsorted(path[order], np.arange(self._count + 1))

    def of(self, path: int) -> _Series:
        """The measurements of one path."""
        order, starts = self._sorted
        return self._all.picked(order[starts[path] : starts[path + 1]])


def find(
    readings: Readings, path: Ints, count: int, halves: tuple[PathHalf, PathHalf], relevant: tuple[Bools, Bools]
) -> tuple[OldPathChanges, Floats]:
    """The changes of each of `count` paths, and by how much it may have changed where nothing tells (ns, else 0).

    `path` is the path of each connection; `relevant` are the paths of which the far half, and the near one, may be
    network.
    """
    found: dict[int, list[_Change]] = {}
    doubted = np.zeros(count)
    clocks = Clocks(readings, path, count)
    for half, counts in zip(halves, relevant, strict=True):
        if not counts.any():
            continue
        direct = _Measured(half.handshakes + half.acks, path, count)
        bounds = _Measured(half.bounds, path, count, half.statement)
        split = np.zeros(count, bool)
        for number in np.flatnonzero(direct.may_change() & counts).tolist():
            times = _changes(direct.of(number), bounds.of(number))
            split[number] = len(times) > 0
            found.setdefault(number, []).extend((time, ChangeEvidence.MEASURED) for time in times)
        for number in np.flatnonzero(bounds.may_change() & counts & ~split).tolist():
            responses = bounds.of(number)
            times = _changes(responses, responses)
            witness = _Witness(direct.of(number), clocks.of(number)) if times else None
            confirmed, move = witness.confirmed(times, responses) if witness else ([], 0.0)
            found.setdefault(number, []).extend(confirmed)
            doubted[number] = max(doubted[number], move)
    rows = [(number, *change) for number in sorted(found) for change in _once(found[number])]
    numbers, moments, shown = (np.array([row[part] for row in rows], np.int64) for part in range(3))
    return OldPathChanges(numbers, moments, shown, count), doubted


def _once(changes: list[_Change]) -> Iterator[_Change]:
    """Both halves show one change at about the same time."""
    last = None
    for time, shown in sorted(changes):
        if last is None or time - last >= SAME_CHANGE_NS:
            yield time, shown
            last = time


def _is_apart(low: Any, high: Any) -> Any:
    """For numbers and for arrays of them."""
    return high >= MIN_LEVEL_RATIO * low + MIN_LEVEL_NS


# --- periods ----------------------------------------------------------------------------------------------------------


def _changes(series: _Series, responses: _Series) -> list[int]:
    """When the level of `series` changed; `responses`, as they are many, say when exactly."""
    thinned = series.thinned()
    edges = _put_together(thinned, _cuts(thinned))
    inner = list(zip(edges, edges[1:], edges[2:], strict=False))
    return [_moment(thinned, responses, *triple) for triple in inner]


def _cuts(series: _Series) -> list[int]:
    """Places where the level of the measurements moves, and probably where it does not: the ends of both included."""
    level = np.log(np.maximum(_without_outliers(series.ns), 1))
    edges, open_parts = {0, len(level)}, [(0, len(level))]
    while open_parts and len(edges) < MAX_CUTS:
        begin, end = open_parts.pop()
        if end - begin < 2 * MIN_FOR_DENSITY:
            continue
        total = np.cumsum(level[begin:end])
        before = np.arange(MIN_FOR_DENSITY, end - begin - MIN_FOR_DENSITY + 1)
        after = end - begin - before
        means = total[before - 1] / before, (total[-1] - total[before - 1]) / after
        gain = before * after / (end - begin) * (means[1] - means[0]) ** 2
        best = int(np.argmax(gain))
        if gain[best] < MIN_EXPLAINED_VARIANCE * (end - begin) * np.var(level[begin:end]) or gain[best] <= 0:
            continue
        cut = begin + int(before[best])
        edges.add(cut)
        open_parts += [(begin, cut), (cut, end)]
    return sorted(edges)


def _without_outliers(ns: Ints) -> Floats:
    """The median of each measurement and the two on either side."""
    padded = np.concatenate((ns[:1], ns[:1], ns, ns[-1:], ns[-1:]))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 5)
    medians: Floats = np.partition(windows, 2, axis=1)[:, 2].astype(float)
    return medians


def _put_together(series: _Series, edges: list[int]) -> list[int]:
    """Leave out the cuts that the rule does not bear, the least of them first."""
    lasting = MIN_PERIOD_SHARE * float(series.time[-1] - series.time[0])
    while len(edges) > 2:
        worst = _worst(series, edges, lasting)
        if worst is None:
            break
        edges = [edge for edge in edges if edge not in worst]
    return edges


def _worst(series: _Series, edges: list[int], lasting: float) -> tuple[int, ...] | None:
    """The cuts to leave out first: those round a part that is too short, those between parts that are alike."""
    parts = [series.part(begin, end) for begin, end in pairwise(edges)]
    levels = [float(np.median(part.ns)) for part in parts]
    for index in sorted(range(len(parts)), key=lambda index: _lasts(parts[index])):
        if len(parts[index]) < MIN_FOR_DENSITY or _lasts(parts[index]) < lasting:
            return (_nearer(edges, levels, index),)
    alike = [
        (_ratio(levels[index], levels[index + 1]), edges[index + 1])
        for index in range(len(parts) - 1)
        if not _differ(parts[index], parts[index + 1])
    ]
    if alike:
        return (min(alike)[1],)
    for index in range(1, len(parts) - 1):
        returns = not _differ(parts[index - 1], parts[index + 1])
        if returns and _lasts(parts[index]) < MAX_EPISODE_SHARE * float(series.time[-1] - series.time[0]):
            return edges[index], edges[index + 1]
    return None


def _lasts(part: _Series) -> int:
    return int(part.time[-1] - part.time[0])


def _nearer(edges: list[int], levels: list[float], index: int) -> int:
    """The edge of a part towards the neighbour whose level is nearer."""
    sides = [side for side in (index - 1, index + 1) if 0 <= side < len(levels)]
    nearest = min(sides, key=lambda side: _ratio(levels[side], levels[index]))
    return edges[max(nearest, index)]


def _ratio(one: float, other: float) -> float:
    return max(one, other) / max(min(one, other), 1.0)


def _differ(one: _Series, other: _Series) -> bool:
    """The levels are apart, and nine of ten of the one beyond three of four of the other."""
    low, high = sorted((one.ns, other.ns), key=lambda ns: float(np.median(ns)))
    beyond = np.quantile(high, 0.1) > np.quantile(low, 0.75)
    return bool(beyond and _is_apart(np.median(low), np.median(high)))


def _moment(series: _Series, responses: _Series, begin: int, cut: int, end: int) -> int:
    """When the change was: between the last measurement before it and the first after it the responses decide."""
    before, after = (float(np.median(series.ns[part])) for part in (slice(begin, cut), slice(cut, end)))
    first, last = np.searchsorted(responses.time, (series.time[cut - 1], series.time[cut]), side="right")
    new = (responses.ns[first:last] > np.sqrt(before * after)) == (after > before)
    wrong = np.concatenate(([0], np.cumsum(new))) + np.concatenate((np.cumsum(~new[::-1])[::-1], [0]))
    moment = first + int(np.argmin(wrong))
    return int(responses.time[moment]) if moment < last else int(series.time[cut])


# --- witnesses of responses -------------------------------------------------------------------------------------------


class _Witness(Struct, frozen=True):
    """The evidence that tells a longer path from a slower server.

    No answer is faster than the path. So where a direct measurement that its own responses confirm is longer than those
    of another period, the path was longer. And where the data of a side came later by their sender's own clock, their
    way was.
    """

    direct: _Series
    clocks: Readings

    def confirmed(self, times: list[int], responses: _Series) -> tuple[list[_Change], float]:
        """The changes of the responses that were the path's, and the largest (ns) of those that may have been.

        A server's work is hardly ever as even as a path: responses that are alike on either side may be of either.
        """
        edges = [-MAX_NS, *times, MAX_NS]
        kept: list[_Change] = []
        doubted = 0.0
        for index, time in enumerate(times):
            before, after = (responses.between(*edges[part : part + 2]) for part in (index, index + 1))
            measured = [self.direct.between(*edges[part : part + 2]).ns for part in (index, index + 1)]
            rises = np.median(after.ns) > np.median(before.ns)
            slow, fast, shown = (after, before, measured[1]) if rises else (before, after, measured[0])
            if _shows(shown, slow.ns, fast.ns):
                kept.append((time, ChangeEvidence.ANSWERS))
            elif self._moved(edges[index : index + 3], before.ns, after.ns):
                kept.append((time, ChangeEvidence.CLOCKS))
            elif is_no_work(slow.ns, slow.statement, float(np.quantile(fast.ns, FLOOR_QUANTILE))):
                kept.append((time, ChangeEvidence.STATEMENTS))
            elif _is_even(slow.ns) and _is_even(fast.ns) and not self._is_of_a_far_host(slow.ns):
                doubted = max(doubted, float(np.median(slow.ns) - np.median(fast.ns)))
        return kept, doubted

    def _is_of_a_far_host(self, slow: Ints) -> bool:
        """A connection was measured to be as far: hosts near and far may share an address."""
        level = float(np.median(slow))
        return bool((np.abs(self.direct.ns - level) <= AGREEMENT_SHARE * level).any())

    def _moved(self, edges: list[int], before: Ints, after: Ints) -> bool:
        """The way of either side's data became longer by its part of what the responses did."""
        move = float(np.quantile(after, 0.05) - np.quantile(before, 0.05))
        least, most = OF_THE_MOVE
        ways = (moved for moved in moved_ns(self.clocks, *edges) if abs(moved) > MIN_LEVEL_NS)
        return any(least <= moved / move <= most for moved in ways)


def _is_even(responses: Ints) -> bool:
    """Three of four are alike."""
    fastest, most = np.quantile(responses, (FLOOR_QUANTILE, 0.75))
    return bool(most - fastest <= max(UNIFORM_SPREAD * fastest, HOST_NS))


def _shows(direct: Ints, slow: Ints, fast: Ints) -> bool:
    """A direct measurement of the slow period, confirmed by its responses, is longer than those of the fast one."""
    if not len(direct):
        return False
    shown, floor = float(np.median(direct)), float(np.quantile(slow, 0.05))
    confirmed = shown <= MIN_LEVEL_RATIO * floor and floor <= MIN_LEVEL_RATIO * shown
    return bool(confirmed and _is_apart(np.quantile(fast, 0.75), shown))
