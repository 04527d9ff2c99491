"""The particulars of each protocol in Python: error codes, and what `calibrate` asks a server.

All else of a protocol is in `core/src/protocols/`. A new one is a file here and a name below.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from latpcap.protocols.protocol import UNKNOWN, Protocol, Question

__all__ = ["NAMES", "Protocol", "Question", "protocol_called"]

NAMES = ("mysql", "postgresql", "oracle", "firebird", "sqlserver")


@cache
def protocol_called(name: str) -> Protocol:
    """The protocol of that name, or one of which nothing is known."""
    found: Protocol = import_module(f"{__name__}.{name}").PROTOCOL if name in NAMES else UNKNOWN
    return found
