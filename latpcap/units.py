"""Durations, bandwidths, shares, distances and sizes as people write them: `500us`, `34Mbit`, `0.1%`, `1000km`, `1GB`.

A bare number is an RTT in milliseconds; any other duration says its unit.

>>> parse_ms("500us"), parse_ms("15ms"), parse_ms("1.5s"), parse_ms("15")
(0.5, 15.0, 1500.0, 15.0)
>>> parse_list_ms("1ms,15ms")
[1.0, 15.0]
>>> parse_list_ms("lan,1..10ms,ocean")
[0.5, 1.0, 2.0, 5.0, 10.0, 90.0]
>>> parse_duration_ms("60s"), parse_duration_ms("0")
(60000.0, 0.0)
>>> parse_bandwidth("34Mbit"), parse_share("0.1%"), fibre_ms(parse_distance_km("1000km"))
(34000000.0, 0.001, 10.0)
>>> parse_size("1GB"), parse_size("512MiB"), parse_size("64000000")
(1000000000, 536870912, 64000000)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal, get_args

from latpcap.errors import UsageError, did_you_mean

RttIs = Literal["ping", "handshake", "in-stream"]
"""How an RTT was measured that somebody asks for: by a ping, by a TCP handshake, by the data itself."""
RTT_IS: tuple[RttIs, ...] = get_args(RttIs)

DEFAULT_MEMORY_BYTES = 1_000_000_000
MIN_MEMORY_BYTES = 64_000_000
"""Reading may keep at least this many bytes."""
DEFAULT_DISK_BYTES = 20_000_000_000
"""Temporary files may take this many bytes beyond the memory."""
QUERY_TIMEOUT_S = 60.0
"""A query in SQL may take this long."""
MAX_BYTES = 1e15
"""More than any machine has: what is more is a typing error."""
MAX_DIGITS = 19
"""Digits of a number that the core takes; Python refuses to make one of thousands."""
MAX_COUNT = 1_000_000_000
MAX_MS = 1e12
"""About thirty years: what is longer is a typing error."""

MAX_RTT_MS = 5000.0
"""A longer RTT that somebody writes is a typing error: over a geostationary satellite it is 600 ms."""
MAX_TIMES = 100.0
"""Upper bound of a factor; larger values are typing errors."""
MIN_SHARE = 1e-6
"""Figures below this are sums of rounded nanoseconds, whatever their unit."""
MIN_WINDOW_BYTES = 8192
"""Receive windows below this hold back what the replay takes for one packet's worth."""

_MS_PER_UNIT = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,3}))?\s*([a-zµμ]*)")

_BITS_PER_UNIT = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_KM_PER_UNIT = {"km": 1.0, "mi": 1.609344, "m": 1e-3}
_BYTES_PER_UNIT = {"": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_BYTES_PER_UNIT |= {"kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40}
UNITS = frozenset(filter(None, (*_MS_PER_UNIT, *_KM_PER_UNIT, *_BITS_PER_UNIT, *_BYTES_PER_UNIT, "%")))
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zA-Z%]*)")

PLACES_MS = {"lan": 0.5, "metro": 2.0, "region": 15.0, "ocean": 90.0}
"""The RTTs of places, where only the place is known; where the figures come from: docs/command-line.md."""

KM_PER_MS = 200.0
"""Light in fibre: about two thirds of its speed in vacuum."""


class ImpossibleRtt(UsageError):
    """A time that no packet takes there and back."""


class MissingUnit(UsageError):
    """A number that might be seconds or milliseconds."""


def check_rtt_is(rtt_is: str) -> None:
    """Refuse what is no way to measure an RTT.

    >>> check_rtt_is("traceroute")
    Traceback (most recent call last):
    latpcap.errors.UsageError: an RTT is that of a ping, handshake or in-stream, not of `traceroute`
    """
    if rtt_is not in RTT_IS:
        raise UsageError(f"an RTT is that of a {', '.join(RTT_IS[:-1])} or {RTT_IS[-1]}, not of `{rtt_is}`")


def parse_ms(text: str) -> float:
    """Return the duration in `text` in milliseconds; raises `UsageError` when it is not one, or negative."""
    match = _DURATION.fullmatch(text.strip())
    unit = _MS_PER_UNIT.get(match[3]) if match else None
    if match is None or unit is None:
        raise UsageError(f"`{text}` is not a duration: write 500us, 15ms, 1.5s or a bare number of milliseconds")
    milliseconds = float(f"{match[1]}e{match[2] or 0}") * unit
    if milliseconds > MAX_MS:
        raise UsageError(f"`{text}` is too long a duration")
    return milliseconds


