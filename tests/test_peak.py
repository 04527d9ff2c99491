"""How much room the analysis takes at its peak: numpy tells tracemalloc of its columns."""

import gc
import tracemalloc
from io import BytesIO

import mysql_wire  # noqa: F401  # puts the generator on the path
from speed.traffic.kinds import KINDS, Wish

import latpcap

PACKETS = 200_000
"""50,000 queries with two RTT samples each: enough that columns outweigh code and texts."""
MOST_BYTES = 260
"""An exchange, beside the core's tables and replays, which take the core's memory."""


def test_an_analysis_takes_no_more_than_this_for_an_exchange() -> None:
    file = BytesIO()
    KINDS["nplus1"](Wish(PACKETS, 1, True, 0)).write(file)
    capture = latpcap.read(file.getvalue())
    latpcap.read(sample()).analyze()  # what is loaded and made once is no part of it
    gc.collect()
    tracemalloc.start()
    try:
        analysis = capture.analyze()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / analysis.summary.exchanges < MOST_BYTES


def sample() -> bytes:
    file = BytesIO()
    KINDS["nplus1"](Wish(4_000, 1, True, 0)).write(file)
    return file.getvalue()
