"""The limits of the comparison: said, so that nobody takes agreement for more than it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from latpcap import protocols
from latpcap.units import counted
from latpcap.verify.ours import Connection, Ours
from latpcap.verify.texts import MAX_COMPARED_CHARS
from latpcap.verify.wireshark import DISSECTORS, Dissection

NAMES = {name: protocols.protocol_called(name).title for name in protocols.NAMES if name not in DISSECTORS}
NAMES |= {"opaque": "opaque", "turns": "opaque"}
"""Protocols of which nothing above TCP is compared."""


def unchecked(ours: Ours, theirs: Dissection) -> Iterator[str]:
    """Yield what was read and not compared, a line each."""
    databases = [connection for connection in ours.connections if connection.protocol is not None]
    if not databases and not theirs.speaks:
        yield "statements and answers: latpcap reads no database traffic here, only packets, streams and handshakes"
    for name in sorted({NAMES[each.protocol] for each in databases if each.protocol in NAMES}):
        count = sum(NAMES.get(each.protocol or "") == name for each in databases)
        yield f"requests, statements and answers of {counted(count, 'connection')}: what {name} says is not compared"
    for which, why in KINDS:
        count = sum(which(each) for each in databases if each.protocol not in NAMES)
        if count:
            yield f"statements and answers of {counted(count, 'connection')}: {why}"
    if long := sum(len(each.statement or "") > MAX_COMPARED_CHARS for part in ours.exchanges.values() for each in part):
        yield f"the ends of {long:,} statements: of each the first {MAX_COMPARED_CHARS:,} characters are compared"
    if theirs.tunnelled:
        yield f"what {counted(len(theirs.tunnelled), 'connection')} to a SOCKS proxy carry: latpcap does not read it"
    if theirs.complaint:
        yield "what follows where tshark gave up"


KINDS: tuple[tuple[Callable[[Connection], bool], str], ...] = (
    (lambda each: each.timing_only, "encrypted, so neither of the two can read them without a key"),
    (lambda each: each.compressed, "compressed, and Wireshark inflates nothing"),
    (lambda each: each.replication, "what a replication stream pushes is in no count"),
)
"""Connections whose content one of the two cannot read, and why."""