def parse_rtt_ms(text: str) -> float:
    """Return the RTT in `text` in milliseconds; raises `UsageError`, also where no network has it.

    >>> parse_rtt_ms("15s")
    Traceback (most recent call last):
    latpcap.units.ImpossibleRtt: `15s` is longer than the RTT of any network: did you mean 15ms?
    """
    milliseconds = parse_ms(text)
    if milliseconds > MAX_RTT_MS:
        number = text.strip().rstrip("smhinu")
        hint = f"did you mean {number}ms?" if parse_ms(number) <= MAX_RTT_MS else f"write at most {MAX_RTT_MS:g}ms"
        raise ImpossibleRtt(f"`{text.strip()}` is longer than the RTT of any network: {hint}")
    return milliseconds


def parse_duration_ms(text: str) -> float:
    """Parse what might as well be seconds: a number must say its unit, unless it is 0."""
    if text.strip().endswith("%"):
        raise UsageError(f"`{text.strip()}` is a share and no duration: write 500us, 15ms or 60s")
    milliseconds = parse_ms(text)
    if milliseconds and not text.strip()[-1].isalpha():
        raise MissingUnit(f"`{text.strip()}` has no unit: write {text.strip()}s or {text.strip()}ms")
    return milliseconds


def parse_list_ms(text: str) -> list[float]:
    """Return the RTTs of a comma-separated list in milliseconds, in their order, duplicates kept.

    Each is a duration, the name of a place (`PLACES_MS`), or a ladder from one to another, as `1..50ms`.
    """
    return [rtt for part in text.split(",") for rtt in _rtts(part.strip())]


def parse_counts(text: str) -> list[int]:
    """Return whole numbers from 1 on with commas between them; raises `UsageError`.

    >>> parse_counts("4"), parse_counts("1, 2,16")
    ([4], [1, 2, 16])
    """
    counts = [whole_number(part.strip(), 1, MAX_COUNT) for part in text.split(",")]
    if None in counts:
        raise UsageError(f"`{text}` is not a number from 1 on, nor several of them: write 4 or 1,2,4,8,16")
    return [count for count in counts if count is not None]


def _rtts(text: str) -> list[float]:
    if text.lower() in PLACES_MS:
        return [PLACES_MS[text.lower()]]
    if ".." in text:
        return _ladder(text)
    if text[:1].isalpha():
        raise UsageError(f"no place is called `{text}`{did_you_mean(text, PLACES_MS, 'write 15ms, 1..50ms or')}")
    return [parse_rtt_ms(text)]


def _ladder(text: str) -> list[float]:
    """Both ends, and 1, 2, 5, 10, 20, 50 … ms between them; the first end may leave its unit to the second one."""
    first, _, last = (part.strip() for part in text.partition(".."))
    unit = last.lstrip("0123456789.eE+-").strip()
    low, high = parse_rtt_ms(first if first[-1:].isalpha() else f"{first}{unit}"), parse_rtt_ms(last)
    if low == 0:
        raise UsageError(f"`{text}` begins at 0, and a ladder of RTTs above it: write 0.1..{last}")
    if low > high:
        raise UsageError(f"`{text}` falls, and a ladder rises: write the shorter RTT first, for instance 1..50ms")
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (float(f"{step}e{decade}") for decade in decades for step in (1, 2, 5))
    return [low, *(step for step in steps if low < step < high), *([high] if high > low else [])]


def significant(value: float) -> str:
    """Return a figure with three significant digits, trailing zeros kept, thousands separated.

    >>> [significant(value) for value in (0.5, 9.996, 15, 152.85, 7890.1, 0.000123, 0, 3e-9)]
    ['0.500', '10.0', '15.0', '153', '7,890', '0.000123', '0', '0']
    """
    if 0.001 <= abs(value) < 999:
        return f"{value:#.3g}".removesuffix(".")  # many times quicker than by its decimals
    if abs(value) < MIN_SHARE:
        return "0"
    if not math.isfinite(value):
        return str(value)
    decimals = 2 - int(f"{value:.2e}".partition("e")[2])
    return f"{round(value, decimals):,.{max(decimals, 0)}f}"


def format_ratio(value: float) -> str:
    """Return a ratio of counts: three significant digits, and never fewer than stand before the point.

    >>> [format_ratio(value) for value in (0.111, 3.667, 152.4, 1037.0)]
    ['0.111', '3.67', '152', '1,037']
    """
    return f"{value:,.0f}" if value >= 999.5 else significant(value)


