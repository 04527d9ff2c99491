"""The figures that gates compare: each by its place in an analysis, which is its place in the saved JSON, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, ValidationError, convert

from latpcap.display import plain
from latpcap.errors import UsageError
from latpcap.findings.registry import NO_FINDINGS, PATTERNS
from latpcap.findings.unjudged import Unjudged
from latpcap.tables.columnar.values import Rows, column_of
from latpcap.units import (
    MissingUnit,
    format_ms,
    format_ratio,
    format_s,
    parse_duration_ms,
    parse_ms,
    percent,
    significant,
)

if TYPE_CHECKING:
    from latpcap.projection.assumptions import Conditions
    from latpcap.result.analysis import Analysis, Measures

MAX_AMOUNT = 1e15
"""Counted values stay below this, and products of such values are still numbers."""
PART_OF_TIME = "no segment with data was captured, or only a part of the time is selected"
NO_RTT = "the RTT of this capture is unknown, give it with --rtt-baseline"


def count(value: float) -> str:
    """Return a number of things; a limit need not be whole.

    >>> count(1234), count(4.4)
    ('1,234', '4.4')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def amount(text: str) -> float:
    """Read a number, with separators or as a percentage; `ValueError` for anything else.

    >>> amount("1,000"), amount("2.5%")
    (1000.0, 0.025)
    """
    digits = text.removesuffix("%").replace(",", "").replace("_", "")
    if not (text[:1].isdigit() and text.isascii() and digits.replace(".", "", 1).isdigit() and digits[-1] != "."):
        raise ValueError(text)
    number = float(digits)
    if number > MAX_AMOUNT:
        raise ValueError(text)
    return number / 100 if text.endswith("%") else number


class ImpossibleAmount(UsageError):
    """An amount that its figure never reaches."""


def read_share(text: str, largest: float = 1.0) -> float:
    """Read a part of a whole; a bare number from 1 on may be meant in percent: `MissingUnit`.

    >>> read_share("0.05"), read_share("100%"), read_rise("150%")
    (0.05, 1.0, 1.5)
    """
    number = amount(text)
    meanings = [number] if number < 1 or text.endswith("%") else [number / 100, number]
    possible = [f"{100 * meaning:.15g}%" for meaning in meanings if meaning <= largest]
    if not possible:
        raise ImpossibleAmount(f"no share is above {largest:.0%}")
    if len(meanings) > 1:
        raise MissingUnit(f"`{text}` has no unit: write {' or '.join(possible)}")
    return number


def read_rise(text: str) -> float:
    """Read what is added as a part of a whole, and may be more than it."""
    return read_share(text, MAX_AMOUNT)


def _seconds(text: str) -> float:
    return parse_duration_ms(text) / 1000


class Figure(Struct, frozen=True):
    """How a figure is read and written, and where it stands."""

    where: str
    """The keys that lead to it; of a list, the sum over its rows."""
    write: Callable[[float], str] = count
    read: Callable[[str], float] = amount
    unit: str | None = None
    unknown: str = NO_RTT
    """Why it may be unknown."""
    failed: str | None = None
    """The kind of failure that its error codes are of; empty for all."""


FIGURES = {
    "round_trips": Figure("summary.round_trips"),
    "exchanges": Figure("summary.exchanges"),
    "connections": Figure("summary.connections"),
    "statements": Figure("statements.executions"),
    "errors": Figure("errors.failures", failed=""),
    "failed_share": Figure("errors.failed_share", percent, read_share, failed="statement"),
    "failed_logins": Figure("errors.failed_logins", failed="login"),
    "failed_connections": Figure("errors.failed_connections", failed="connection"),
    "lost_share": Figure("segments.lost_share", percent, read_share, unknown=PART_OF_TIME),
    "spurious_share": Figure("segments.spurious_share", percent, read_share, unknown=PART_OF_TIME),
    "network_share": Figure("summary.network_share", percent, read_share),
    "seconds_per_ms": Figure("summary.seconds_per_ms", significant),
    "round_trips_per_s": Figure("chattiness.round_trips_per_s", format_ratio, unknown="it took no time"),
    "round_trips_per_transaction": Figure(
        "chattiness.round_trips_per_transaction", format_ratio, unknown="no transaction was seen"
    ),
    "round_trips_per_row": Figure(
        "chattiness.round_trips_per_row", format_ratio, unknown="no row came back, or none that could be read"
    ),
    "runtime": Figure("summary.runtime_s", format_s, _seconds, "s"),
    "baseline_rtt": Figure("summary.baseline_rtt_ms", format_ms, parse_ms, "ms"),
}
PROJECTED = Figure("projection.points", format_s, _seconds, "s")
CODES = (*(pattern.code for pattern in PATTERNS), *NO_FINDINGS)


