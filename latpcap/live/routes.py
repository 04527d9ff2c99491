"""Which interface leads to a server: that of the system's route, `lo` for an address of this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable

MAX_ANSWER_S = 5.0


def interfaces_to(addresses: Iterable[str]) -> tuple[str, ...]:
    """The interfaces that lead to these addresses; none where the system cannot tell."""
    found = [_interface_to(address) for address in addresses]
    return tuple(dict.fromkeys(name for name in found if name))


def _interface_to(address: str) -> str | None:
    """Ask `ip route get`, which knows policies, containers and addresses of its own; `None` where it is missing."""
    ip = shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if ip is None:
        return None
    try:
        asked = [ip, "-j", "route", "get", address.partition("%")[0]]
        done = subprocess.run(asked, capture_output=True, timeout=MAX_ANSWER_S, check=True)
        routes = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    device = routes[0].get("dev") if isinstance(routes, list) and routes else None
    return device if isinstance(device, str) else None