def format_average(value: float) -> str:
    """Return an average count as a sentence has it: one decimal below 10 and none above.

    >>> [format_average(value) for value in (4.0, 2.54, 9.97, 12.3, 1234.5)]
    ['4', '2.5', '10', '12', '1,234']
    """
    return (f"{value:,.1f}" if value < 9.95 else f"{value:,.0f}").removesuffix(".0")


def format_ms(milliseconds: float) -> str:
    """Return a measured duration with three significant digits in the unit that fits it.

    >>> [format_ms(value) for value in (0.0421, 0.5, 15, 1500, 0)]
    ['42.1 µs', '0.500 ms', '15.0 ms', '1.50 s', '0 ms']
    """
    if milliseconds >= 1000:
        return format_s(milliseconds / 1000)
    if 0 < milliseconds < 0.1:
        return f"{significant(milliseconds * 1000)} µs"
    return f"{significant(milliseconds)} ms"


def format_given_ms(milliseconds: float) -> str:
    """Return a duration that somebody chose, such as an RTT to project to, as it is usually written.

    >>> [format_given_ms(value) for value in (0.05, 0.5, 15, 1500, 0)]
    ['50 µs', '0.5 ms', '15 ms', '1.5 s', '0 ms']
    """
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:,.10g} s"
    if 0 < milliseconds < 0.1:
        return f"{milliseconds * 1000:.10g} µs"
    return f"{milliseconds:.10g} ms"


def format_s(seconds: float) -> str:
    """Return seconds with three significant digits, thousands separated, minutes and hours beside long ones.

    >>> [format_s(value) for value in (0.00001, 0.0123, 6.7, 152.85, 7890.1)]
    ['10.0 µs', '12.3 ms', '6.70 s', '153 s', '7,890 s (2 h 12 min)']
    """
    if 0 < abs(seconds) < 0.1:
        return format_ms(seconds * 1000)
    if abs(seconds) < 100:
        return f"{significant(seconds)} s"
    if abs(seconds) < 600:
        return f"{seconds:,.0f} s"
    return f"{seconds:,.0f} s ({_clock(seconds)})"


def percent(share: float) -> str:
    """Return a part of one in per cent; a small one with a decimal, since `0%` would deny it.

    >>> [percent(share) for share in (0.364, 0.0321, 0.0004, 0)]
    ['36%', '3.2%', 'under 0.1%', '0%']
    """
    if 0 < share < 0.0005:
        return "under 0.1%"
    return f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"


def percent_range(share: float, low: float, high: float) -> str:
    """Return a part of one and, where they look different, the ends of its range, with no more decimals than it has.

    >>> percent_range(0.364, 0.0912, 0.438)
    '36%, 9 to 44%'
    >>> percent_range(0.364, 0.25, 0.4), percent_range(0.364, 0.364, 0.3641), percent_range(0.004, 0, 0.021)
    ('36%, 25 to 40%', '36%', '0.4%, 0 to 2.1%')
    >>> percent_range(0.0002, 0, 0.0003)
    'under 0.1%'
    """
    if percent(low) == percent(share) == percent(high) or percent(high).startswith("under"):
        return percent(share)
    least, most = ((f"{end:.0%}" if share >= 0.0995 else percent(end)) for end in (low, high))
    return f"{percent(share)}, {'0' if least.startswith('under') else least.rstrip('%')} to {most}"


def capitalised(text: str) -> str:
    """Return a text as the begin of a sentence; what follows its first letter stays as it is.

    >>> capitalised("the RTT"), capitalised("")
    ('The RTT', '')
    """
    return text[:1].upper() + text[1:]


def text_range(low: str, high: str) -> str:
    """Return a range of two figures with their units, in which a unit that both have stands once.

    >>> text_range("19.0 µs", "95.0 µs"), text_range("99.0 µs", "0.150 ms")
    ('19.0 to 95.0 µs', '99.0 µs to 0.150 ms')
    """
    number, _, unit = low.partition(" ")
    return f"{number if high.endswith(f' {unit}') else low} to {high}"


def listed(things: Iterable[str]) -> str:
    """Return things as a list in a sentence.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    *first, last = things
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, thing: str, plural: str = "") -> str:
    """Return a number of things.

    >>> counted(1, "round trip"), counted(1234, "packet"), counted(2, "query", "queries")
    ('1 round trip', '1,234 packets', '2 queries')
    """
    return f"{count:,} {thing if count == 1 else plural or f'{thing}s'}"


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers in short, in rising order.

    >>> ranges([7, 0, 1, 2])
    '0-2, 7'
    """
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)


