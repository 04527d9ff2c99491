"""Plugin and profile, put in place and taken away.

The plugin is written anew each time. A profile's files are the user's once they are there: Wireshark itself writes into
them when columns or buttons are changed, so only those that are missing are written.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import files

from latpcap.errors import UsageError, unwritten
from latpcap.wireshark.folders import WiresharkPlaces

PROFILE = ("preferences", "colorfilters", "dfilter_buttons", "recent")


def install(to: WiresharkPlaces) -> list[str]:
    """Write plugin and profile; return what became of each file, a line each."""
    written = dict(_profile())
    there = [name for name in written if (to.profile / name).exists()]
    try:
        for folder in (to.plugin.parent, to.profile):
            folder.mkdir(parents=True, exist_ok=True)
        to.plugin.write_text(_plugin(), "utf-8")
        for name in written.keys() - there:
            (to.profile / name).write_text(written[name], "utf-8")
    except OSError as error:
        raise unwritten(error.filename or to.plugin, error) from None
    kept = f" (kept as they were: {', '.join(there)})" if there else ""
    return [f"plugin   {to.plugin}", f"profile  {to.profile}{kept}"]


def uninstall(to: WiresharkPlaces) -> list[str]:
    """Remove both; return what was removed, a line each."""
    removed = []
    try:
        if to.plugin.exists():
            to.plugin.unlink()
            removed.append(f"plugin   {to.plugin}")
        if to.profile.is_symlink() or to.profile.exists():
            to.profile.unlink() if to.profile.is_symlink() else shutil.rmtree(to.profile)
            removed.append(f"profile  {to.profile}")
    except OSError as error:
        raise unwritten(error.filename or to.plugin, error) from None
    return removed


def check_installed(to: WiresharkPlaces) -> None:
    """Refuse where the plugin is not there, or that of another latpcap, which may read other facts."""
    there = to.plugin.read_text("utf-8", "replace") if to.plugin.is_file() else None
    if there == _plugin() and to.profile.is_dir():
        return
    what = "is not installed" if there is None else "is not that of this latpcap"
    raise UsageError(f"{to.plugin}: the plugin {what}: run `latpcap wireshark install`")


def _profile() -> Iterator[tuple[str, str]]:
    for name in PROFILE:
        yield name, (files("latpcap.wireshark") / "profile" / name).read_text("utf-8")


def _plugin() -> str:
    """The plugin, which knows by which Python to call latpcap."""
    command = [sys.executable, "-m", "latpcap"]
    words = f'"{command[0]}" -m latpcap' if sys.platform == "win32" else shlex.join(command)
    source = (files("latpcap.wireshark") / "latpcap.lua").read_text("utf-8")
    return source.replace('"@LATPCAP@"', lua_text(words))


def lua_text(text: str) -> str:
    r"""Return a text as Lua reads it, whatever it holds.

    >>> lua_text('/opt/a "b"/python')
    '"\\047opt\\047a\\032\\034b\\034\\047python"'
    """
    plain = set(b"abcdefghijklmnopqrstuvwxyz")
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03}" for byte in text.encode()) + '"'
