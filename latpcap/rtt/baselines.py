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
    Method.IN_STREAM: "data ACKs",
    Method.BOTH: "handshake and data ACKs",
    Method.FLOOR: "fastest responses",
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
    NEAR = 23


REASON_TEXTS = {
    Reason.NONE: "no TCP handshake, no clean data ACK and no response was captured",
    Reason.GIVEN: "given",
    Reason.AGREE: "TCP handshake and data ACKs agree",
    Reason.NEAR: "TCP handshake and data ACKs differ by less than 0.1 ms, which processing in the hosts may add; both "
    "count",
    Reason.ALONE: "only the TCP handshake was captured",
    Reason.CONFIRMED: "the fastest responses confirm the TCP handshake",
    Reason.SIBLINGS: "from other connections between the same hosts",
    Reason.SLOW_HANDSHAKE: "the TCP handshake took longer than data ACKs, so the data ACKs count",
    Reason.SLOW_DIRECT: "TCP handshake and data ACKs were slower than the faster responses, which are an upper bound",
    Reason.SLOW_DATA: "data takes longer than the small packets of the TCP handshake, so data ACKs count",
    Reason.SYN_ANSWERED: "data takes much longer than the TCP handshake, so data ACKs count: a host on the path "
    "(firewall, load balancer) probably answered the SYN",
    Reason.LATE_DATA: "data ACKs took longer than the TCP handshake, so the handshake counts",
    Reason.SPLIT: "TCP handshake and data ACKs differ, and the capture does not show which is right: the range "
    "includes both",
    Reason.MIDDLEBOX: "the TCP handshake has more evidence than the faster data ACKs, which a host on the path may "
    "have sent",
    Reason.RESENT: "the SYN was sent more than once, so data ACKs count, not the TCP handshake",
    Reason.DATA: "no TCP handshake was captured, so data ACKs count",
    Reason.FLOOR: "no TCP handshake and no clean data ACK was captured, so the fastest response counts, an upper bound",
    Reason.STEADY: "no TCP handshake and no clean data ACK was captured, so the fastest responses count: they take "
    "equally long, unless the server adds the same time to each, the RTT",
    Reason.SPLIT_SYN: "all responses took much longer than TCP handshake or data ACKs: a host on the path (firewall, "
    "NAT, proxy) answered those, or the server takes as long for each response; the range includes both",
    Reason.SPLIT_CHANGE: "all responses were slower by the same amount before or after one moment, because of the path "
    "or of the server: the range includes both",
    Reason.FAR_RESPONSES: "this is the RTT to the host that answers; every response took much longer, so that host may "
    "be a proxy in front of the server",
    Reason.CHANGED: "the path changed: the fastest responses of this period, less the hosts' time known from another "
    "period",
    Reason.VARIES: "the RTT varies, and responses spread evenly around it: its typical value, which TCP handshakes or "
    "data ACKs confirm",
    Reason.COARSE_CLOCK: "the capture's clock has a resolution of one second, too coarse for an RTT",
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
