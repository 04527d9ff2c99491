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
from latpcap.scan import SHARES, share_of
from latpcap.tables.columnar import columns
from latpcap.tables.dataset.layout import is_dataset
from latpcap.tables.part.client_groups import client_groups, client_groups_of

LOOK = 8
"""An eighth of each file is looked at."""
LEAST_BYTES = 1 << 18
GROUP = 2_500
"""What a group takes beside its packets, in packets of that eighth."""
CONNECTION = 1_000
"""What a connection of a dataset takes beside its round trips."""

Weights = list[int] | None


def weights(files: Sequence[str], memory: int) -> Weights:
    """What each of the `SHARES` weighs, in packets; `None` where that is not to be seen.

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
    share = columns.column(found, "hash").values.astype(np.uint64) % np.uint64(SHARES)
    return _summed(share.astype(np.int64), columns.column(found, "packets").values + GROUP)


def _of_dataset(folders: Sequence[str], memory: int) -> Weights:
    recording = read([*folders], memory=memory).recording
    names = client_groups_of(recording)
    share = {name: share_of(name, SHARES) for name in set(names)}
    round_trips = columns.column(recording.all_connections_table, "round_trips").ints(0)[recording.database_rows]
    return _summed(np.array([share[name] for name in names], np.int64), round_trips + CONNECTION)


def _summed(share: np.ndarray[Any, Any], weight: np.ndarray[Any, Any]) -> list[int]:
    sums = np.bincount(share, weight, SHARES).astype(np.int64)
    return [max(each, 1) for each in sums.tolist()]  # what was not seen may come yet


class _Beginning:
    """The beginning of a file, as something to read; there may be more of them than may be open at once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0
        self._end = max(os.path.getsize(path) // LOOK, LEAST_BYTES)

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        rest = self._end - self._at
        with Path(self._path).open("rb") as file:
            file.seek(self._at)
            content = file.read(rest if size < 0 else min(size, rest))
        self._at += len(content)
        return content
