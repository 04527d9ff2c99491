"""The quantities of callers, a duration, an RTT, a bandwidth, a share, a distance: numbers, texts with a unit, arrays.

A number has the unit that the parameter's name ends with; a text says its own, as on the command line (`units.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from latpcap.errors import UsageError
from latpcap.units import (
    MAX_BYTES,
    MAX_MS,
    MAX_TIMES,
    MIN_WINDOW_BYTES,
    parse_bandwidth,
    parse_distance_km,
    parse_duration_ms,
    parse_left,
    parse_list_ms,
    parse_ms,
    parse_part,
    parse_share,
    parse_size,
    parse_window,
    port_number,
)

Duration = float | str | timedelta
"""A number of the unit that the parameter's name ends with, a text such as `"15ms"`, or a `timedelta`."""
Rtts = Duration | Iterable[Duration]
"""One RTT or several: also a range, a numpy array, a column of a dataframe, or a text such as `"1..50ms,ocean"`."""


def rtts_ms(given: Rtts | None) -> list[float] | None:
    """Return the RTTs in milliseconds, in their order; `None` stays, for the default.

    >>> rtts_ms("15ms"), rtts_ms([1, "0.5ms", timedelta(seconds=1)]), rtts_ms(range(10, 40, 10)), rtts_ms(None)
    ([15.0], [1.0, 0.5, 1000.0], [10.0, 20.0, 30.0], None)
    """
    return None if given is None else list(_each(given))


def _each(given: Any) -> Iterator[float]:
    is_one = isinstance(given, bytes | Mapping) or getattr(given, "ndim", 1) == 0
    if isinstance(given, str):
        yield from parse_list_ms(given)
    elif isinstance(given, Iterable) and not is_one:
        for one in given:
            yield from _each(one)
    else:
        yield milliseconds(given)


def milliseconds(given: Any) -> float:
    """Return a duration in milliseconds; a bare number has that unit. Raises `UsageError`.

    >>> milliseconds(1.5), milliseconds("500us")
    (1.5, 0.5)
    """
    return _duration(given, 1.0, parse_ms)


def seconds(given: Any) -> float:
    """Return a duration in seconds; a bare number has that unit, a text must say it. Raises `UsageError`.

    >>> seconds(60), seconds("1min"), seconds("500ms")
    (60.0, 60.0, 0.5)
    """
    return _duration(given, 1000.0, parse_duration_ms) / 1000


def bits_per_s(given: Any) -> float:
    """Return a bandwidth: bits a second, or a text such as `"34Mbit"`. Raises `UsageError`."""
    return _number(given, parse_bandwidth, "a bandwidth above 0", lambda value: 0 < value < math.inf)


def share(given: Any) -> float:
    """Return a part of all packets: 0 to 1, or a text such as `"0.1%"`. Raises `UsageError`."""
    return _number(given, parse_share, "a share of packets from 0 on and less than 1", lambda value: 0 <= value < 1)


def part(given: Any) -> float:
    """Return which part of a time is left: 1 for all, or a text such as `"50%"`. Raises `UsageError`."""
    return _number(
        given, parse_part, f"a part of a time from 0 to {MAX_TIMES:g}", lambda value: 0 <= value <= MAX_TIMES
    )


def receive_window(given: Any) -> int:
    """Return a receive window in bytes: a number, or a text such as `"64KiB"`. Raises `UsageError`."""
    fits = f"a receive window of {MIN_WINDOW_BYTES} bytes or more"
    return int(_number(given, parse_window, fits, lambda value: MIN_WINDOW_BYTES <= value <= MAX_BYTES))


def left_of_bytes(given: Any) -> float:
    """Return which part of the bytes compression leaves, or a text such as `"30%"`. Raises `UsageError`."""
    return _number(given, parse_left, "a part of the bytes above 0 and up to 1", lambda value: 0 < value <= 1)


def kilometres(given: Any) -> float:
    """Return a distance: kilometres, or a text such as `"620mi"`. Raises `UsageError`."""
    return _number(given, parse_distance_km, "a distance from 0 on", lambda value: 0 <= value < math.inf)


def several(given: Any) -> list[Any]:
    """Return one or several things as a list; a text is one."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]


def tcp_port(given: Any) -> int:
    """Return a TCP port: a number, or its digits. Raises `UsageError`.

    >>> tcp_port(5432), tcp_port("3306")
    (5432, 3306)
    """
    is_number = isinstance(given, int) and not isinstance(given, bool)
    port = given if is_number else port_number(given) if isinstance(given, str) else None
    if port is None or not 0 < port < 1 << 16:
        raise UsageError(f"{_shown(given)} is no TCP port: give a number from 1 to 65535")
    return port


def size(given: Any) -> int:
    """Return bytes: a number, or a text such as `"512MiB"`. Raises `UsageError`."""
    return int(_number(given, parse_size, "a number of bytes, at most 1000TB", lambda value: 0 <= value <= MAX_BYTES))


def _shown(given: Any) -> str:
    """Show `given` in an error; Python writes no number of thousands of digits."""
    try:
        return f"{given!r:.40}"
    except ValueError:
        return "a number of thousands of digits"


def _duration(given: Any, unit_ms: float, parse: Callable[[str], float]) -> float:
    if getattr(given, "dtype", None) is not None and given.dtype.kind == "m":
        given = given.astype("timedelta64[us]").item()  # numpy's
    if isinstance(given, timedelta):
        given, unit_ms = given / timedelta(milliseconds=1), 1.0
    value = _number(given, lambda text: parse(text) / unit_ms, "a duration from 0 on") * unit_ms
    if not 0 <= value <= MAX_MS:
        raise UsageError(f"{_shown(given)} is not a duration from 0 on, and not above {MAX_MS:g} ms")
    return value


def _number(
    given: Any, parse: Callable[[str], float], what: str, fits: Callable[[float], bool] = lambda value: True
) -> float:
    if isinstance(given, str):
        return parse(given)
    try:
        value = math.nan if isinstance(given, bool | bytes) else float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if math.isnan(value) or not fits(value):
        raise UsageError(f"{_shown(given)} is not {what}: give a number, or a text with its unit")
    return value
