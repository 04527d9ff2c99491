"""The process that makes the namespaces of a rehearsed job and keeps them until latpcap has ended.

    python -m latpcap.live.link.namespaces SOCKET CONGESTION_CONTROL ADDRESS:PORT…

A process of its own, since a user namespace can only be made by a process of one thread.
"""

from __future__ import annotations

import sys

from latpcap._core import keep_namespaces

if __name__ == "__main__":
    keep_namespaces(int(sys.argv[1]), sys.argv[3:], sys.argv[2])
