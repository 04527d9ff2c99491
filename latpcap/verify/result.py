"""The plain result of a comparison: measures with their differences, each explained or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

from latpcap.display import Displayed
from latpcap.tables.part.selection import Selected


class Difference(Struct, frozen=True):
    """One thing that the two see differently."""

    where: str
    """`stream 3`, `frame 12`: Wireshark's numbers, which are latpcap's too."""
    latpcap: str | None
    """The value in latpcap; `None` where it sees nothing."""
    wireshark: str | None
    reason: str | None
    """Why, where the capture holds evidence for it; `None`: unexplained."""


Alone = Iterable[tuple[int, str, str | None]]
"""Things one of the two sees alone: in which frame, what, and why the other does not."""


def each_alone(ours: Alone, theirs: Alone) -> tuple[Difference, ...]:
    """List what latpcap sees alone, then what Wireshark does."""
    return (
        *(Difference(f"frame {frame}", seen, None, why) for frame, seen, why in ours),
        *(Difference(f"frame {frame}", None, seen, why) for frame, seen, why in theirs),
    )


class Measure(Struct, frozen=True):
    """How many things of one kind each of the two sees, and how many of them are the same."""

    json_fields: ClassVar = ("name", "latpcap", "wireshark", "equal", "explained", "unexplained", "differences")

    name: str
    latpcap: int
    wireshark: int
    equal: int
    differences: tuple[Difference, ...] = ()

    @property
    def explained(self) -> int:
        """How many differences have a reason."""
        return sum(difference.reason is not None for difference in self.differences)

    @property
    def unexplained(self) -> int:
        """How many have none."""
        return len(self.differences) - self.explained

    def reasons(self) -> Counter[str]:
        """Each reason with how often it holds."""
        return Counter(difference.reason for difference in self.differences if difference.reason is not None)


class Verification(Displayed, Struct, frozen=True):
    """The comparison, Wireshark's version, and the outcome."""

    schema = "latpcap.verification/1"
    json_fields: ClassVar = ("captures", "selection", "wireshark", "agrees", "complaint", "unchecked", "measures")

    captures: tuple[str, ...]
    wireshark: str
    """Its version."""
    measures: tuple[Measure, ...]
    complaint: str | None = None
    """The words of tshark about a file that it read only in part."""
    unchecked: tuple[str, ...] = ()
    """Things not compared, and why: a line each."""
    selection: Selected | None = None
    """Which connections were compared; `None` for all."""

    @property
    def agrees(self) -> bool:
        """No difference is unexplained."""
        return not any(measure.unexplained for measure in self.measures)
