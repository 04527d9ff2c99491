"""Notes on the parts of a recording, put together."""

from __future__ import annotations

from typing import Any

import numpy as np
from arro3.core import Table

from latpcap import _core
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import rows_of


def together(notes: Table, cases: Table) -> Table:
    """The notes of the whole: what is said of files each part says, what `cases` count adds up over the parts."""
    counted: Any = cases.to_struct_array().to_pylist()
    added = Table.from_arrow(_core.notes_of(counted))
    said = set(columns.texts(added, "code"))
    keys = zip(columns.texts(notes, "code"), columns.texts(notes, "message"), strict=True)
    first = {each: row for row, each in reversed([*enumerate(keys)]) if each[0] not in said}
    kept = rows_of(notes, np.array(sorted(first.values()), np.int64))
    return columns.joined([kept, added])
