"""How much there is to do for each share of the client groups, by a look at the beginning of each file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from arro3.core import Table

from latpcap._core import CaptureError as CoreCaptureError
from latpcap.errors import LatpcapError
from latpcap.reading import read
from latpcap.scan import GROUP_SHARES, share_of
from latpcap.tables.columnar import columns
from latpcap.tables.dataset.layout import is_dataset
from latpcap.tables.part.client_groups import client_groups, client_groups_of

SAMPLED_PARTS = 8
"""One part in this many of each file is read."""
MIN_SAMPLE_BYTES = 1 << 18
GROUP_PACKETS = 2_500
"""A group costs as much as this many packets, beside its own."""
CONNECTION_ROUND_TRIPS = 1_000
"""A connection of a dataset costs as much as this many round trips, beside its own."""

Weights = list[int] | None


def weights(files: Sequence[str], memory: int) -> Weights:
    """Return each of the `GROUP_SHARES`' weight in packets; `None` where that is not to be seen.

    What is wrong with a file, its part will tell.
    """
    try:
        if any(is_dataset(path) for path in files):
            return _of_dataset(files, memory)
        if all(os.path.isfile(path) for path in files):
            return _of_captures(files, memory)
    except (LatpcapError, CoreCaptureError, OSError, ValueError):
        pass
    return None


def _of_captures(files: Sequence[str], memory: int) -> Weights:
    found = Table.from_arrow(client_groups([_Beginning(path) for path in files], memory))
    share = columns.column(found, "hash").values.astype(np.uint64) % np.uint64(GROUP_SHARES)
    return _summed(share.astype(np.int64), columns.column(found, "packets").values + GROUP_PACKETS)


def _of_dataset(folders: Sequence[str], memory: int) -> Weights:
    recording = read([*folders], memory=memory).recording.without_rows
    names = client_groups_of(recording)
    share = {name: share_of(name, GROUP_SHARES) for name in set(names)}
    round_trips = columns.column(recording.all_connections_table, "round_trips").ints(0)[recording.database_rows]
    return _summed(np.array([share[name] for name in names], np.int64), round_trips + CONNECTION_ROUND_TRIPS)


def _summed(share: np.ndarray[Any, Any], weight: np.ndarray[Any, Any]) -> list[int]:
    sums = np.bincount(share, weight, GROUP_SHARES).astype(np.int64)
    return [max(each, 1) for each in sums.tolist()]  # what was not seen may come yet


class _Beginning:
    """The beginning of a file, as something to read; there may be more of them than may be open at once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0
        self._end = max(os.path.getsize(path) // SAMPLED_PARTS, MIN_SAMPLE_BYTES)

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        rest = self._end - self._at
        with Path(self._path).open("rb") as file:
            file.seek(self._at)
            content = file.read(rest if size < 0 else min(size, rest))
        self._at += len(content)
        return content
