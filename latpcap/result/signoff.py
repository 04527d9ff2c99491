"""The facts for whoever signs a report: of which packets it is, under which assumptions, how right.

The date of a report is in it only where somebody asked for it: the same captures give the same bytes on any day.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arro3.core import Table
from msgspec import Struct

from latpcap._core import __version__
from latpcap.display import ShortRepr
from latpcap.projection.classes import Coverage, Work, coverage
from latpcap.projection.project import Projection
from latpcap.result.captures import CaptureFile
from latpcap.result.cover import Cover
from latpcap.result.settings import Settings
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Ints
from latpcap.tables.recording import Recording
from latpcap.units import counted, format_given_ms, format_ms

UNKNOWN = "Nothing is projected: the baseline RTT is unknown."
ENDS = {"optimistic": "Optimistic", "pessimistic": "Pessimistic", "both": "Optimistic and pessimistic"}


class Packets(Struct, frozen=True):
    """The packets that were read, by their use."""

    read: int
    decoded: int
    """Packets of connections with a database."""
    other_tcp: int
    """Other TCP connections' packets."""
    skipped: int
    """Packets that are no TCP, or could not be read as such."""

    @property
    def text(self) -> str:
        """In words.

        >>> Packets(619, 610, 0, 9).text
        '619 packets read: 610 decoded, 0 of other TCP connections, 9 skipped'
        """
        return (
            f"{counted(self.read, 'packet')} read: {self.decoded:,} decoded, "
            f"{self.other_tcp:,} of other TCP connections, {self.skipped:,} skipped"
        )


class Accuracy(Struct, frozen=True):
    """How right projections of such work were, where it was measured."""

    work: Work | None
    """The class of work; null where nothing is projected."""
    longer: Coverage | None
    """At a longer RTT than that of the capture."""
    shorter: Coverage | None
    text: str


class SignOff(ShortRepr, Struct, frozen=True):
    """Facts about the report itself."""

    title: str | None
    customer: str | None
    notes: tuple[str, ...]
    date: str | None
    """The report's date, where somebody asked for it; else null."""
    program: str
    """`latpcap` and its version."""
    captured: str | None
    """The day of the first packet, in UTC."""
    packets: Packets
    assumptions: tuple[str, ...]
    """The assumptions, a sentence each."""
    accuracy: Accuracy
    author: str | None = None
    """Whoever made the report, where it was given."""
    logo: str | None = None
    """The picture of the author, as an address that holds it (`data:image/…`)."""

    @property
    def is_asked(self) -> bool:
        """Somebody gave it something to say."""
        return bool(self.title or self.customer or self.notes or self.date or self.author or self.logo)


PROGRAM = f"latpcap {__version__}"


def sign_off(
    recording: Recording,
    captures: Sequence[CaptureFile],
    settings: Settings,
    projection: Projection,
    cover: Cover | None = None,
) -> SignOff:
    """Return the facts about a report of `recording`; `cover` holds its author's."""
    cover = cover or Cover()
    first = min((each.first_time for each in captures if each.first_time), default=None)
    return SignOff(
        title=cover.title or None,
        customer=cover.customer or None,
        notes=tuple(filter(None, cover.notes)),
        date=cover.date,
        program=PROGRAM,
        captured=first and first[:10],
        packets=_packets(recording, captures),
        assumptions=tuple(_assumptions(settings, projection)),
        accuracy=_accuracy(projection),
        author=cover.author or None,
        logo=cover.logo,
    )


def _packets(recording: Recording, captures: Sequence[CaptureFile]) -> Packets:
    """Count all packets that were read, whatever is selected."""
    read = sum(each.packets for each in captures)
    table = Table.from_arrow(recording.core.all_connections())
    counts: Ints = columns.column(table, "client_packets").values + columns.column(table, "server_packets").values
    decoded = int(counts[columns.codes(table, "protocol").codes >= 0].sum())
    tcp = int(counts.sum())
    return Packets(read, decoded, tcp - decoded, max(read - tcp, 0))


def _assumptions(settings: Settings, projection: Projection) -> Iterator[str]:
    baseline_ms, conditions = projection.baseline_rtt_ms, projection.conditions
    if baseline_ms is None:
        return
    known = "as measured in the capture" if settings.rtt_baseline_ms is None else "as given"
    yield f"The baseline RTT is {format_ms(baseline_ms)}, {known}."
    yield f"Think time is client time above {format_given_ms(1000 * settings.think_s)}; it stays as captured."
    own = {"Client time": conditions.client_time, "Service time": conditions.service_time}
    yield from (f"{name} stays as captured." for name, part in own.items() if part is None)
    yield f"RTTs to project onto are those of {conditions.rtt_is_text}."
    if not conditions.is_rtt_alone:
        yield f"Other changes: {conditions.text}."
    yield from (f"{ENDS[each.case]}: {each.text}." for each in projection.assumptions)


def _accuracy(projection: Projection) -> Accuracy:
    work = projection.now.work if projection.now else None
    if work is None:
        return Accuracy(None, None, None, UNKNOWN)
    if not projection.conditions.is_rtt_alone:
        return Accuracy(
            work, None, None, "Accuracy was measured for a change of RTT only, not for the other changes made here."
        )
    return Accuracy(work, coverage(work, "longer"), coverage(work, "shorter"), projection.range_text)
