r"""The folders in which Wireshark looks for a user's plugins and profiles, and its own.

| | plugins | configuration |
|---|---|---|
| Linux, macOS | `~/.local/lib/wireshark/plugins` | `$XDG_CONFIG_HOME/wireshark`, or an old `~/.wireshark` |
| Windows | `plugins` of the configuration | `%APPDATA%\Wireshark` |

`WIRESHARK_CONFIG_DIR` overrules the configuration (`tshark -G folders` shows what Wireshark makes of all this).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from latpcap.errors import UsageError
from latpcap.verify.programs import installed

NAME = "latpcap"
"""The name of plugin and profile."""
WINDOWS = "win32"


class WiresharkPlaces(Struct, frozen=True):
    """Paths to install to."""

    plugin: Path
    profile: Path


def places(system: str = sys.platform, environment: Mapping[str, str] = os.environ) -> WiresharkPlaces:
    """Locate plugin and profile on this machine."""
    home = Path(environment.get("HOME") or Path.home())
    configuration = _configuration(system, environment, home)
    plugins = configuration / "plugins" if system == WINDOWS else home / ".local/lib/wireshark/plugins"
    return WiresharkPlaces(plugins / f"{NAME}.lua", configuration / "profiles" / NAME)


def _configuration(system: str, environment: Mapping[str, str], home: Path) -> Path:
    if given := environment.get("WIRESHARK_CONFIG_DIR"):
        return Path(given)
    if system == WINDOWS:
        return Path(environment.get("APPDATA") or home / "AppData/Roaming") / "Wireshark"
    usual, old = Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "wireshark", home / ".wireshark"
    return old if old.is_dir() and not usual.is_dir() else usual


def program(system: str = sys.platform, environment: Mapping[str, str] = os.environ) -> str:
    """Wireshark: in the PATH, or where its installers put it."""
    found = installed("wireshark", system, environment) or installed("Wireshark", system, environment)
    if not found:
        raise UsageError(
            "Wireshark is not installed: apt install wireshark (or wireshark.org), and have it in the PATH"
        )
    return found
