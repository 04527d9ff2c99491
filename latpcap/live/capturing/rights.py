"""The right to capture packets: what gives it to a user who lacks it."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path


def is_root() -> bool:
    """Whether this process may do all that the system has in it."""
    return sys.platform != "win32" and os.geteuid() == 0


def how_to_be_allowed(tool: str) -> str:
    """Return how this user gets the right to capture, in one line."""
    if sys.platform == "darwin":
        return "capturing packets needs /dev/bpf*: Wireshark's ChmodBPF opens it, or `sudo`; without them: `--relay`"
    if sys.platform == "win32":
        return "capturing packets needs an administrator, if Npcap asks for one; without: `--relay`"
    needs = "capturing packets needs the capabilities CAP_NET_RAW and CAP_NET_ADMIN"
    if is_root():
        rights = "--cap-add=NET_RAW --cap-add=NET_ADMIN"
        return f"{needs}, which root does not have here: run the container with `{rights}`; without them: `--relay`"
    if may_gain_nothing():
        return (
            f"{needs}, and this process may gain none (no_new_privs, as by systemd's NoNewPrivileges or Docker's "
            "no-new-privileges): run it without that, or as root; without them: `--relay`"
        )
    if group := _group_alone(tool):
        grants = f"`sudo usermod -aG {group} $USER` and a new login make you one of them"
        return f"{tool} may be run by the group {group} only: {grants}; without that: `--relay`"
    return f"{needs}: `sudo setcap cap_net_raw,cap_net_admin=eip {tool}` grants them; without them: `--relay`"


def may_gain_nothing() -> bool:
    """Whether capabilities of a file, and sudo, have no effect on what this process starts."""
    try:
        return "\nNoNewPrivs:\t1\n" in Path("/proc/self/status").read_text()
    except OSError:
        return False


def _group_alone(tool: str) -> str | None:
    """The group that may execute a program where this user may not."""
    if sys.platform == "win32":
        return None
    import grp

    try:
        found = os.stat(tool)
        is_theirs = found.st_mode & stat.S_IXGRP and not os.access(tool, os.X_OK)
        return grp.getgrgid(found.st_gid).gr_name if is_theirs else None
    except (OSError, KeyError):
        return None
