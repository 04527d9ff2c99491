"""Layout of a dataset: its folders and files, and the names of the exchanges' columns in them."""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

MANIFEST = "dataset.json"
TABLES = (
    *("captures", "notes", "cases", "statement_texts", "tag_texts", "taps", "other_connections"),
    *("connections", "exchanges", "rtt_samples", "clock_readings", "segments"),
)
"""The folders; the tables of the last five have a folder for each day and each server."""
RENAMED = {"fingerprint": "fingerprint_id", "text": "statement_id", "tags": "tags_id"}
"""Columns of the core's exchanges that are numbers of texts → what they are called in the files."""
TEXTS = ("protocol", "statement", "fingerprint", "tags")
"""Columns of the exchanges for those who query the files: what follows from the others."""
WORDS = ("command", "purpose", "wait", "transaction", "error", "error_code")
"""Columns of the exchanges that are texts, of which the core keeps numbers."""
SEVERAL = "several"
"""The folder of the servers that share files: no server's name, which has a port."""
SERVER_OF_ROW = "server_address"
"""The column of connections and exchanges that says the server, also where the folder does not."""
DAY_NS = 86_400_000_000_000
EPOCH = date(1970, 1, 1).toordinal()


def part_path(table: str, part: int, day: int | None = None, server: str | None = None) -> str:
    """Path of a part of a table; days are counted from 1970 on.

    >>> part_path("exchanges", 0, 18_518, "[fd00::7]:3306")
    'exchanges/day=2020-09-13/server=%5Bfd00%3A%3A7%5D%3A3306/part-0.parquet'
    """
    name = f"part-{part}.parquet"
    if day is None or server is None:
        return f"{table}/{name}"
    return f"{table}/day={date.fromordinal(EPOCH + day)}/server={quote(server, safe='')}/{name}"


def server_of(path: str) -> str:
    """The server whose rows a file holds.

    >>> server_of("exchanges/day=2020-09-13/server=10.0.0.5%3A3306/part-0.parquet")
    '10.0.0.5:3306'
    """
    return unquote(path.split("/server=", 1)[-1].split("/", 1)[0])


def day_of(time_ns: Ints) -> Ints:
    """The days of times, counted from 1970 on."""
    return time_ns // DAY_NS


def is_dataset(path: str | os.PathLike[str]) -> bool:
    """A folder with a manifest in it."""
    return os.path.isfile(os.path.join(path, MANIFEST))


def lacks_manifest(path: str | os.PathLike[str]) -> bool:
    """A folder with a dataset's folders in it, and without what says what they are."""
    has = [os.path.isdir(os.path.join(path, table)) for table in ("captures", "exchanges", "statement_texts")]
    return all(has) and not is_dataset(path)