class FindingFigures(Struct, frozen=True):
    """A finding, as far as gates know it."""

    code: str
    title: str
    fix_name: str
    severity: str
    round_trips_saved: int
    fingerprint: str | None

    @property
    def key(self) -> tuple[str, str | None]:
        """Return what is the same in a later run: the pattern, and its statement."""
        return self.code, self.fingerprint

    @property
    def saves(self) -> bool:
        """Whether something is wrong that a fix would put right."""
        return bool(self.fix_name) and self.severity != "info"


class Measured(Struct, frozen=True):
    """Figures measured in a capture, or read from a file."""

    result: Analysis | Mapping[str, Any]
    projected: Callable[[float], float | None]
    """The runtime in seconds at an RTT in ms."""
    name: str = ""
    """The file's name."""
    conditions: Mapping[str, Any] = {}
    """Other differences at the RTTs of `projected`."""

    def value(self, figure: Figure) -> float | None:
        """The figure; `None` where it is unknown; of nothing, nothing failed. A file may not have it: `UsageError`."""
        value = at(self.result, figure.where, self.name)
        return 0.0 if value is None and figure.failed is not None else value

    @property
    def findings(self) -> list[FindingFigures]:
        """The findings, sorted by severity and cost."""
        try:
            return [convert(each, FindingFigures, from_attributes=True) for each in _part(self.result, "findings")]
        except (KeyError, TypeError, AttributeError, ValidationError):
            raise UsageError(f"{self.name}: the baseline has no `findings`") from None

    @property
    def unjudged(self) -> Unjudged | None:
        """Return what was captured in part; unknown of a saved result."""
        return None if isinstance(self.result, Mapping) else self.result.unjudged

    def error_codes(self, kind: str) -> str:
        """The codes of what failed."""
        return "" if isinstance(self.result, Mapping) else self.result.errors.codes(kind or None)


def at(source: Any, where: str, name: str) -> float | None:
    """The figure at these keys of an analysis, or of the file `name`."""
    try:
        for key in where.split("."):
            source = _part(source, key)
    except (KeyError, TypeError, AttributeError):
        raise UsageError(f"{name}: the baseline has no `{where}`") from None
    if source is None:
        return None
    try:
        value = math.nan if isinstance(source, bool) or not isinstance(source, int | float) else float(source)
    except OverflowError:
        value = math.inf
    if not abs(value) <= MAX_AMOUNT:  # nor is NaN
        raise UsageError(f"{name}: `{where}` of the baseline is no number")
    return value


def _part(source: Any, key: str) -> Any:
    if isinstance(source, Rows):
        return sum(column_of(source, key))
    if isinstance(source, list | tuple):
        return sum(_part(each, key) for each in source)
    return source[key] if isinstance(source, Mapping) else getattr(source, key)


def of_measures(
    measures: Measures,
    rtts_ms: Sequence[float],
    result: Analysis | None = None,
    conditions: Conditions | None = None,
) -> Measured:
    """Take a capture's figures; `conditions` are other differences at the RTTs that are asked for."""
    projection = measures.project(rtts_ms, None, conditions) if rtts_ms else None
    projected_s = {point.rtt_ms: point.runtime_s for point in projection.points} if projection else {}
    there = plain(projection.conditions) if projection else {}
    return Measured(result or measures.analyze(), lambda rtt_ms: projected_s[rtt_ms], conditions=there)
