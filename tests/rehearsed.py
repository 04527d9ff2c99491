"""What tests of a rehearsed job's network share."""

import os
import subprocess

import pytest

from latpcap.live.network import Network


def _lacking() -> str:
    """What is not permitted here; nothing, if all is."""
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
        done = subprocess.run(["unshare", "--net", "ip", "link", "set", "lo", "up"], capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""


_LACKING = _lacking()
needs_namespaces = pytest.mark.skipif(bool(_LACKING), reason=f"no TUN devices or network namespaces: {_LACKING}")


def crossed(network: Network) -> int:
    """How many packets came to the link, from both sides."""
    return sum(counts.received for counts in network.counts())
