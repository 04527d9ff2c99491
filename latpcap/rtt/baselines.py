"""The result: baseline RTTs, their ranges, and the words for where they come from."""

from __future__ import annotations

from enum import IntEnum

from latpcap.tables.columnar.columns import Codes, Entries, Floats, Ints, known

POSITIONS = ("unknown", "client", "server", "between", "loopback")
AT_UNKNOWN, AT_CLIENT, AT_SERVER, BETWEEN, LOOPBACK = range(len(POSITIONS))


class Method(IntEnum):
    """The evidence that a baseline rests on."""

    UNKNOWN = 0
    HANDSHAKE = 1
    IN_STREAM = 2
    BOTH = 3
    FLOOR = 4
    GIVEN = 5


METHOD_NAMES = {
    Method.UNKNOWN: "unknown",
    Method.HANDSHAKE: "handshake",
    Method.IN_STREAM: "in-stream",
    Method.BOTH: "handshake and in-stream",
    Method.FLOOR: "response floor",
    Method.GIVEN: "given",
}


class Reason(IntEnum):
    """Why this method."""

    NONE = 0
    GIVEN = 1
    AGREE = 2
    ALONE = 3
    CONFIRMED = 4
    SIBLINGS = 5
    SLOW_HANDSHAKE = 6
    SLOW_DIRECT = 7
    SLOW_DATA = 8
    SYN_ANSWERED = 9
    LATE_DATA = 10
    SPLIT = 11
    MIDDLEBOX = 12
    RESENT = 13
    DATA = 14
    FLOOR = 15
    COARSE_CLOCK = 16
    CHANGED = 17
    VARIES = 18
    STEADY = 19
    SPLIT_SYN = 20
    SPLIT_CHANGE = 21
    FAR_RESPONSES = 22


REASON_TEXTS = {
    Reason.NONE: "no handshake, no clean ACK and no response was captured",
    Reason.GIVEN: "given",
    Reason.AGREE: "handshake and in-stream agree",
    Reason.ALONE: "only the handshake was seen",
    Reason.CONFIRMED: "the fastest responses confirm the handshake",
    Reason.SIBLINGS: "from other connections between the same hosts",
    Reason.SLOW_HANDSHAKE: "the handshake was slower than the fastest responses, so acknowledgments of data count",
    Reason.SLOW_DIRECT: "handshake and acknowledgments were slower than the faster responses, which are an upper bound",
    Reason.SLOW_DATA: "data takes longer than the handshake's small packets",
    Reason.SYN_ANSWERED: "a host on the way (firewall, load balancer) answered the SYN: data takes much longer",
    Reason.LATE_DATA: "acknowledgments were slower than the faster responses, so the handshake counts",
    Reason.SPLIT: "handshake and in-stream differ, and nothing tells which is right: the range holds both",
    Reason.MIDDLEBOX: "handshake and responses agree; acknowledgments come from a host on the way",
    Reason.RESENT: "the SYN was sent more than once, so acknowledgments of data count, not the handshake",
    Reason.DATA: "no handshake was captured, so acknowledgments of data count",
    Reason.FLOOR: "no handshake and no clean ACK were captured, so the fastest responses count, an upper bound",
    Reason.STEADY: "no handshake and no clean ACK were captured, so the fastest responses count: they are alike, "
    "if the server does not take the same time for each",
    Reason.SPLIT_SYN: "all responses took plainly longer than what was measured directly: a host on the way (firewall, "
    "NAT, proxy) answered, or the server takes as long for each; the range holds both",
    Reason.SPLIT_CHANGE: "responses were all slower by as much until or from one moment on, and nothing tells whether "
    "the path or the server was: the range holds both",
    Reason.FAR_RESPONSES: "to the host that answers; every response took much longer: a proxy "
    "may stand before the server",
    Reason.CHANGED: "the path changed: the fastest responses of this time, less what the hosts took for them before",
    Reason.VARIES: "the RTT varies, as responses spread evenly to both sides: the typical one of them, which handshake "
    "and acknowledgments bear out",
    Reason.COARSE_CLOCK: "the capture's clock has a resolution of a second: no RTT can be measured",
}


class Baselines(Entries, frozen=True):
    """The baseline RTT of each connection (or path) and what it came from; times in ns, NaN where unknown."""

    baseline: Floats
    low: Floats
    high: Floats
    near_share: Floats
    """The part of the RTT between capture point and client; 0 at the client and where unknown, 1 at the server."""
    method: Ints
    reason: Ints
    position: Ints
    handshake: Floats
    """SYN → ACK, both hosts' turnaround included, as Wireshark's iRTT."""
    in_stream_min: Floats
    in_stream_median: Floats
    in_stream_mean: Floats
    floor: Floats
    """The fastest responses (5 % quantile), the near half included."""
    samples: Ints
    """How many measurements the chosen method rests on."""

    @property
    def near(self) -> Floats:
        """The baseline's part between the capture point and the client; 0 where there is no baseline."""
        return known(self.baseline * self.near_share)

    def words(self) -> tuple[Codes, Codes, Codes]:
        """Method, reason and position of each in words."""
        return (
            Codes(self.method, [METHOD_NAMES[method] for method in Method]),
            Codes(self.reason, [REASON_TEXTS[reason] for reason in Reason]),
            Codes(self.position, list(POSITIONS)),
        )

    def method_name(self, index: int) -> str:
        """The method in words."""
        return METHOD_NAMES[Method(self.method[index])]

    def position_name(self, index: int) -> str:
        """The place where the capture was taken."""
        return POSITIONS[self.position[index]]

    def reason_text(self, index: int) -> str:
        """Why this method, as a sentence."""
        return REASON_TEXTS[Reason(self.reason[index])]
