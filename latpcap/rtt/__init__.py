"""The baseline RTT of each connection and path: from its handshake, from its data, or bounded by its responses.

```text
handshake       SYN → SYN/ACK, SYN/ACK → ACK                                once a connection, with tiny packets
in-stream       data → its ACK, on the far side (server) and the near side  often, with real packets
response floor  the fastest responses: RTT + service, so an upper bound     always
```

The capture point cuts the path into two halves, and each is measured in these three ways. At the client only the far
half is network (the near one is the client's own turnaround), at the server only the near half; in between they add up.

measured.py  what the capture shows of each half       choice.py       which of it counts, and why
position.py  where the capture was taken               uncertainty.py  how sure that is
location.py  the typical one of many measurements      estimate.py     connections and paths
"""

from latpcap.rtt.estimate import Estimate, estimate, estimate_paths
from latpcap.rtt.paths import Paths
from latpcap.rtt.result import LOOPBACK, Baselines, Method, Reason

__all__ = ["LOOPBACK", "R_FLOOR", "UNKNOWN", "Baselines", "Estimate", "Method", "Paths", "Reason"]
__all__ += ["estimate", "estimate_paths"]

UNKNOWN = Method.UNKNOWN
R_FLOOR = Reason.FLOOR
