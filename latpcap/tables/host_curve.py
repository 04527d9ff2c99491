"""How much later a host answers after a rest, as its recordings say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from msgspec import Meta, Struct

from latpcap.tables.part.endpoints import is_loopback

MAX_POINTS = 16
RestMs = Annotated[float, Meta(ge=0, le=10_000)]
ExtraMs = Annotated[float, Meta(ge=0, le=20)]


class HostCurve(Struct, frozen=True):
    """The extra time of a round trip after a rest, on the host with these addresses."""

    rests_ms: Annotated[tuple[RestMs, ...], Meta(min_length=1, max_length=MAX_POINTS)]
    """Ascending."""
    extra_ms: Annotated[tuple[ExtraMs, ...], Meta(min_length=1, max_length=MAX_POINTS)]
    """By rest, beyond a round trip without one."""
    addresses: frozenset[str]
    """The host's, or their pseudonyms."""

    @property
    def is_valid(self) -> bool:
        """Whether each rest is longer than the one before it, and its extra time no less."""
        ascends = all(shorter < longer for shorter, longer in pairwise(self.rests_ms))
        return ascends and [*self.extra_ms] == sorted(self.extra_ms) and len(self.rests_ms) == len(self.extra_ms)

    @classmethod
    def of(cls, read: tuple[Sequence[float], Sequence[float], Sequence[str]] | None) -> HostCurve | None:
        """Take what the core has read."""
        return None if read is None else cls(tuple(read[0]), tuple(read[1]), frozenset(read[2]))

    def holds_for(self, address: str) -> bool:
        """Whether a host's address is this host's: any of loopback is, where it was recorded.

        >>> here = HostCurve((1.0, 5.0), (0.05, 0.47), frozenset({"10.0.0.5", "127.0.0.1"}))
        >>> [here.holds_for(address) for address in ("10.0.0.5", "127.0.1.1", "::1", "10.0.0.6", "server-1")]
        [True, True, True, False, False]
        """
        return address in self.addresses or (is_loopback(address) and any(map(is_loopback, self.addresses)))