def _clock(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{days} d {hours} h"


def parse_bandwidth(text: str) -> float:
    """Return bits a second; raises `UsageError`."""
    value = _times(text, _BITS_PER_UNIT)
    if not value:
        raise UsageError(f"`{text}` is not a bandwidth: write 34Mbit, 1Gbit or 512kbit")
    return value


def format_bandwidth(bits_per_s: float) -> str:
    """Return a bandwidth as it is usually written.

    >>> [format_bandwidth(value) for value in (34e6, 1e9, 512e3, 1.5e6)]
    ['34 Mbit/s', '1 Gbit/s', '512 kbit/s', '1.5 Mbit/s']
    """
    factors = {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3}
    unit = next((unit for unit, factor in factors.items() if bits_per_s >= factor), "bit/s")
    return f"{bits_per_s / factors.get(unit, 1.0):,.6g} {unit}"


def parse_distance_km(text: str) -> float:
    """Return kilometres; raises `UsageError`."""
    value = _times(text, _KM_PER_UNIT)
    if value is None:
        raise UsageError(f"`{text}` is not a distance: write 1000km or 620mi")
    return value


def parse_share(text: str) -> float:
    """Return a part of one; raises `UsageError`."""
    value = _times(text, {"%": 0.01, "": 1.0})
    if value is None or not value < 1:
        raise UsageError(f"`{text}` is not a share of packets: write 0.1% or 0.001, less than 100%")
    return value


def parse_part(text: str) -> float:
    """Return which part of a time is left; raises `UsageError`.

    >>> [parse_part(text) for text in ("50%", "0", "1.5", "200%")]
    [0.5, 0.0, 1.5, 2.0]
    """
    value = _times(text, {"%": 0.01, "": 1.0})
    if value is None or not value <= MAX_TIMES:
        raise UsageError(f"`{text}` is no part of a time: write 50% or 0.5, at most {MAX_TIMES:.0%}")
    return value


def parse_size(text: str) -> int:
    """Return bytes; raises `UsageError`."""
    value = _times(text, _BYTES_PER_UNIT)
    if not value or value > MAX_BYTES:
        raise UsageError(f"`{text}` is not a size: write 1GB, 512MiB or a number of bytes, at most 1000TB")
    return int(value)


def parse_window(text: str) -> int:
    """Return the bytes of a receive window; raises `UsageError`.

    >>> parse_window("64KiB")
    65536
    """
    value = _times(text, _BYTES_PER_UNIT)
    if value is None or not MIN_WINDOW_BYTES <= value <= MAX_BYTES:
        raise UsageError(
            f"`{text}` is not a receive window: write 64KiB or a number of bytes, {MIN_WINDOW_BYTES} or more"
        )
    return int(value)


def parse_left(text: str) -> float:
    """Return which part of the bytes compression leaves; raises `UsageError`.

    >>> parse_left("30%"), parse_left("0.3")
    (0.3, 0.3)
    """
    value = _times(text, {"%": 0.01, "": 1.0})
    if value is None or not 0 < value <= 1:
        raise UsageError(f"`{text}` is no part of the bytes: write 30% or 0.3, above 0 and up to 100%")
    return value


def whole_number(text: str, least: int, most: int) -> int | None:
    """Return a number that is written in digits; `None` where it is none, or not from `least` to `most`.

    >>> [whole_number(text, 1, 65535) for text in ("3306", "0", "-1", "1_000", "\u0663", "9" * 5000)]
    [3306, None, None, None, None, None]
    """
    is_one = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
    return int(text) if is_one and least <= int(text) <= most else None


def port_number(text: str) -> int | None:
    """Return a TCP port; `None` where it is none."""
    return whole_number(text, 1, 65535)


def parse_room(text: str) -> int:
    """Return bytes, also none; raises `UsageError`."""
    return 0 if text.strip() == "0" else parse_size(text)


def fibre_ms(distance_km: float) -> float:
    """The least RTT that physics allows over `distance_km` of fibre, in ms; real paths are longer than the distance."""
    return 2 * distance_km / KM_PER_MS


def _times(text: str, units: dict[str, float]) -> float | None:
    match = _QUANTITY.fullmatch(text.strip())
    unit = units.get(match[2].lower()) if match else None
    value = float(match[1]) * unit if match and unit is not None else math.nan
    return value if math.isfinite(value) else None
