"""Become a command in the namespace of a rehearsed job: its user, folder, terminal and process group stay.

    python -m latpcap.live.inside NETWORK USER MAY_CAPTURE FILES COMMAND…

USER is empty where there is no user namespace, FILES how many files the command may have open.
"""

from __future__ import annotations

import os
import resource
import sys

from latpcap._core import enter_namespaces


def main(network: str, user: str, may_capture: str, files: str, *command: str) -> None:
    """Enter, and do not return."""
    enter_namespaces(network, user or None, may_capture=bool(may_capture))
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
