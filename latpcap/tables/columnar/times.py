"""Timestamps for people and files: ISO-8601, UTC, nanoseconds."""

from __future__ import annotations

import numpy as np

from latpcap.tables.columnar.columns import NullableArray


def iso(times: NullableArray) -> list[str | None]:
    """Return ns since 1970 as `2020-09-13T12:26:40.123456789Z`; `None` for null."""
    texts = np.datetime_as_string(times.values.view("datetime64[ns]"), unit="ns")
    return [f"{text}Z" if known else None for text, known in zip(texts, times.is_valid(), strict=True)]
