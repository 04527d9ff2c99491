"""Wireshark's programs: in the PATH, or where its installers put them, which do not tell the PATH."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping


def installed(name: str, system: str = sys.platform, environment: Mapping[str, str] = os.environ) -> str | None:
    """The file of a program."""
    folder, ending = {
        "darwin": ("/Applications/Wireshark.app/Contents/MacOS", ""),
        "win32": (os.path.join(environment.get("ProgramFiles", r"C:\Program Files"), "Wireshark"), ".exe"),
    }.get(system, ("", ""))
    found = shutil.which(name, path=environment.get("PATH"))
    return found or (shutil.which(os.path.join(folder, name + ending)) if folder else None)
