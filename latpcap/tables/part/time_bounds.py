"""A moment of a recording as people write it.

```text
14:05, 14:05:30.5             a time of day, in UTC as everything latpcap shows
2026-11-22T14:05:30Z          a date and a time (UTC, unless it says otherwise: +01:00)
90s, +90s, 5min               since the first packet, as Wireshark's column `Time`
frame:1200                    the packet with this number
```
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import numpy as np
from msgspec import Struct

from latpcap.errors import UsageError
from latpcap.units import parse_ms

DAY_NS = 86_400_000_000_000
CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
OF_DAY = re.compile(rf"{CLOCK}\s?Z?")
DATED = re.compile(rf"(\d{{4}}-\d{{2}}-\d{{2}})(?:[T ]{CLOCK}\s?(Z|[+-]\d{{2}}:?\d{{2}})?)?")
FRAME = re.compile(r"frame(?:\.number)?\s*[:=]{1,2}\s*(\d{1,18})")
OFFSET = re.compile(r"\+?\s*([0-9.]+\s*[a-zµμ]+)")


class Moment(Struct, frozen=True):
    """One of these: ns since 1970, ns since midnight, ns since the first packet, or a frame."""

    text: str
    at: int | None = None
    of_day: int | None = None
    since_first: int | None = None
    frame: int | None = None

    def ns(self, first: int, last: int) -> int:
        """In ns since 1970, in a recording whose packets are from `first` to `last`.

        A time of day is that inside of the recording, or the nearest to it.
        """
        if self.at is not None:
            return self.at
        if self.since_first is not None:
            return first + self.since_first
        assert self.of_day is not None
        days = np.arange(first // DAY_NS - 1, last // DAY_NS + 2)
        candidates = days * DAY_NS + self.of_day
        outside = np.maximum(np.maximum(first - candidates, candidates - last), 0)
        return int(candidates[int(np.argmin(outside))])


def moment(text: str) -> Moment:
    """Parse `text`; raises `UsageError`.

    >>> moment("14:05").of_day, moment("+1.5s").since_first, moment("frame:12").frame
    (50700000000000, 1500000000, 12)
    >>> moment("1970-01-01T00:00:01Z").at, moment("1970-01-01 01:00+01:00").at
    (1000000000, 0)
    """
    given = text.strip()
    if found := FRAME.fullmatch(given):
        return Moment(given, frame=int(found[1]))
    if found := OF_DAY.fullmatch(given):
        return Moment(given, of_day=_of_day(text, *found.groups()))
    if found := DATED.fullmatch(given):
        day, hours, minutes, seconds, fraction, zone = found.groups()
        of_day = _of_day(text, hours or "0", minutes or "0", seconds, fraction)
        return Moment(given, at=_midnight(text, day) + of_day - _zone(zone))
    if found := OFFSET.fullmatch(given):
        return Moment(given, since_first=round(parse_ms(found[1]) * 1e6))
    raise _no_moment(text)


def written(value: object) -> str:
    """How a moment that Python gives (a text, `datetime`, `timedelta`, `numpy.datetime64`) is written.

    >>> written(timedelta(minutes=2)), written(datetime(2026, 11, 22, 14, 5))
    ('+120.0s', '2026-11-22T14:05:00Z')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, timedelta):
        return f"+{value.total_seconds()}s"
    if isinstance(value, datetime):
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return aware.isoformat().replace("+00:00", "Z")
    if isinstance(value, np.datetime64):
        return f"{value.astype('datetime64[ns]')}Z"
    raise UsageError(f"{value!r} is not a time: give a text as the command line takes it, a datetime or a timedelta")


def _of_day(text: str, hours: str, minutes: str, seconds: str | None, fraction: str | None) -> int:
    if int(hours) > 23 or int(minutes) > 59 or int(seconds or 0) > 59:
        raise _no_moment(text)
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)) * 10**9 + int((fraction or "").ljust(9, "0"))


def _midnight(text: str, day: str) -> int:
    try:
        return (date.fromisoformat(day) - date(1970, 1, 1)).days * DAY_NS
    except ValueError:
        raise _no_moment(text) from None


def _zone(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (-minutes if zone[0] == "-" else minutes) * 60 * 10**9


def _no_moment(text: str) -> UsageError:
    return UsageError(
        f"`{text}` is not a time: write 14:05 or 14:05:30.5 (UTC), 2026-11-22T14:05:30Z, +90s since the first packet, "
        "or frame:1200"
    )
