"""What is particular to each protocol in Python: error codes, drivers, and what `calibrate` asks a server.

All else of a protocol is in `core/src/protocols/`. A new one is a file here and a line below.
"""

from __future__ import annotations

from latpcap.protocols.firebird import FIREBIRD
from latpcap.protocols.mysql import MYSQL
from latpcap.protocols.oracle import ORACLE
from latpcap.protocols.postgresql import POSTGRESQL
from latpcap.protocols.protocol import UNKNOWN, DriverTraits, Protocol, Question

__all__ = ["PROTOCOLS", "DriverTraits", "Protocol", "Question", "protocol_called"]

PROTOCOLS = {each.name: each for each in (MYSQL, POSTGRESQL, ORACLE, FIREBIRD)}


def protocol_called(name: str) -> Protocol:
    """The protocol of that name, or one of which nothing is known."""
    return PROTOCOLS.get(name, UNKNOWN)
