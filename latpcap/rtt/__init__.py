"""The baseline RTT of each connection and path: from its handshake, from its data, or bounded by its responses.

```text
handshake       SYN → SYN/ACK, SYN/ACK → ACK                                once a connection, with tiny packets
in-stream       data → its ACK, on the far side (server) and the near side  often, with real packets
response floor  the fastest responses: RTT + service, so an upper bound     always
```

The capture point cuts the path into two halves, and each is measured in these three ways. At the client only the far
half is network (the near one is the client's own turnaround), at the server only the near half; in between they add up.

measured.py   what the capture shows of each half    paths.py         who shares a path, where it was captured
choice.py     what most of it says, and how sure     estimate.py      connections and paths
varying.py    an RTT that varies                     changes.py       when a path's RTT changed
clocks.py     what the senders' clocks say of that   phases.py        connections cut there
of_window.py  what a window takes over               behind_proxy.py  networks behind a proxy
baselines.py  the result                             grouped.py       many groups at once
"""

from latpcap.rtt.baselines import LOOPBACK, Baselines, Method, Reason
from latpcap.rtt.behind_proxy import BehindProxy
from latpcap.rtt.estimate import Estimate, estimate, estimate_paths
from latpcap.rtt.paths import Paths
from latpcap.rtt.window import estimate_recording

__all__ = [
    "LOOPBACK",
    "Baselines",
    "BehindProxy",
    "Estimate",
    "Method",
    "Paths",
    "Reason",
    "estimate",
    "estimate_paths",
    "estimate_recording",
]
