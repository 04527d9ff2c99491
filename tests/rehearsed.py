"""What tests of a rehearsed job's network share."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from latpcap.live.link.network import Network


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


ASKED = ("link", "address", "-4 rule", "-6 rule", "-4 route show table all", "-6 route show table all", "netns")


def settings() -> Iterator[tuple[str, str]]:
    """All that can be set of this machine's network."""
    for path in sorted(Path("/proc/sys/net").rglob("*")):
        if path.is_file() and path.stat().st_mode & 0o200 and "hostname" not in path.name:
            try:
                yield str(path), path.read_text()
            except OSError:
                yield str(path), ""


def machine() -> dict[str, str]:
    """This machine's own network."""
    texts = {what: subprocess.run(["ip", *what.split()], capture_output=True, text=True).stdout for what in ASKED}
    return texts | dict(settings())
