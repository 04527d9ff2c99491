"""Bandwidths, shares and distances as people write them: `34Mbit`, `0.1%`, `1000km`.

>>> parse_bandwidth("34Mbit"), parse_share("0.1%"), fibre_ms(parse_distance_km("1000km"))
(34000000.0, 0.001, 10.0)
"""

from __future__ import annotations

import math
import re

from latpcap.errors import UsageError

__all__ = ["fibre_ms", "parse_bandwidth", "parse_distance_km", "parse_share"]

_BITS_PER_UNIT = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_KM_PER_UNIT = {"km": 1.0, "mi": 1.609344, "m": 1e-3}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zA-Z%]*)")

KM_PER_MS = 200.0
"""Light in fibre: about two thirds of its speed in vacuum."""


def parse_bandwidth(text: str) -> float:
    """Return bits a second; raises `UsageError`."""
    value = _times(text, _BITS_PER_UNIT)
    if not value:
        raise UsageError(f"`{text}` is no bandwidth: write 34Mbit, 1Gbit or 512kbit")
    return value


def parse_distance_km(text: str) -> float:
    """Return kilometres; raises `UsageError`."""
    value = _times(text, _KM_PER_UNIT)
    if value is None:
        raise UsageError(f"`{text}` is no distance: write 1000km or 620mi")
    return value


def parse_share(text: str) -> float:
    """Return a part of one; raises `UsageError`."""
    value = _times(text, {"%": 0.01, "": 1.0})
    if value is None or not value < 1:
        raise UsageError(f"`{text}` is no loss: write 0.1% or 0.001, less than 100%")
    return value


def fibre_ms(distance_km: float) -> float:
    """The least RTT that physics allows over `distance_km` of fibre, in ms; real paths are longer than the distance."""
    return 2 * distance_km / KM_PER_MS


def _times(text: str, units: dict[str, float]) -> float | None:
    match = _QUANTITY.fullmatch(text.strip())
    unit = units.get(match[2].lower()) if match else None
    value = float(match[1]) * unit if match and unit is not None else math.nan
    return value if math.isfinite(value) else None
