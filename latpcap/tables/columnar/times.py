"""Timestamps for people and files: ISO-8601, UTC, nanoseconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latpcap.tables.columnar.columns import NullableArray


def iso(times: NullableArray, rows: NDArray[np.int64] | None = None) -> list[str | None]:
    """Return ns since 1970 as `2020-09-13T12:26:40.123456789Z`; `None` for null."""
    values, valid = times.values, times.is_valid()
    if rows is not None:
        values, valid = values[rows], valid[rows]
    texts = np.datetime_as_string(values.view("datetime64[ns]"), unit="ns")
    return [f"{text}Z" if known else None for text, known in zip(texts, valid, strict=True)]
