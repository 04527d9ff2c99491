"""Become a command in the namespace of a rehearsed job: its user, folder, terminal and process group stay.

    python -m latpcap.live.link.namespace_command NETWORK USER MAY_CAPTURE FILES COMMAND…

USER is empty where there is no user namespace, FILES how many files the command may have open.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

from latpcap._core import enter_namespaces

assert sys.platform == "linux"

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""As shells end where a command cannot be run."""


def main(network: str, user: str, may_capture: str, files: str, *command: str) -> int:
    """Enter, and return only if that is not possible."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a Ctrl-C now is one for the command
    try:
        enter_namespaces(network, user or None, may_capture=bool(may_capture))
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)  # Python ignores them; a command shall not
        os.execvp(command[0], command)
    except OSError as error:
        print(f"latpcap: {command[0]}: {error.strerror or error}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
