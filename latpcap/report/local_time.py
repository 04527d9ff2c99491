"""The machine's local time beside UTC, for people alone: files and scripts get UTC, whatever machine writes them.

It has its distance from UTC, so that `--from` takes it as it is. Where local time is UTC, or `--utc`
asks for that alone, there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np

from latpcap.report.destination import going_to


def local(moment: np.datetime64 | str) -> str:
    """Return `2026-11-21 09:39:53+01:00`; nothing where that is UTC, or beyond what the machine knows."""
    if going_to().is_utc or going_to().is_file or np.isnat(then := np.datetime64(str(moment).removesuffix("Z"), "s")):
        return ""
    try:
        here = datetime.fromtimestamp(int(then.astype(np.int64)), UTC).astimezone()
    except (OSError, OverflowError, ValueError):
        return ""
    return here.isoformat(" ") if here.utcoffset() else ""


def first_packet(times: Iterable[str | None]) -> str:
    """Return when the first packet passed, here and in UTC; nothing where no zone is to be told."""
    known = min((time for time in times if time), default=None)
    here = local(known) if known else ""
    return f"First packet: {here} ({known[:19].replace('T', ' ')} UTC)" if known and here else ""
