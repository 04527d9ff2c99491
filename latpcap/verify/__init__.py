"""`verify()`: the same captures read by latpcap and by Wireshark's own dissectors, measure by measure.

```text
captures ─┬─► latpcap ─► ours.py ──────┐
          └─► tshark ──► wireshark.py ─┴─► one file a group of measures ─► Verification
```

Where the two differ, the difference is looked at by itself: it is *explained* where the capture holds evidence for a
known reason (the stream is compressed, the packet was cut, …), else *unexplained*, which the exit status reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from latpcap.errors import UsageError
from latpcap.tables.reading import sources
from latpcap.tables.reading.keys import held, key_file
from latpcap.units import DEFAULT_MEMORY_BYTES
from latpcap.verify import mysql, network, postgresql, responses, sqlserver
from latpcap.verify.growing import Check, as_at_the_start
from latpcap.verify.ours import Ours, read
from latpcap.verify.result import Difference, Measure, Verification
from latpcap.verify.unchecked import unchecked
from latpcap.verify.wireshark import Dissection, dissect, version

__all__ = ["Difference", "Measure", "Verification", "compare", "verify"]

MEASURES: tuple[Callable[[Ours, Dissection], Iterable[Measure]], ...] = (
    network.measures,
    mysql.measures,
    postgresql.measures,
    sqlserver.measures,
    responses.measures,
)
"""Each gives the measures that make sense for the captures, in the order in which they are shown."""


def verify(
    captures: Any, *, decode_as: dict[int, str] | None = None, memory: int = DEFAULT_MEMORY_BYTES, keylog: Any = None
) -> Verification:
    """Compare what latpcap and Wireshark see in `captures`: a path, a glob or a list of these.

    Wireshark's `tshark` must be installed. It goes by ports where latpcap goes by content; so it is given the
    ports on which latpcap found a database. Both get the same keys, as `latpcap.read` takes them.
    """
    paths = sources.on_disk(sources.resolve(captures))
    version()  # before the captures take their time
    keys = held(keylog) if keylog is not None else []

    def work(paths: list[str], check: Check) -> Verification:
        return compare(paths, read(paths, decode_as or {}, memory, keylog=keys), keys, check)

    return as_at_the_start(paths, work)


def compare(paths: Sequence[str], ours: Ours, keylog: Any = (), check: Check = lambda: None) -> Verification:
    """Let Wireshark read `paths`, too, and compare; `check` may raise meanwhile."""
    wireshark_version = version()
    if not paths or "-" in paths:
        raise UsageError("both latpcap and Wireshark must read the captures: give files, not a pipe or packets")
    with key_file(keylog) as keys:
        theirs = dissect(paths, ours.ports, None if ours.selected is None else set(ours.by_stream), keys, check)
    measured = tuple(_all(ours, theirs))
    names = sources.names(paths)
    complaint = theirs.complaint and _named(theirs.complaint, paths, names)
    return Verification(
        tuple(names), wireshark_version, measured, complaint, tuple(unchecked(ours, theirs)), ours.selected
    )


def _named(complaint: str, paths: Sequence[str], names: Sequence[str]) -> str:
    """Return tshark's complaint, with files named as in results."""
    for path, name in sorted(zip(paths, names, strict=True), key=lambda pair: -len(pair[0])):
        complaint = complaint.replace(path, name)
    return complaint


def _all(ours: Ours, theirs: Dissection) -> Iterator[Measure]:
    for measures in MEASURES:
        yield from measures(ours, theirs)
