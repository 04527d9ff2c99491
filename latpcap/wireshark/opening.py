"""Wireshark with a capture, its facts, the profile, and a filter button for each finding."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence

from latpcap.errors import CommandFailed, UsageError
from latpcap.report.text import printable
from latpcap.tables.writing.outputs import write
from latpcap.verify.wireshark import decoded_as
from latpcap.wireshark.folders import NAME, WINDOWS

MAX_PORT_WORDS = 800
"""Words of the command line for ports, two for adjacent ones: Windows takes no line of more than 32,767 characters."""


def check_display() -> None:
    """Refuse where no window can open."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise UsageError("there is no display for Wireshark's window: write the facts with -o FILE, for tshark")


def told_of_ports(ports: Mapping[str, set[int]]) -> str | None:
    """That Wireshark will not decode all of them, where that is so."""
    decoded = decoded_as(ports)
    if len(decoded) <= MAX_PORT_WORDS:
        return None
    return (
        f"Wireshark's command line is too long for {len(decoded) // 2:,} ports: it decodes the first "
        f"{MAX_PORT_WORDS // 2:,}; columns and filters of latpcap have all"
    )


def show(
    wireshark: str,
    path: str,
    lines: Iterable[str],
    buttons: Mapping[str, str],
    *,
    ports: Mapping[str, set[int]],
    decode_as: Mapping[int, str],
    keylog: Sequence[str],
) -> None:
    """Open a capture, and wait until Wireshark is closed; `buttons` are findings: their keys and titles.

    Wireshark goes by ports, so it is given those on which latpcap found a database, as far as its command line is long.
    """
    path = os.path.abspath(path)
    words = [path]
    options = ["-C", NAME, *decoded_as(ports)[:MAX_PORT_WORDS]]
    for log in keylog:
        words += ["--keylog", os.path.abspath(log)]
        options += ["-o", f"tls.keylog_file:{os.path.abspath(log)}"]
    for port, protocol in decode_as.items():
        words += ["--decode-as", f"{port}={protocol}"]
    for key, title in buttons.items():
        options += ["-o", f"uat:dfilter_buttons:{_button(key, title)}"]
    with tempfile.TemporaryDirectory(prefix="latpcap-") as folder:
        facts = os.path.join(folder, "facts")
        write(facts, lines)
        environment = os.environ | {"LATPCAP_FACTS": facts, "LATPCAP_CAPTURE": _quoted(words)}
        status = subprocess.run([wireshark, *options, "-r", path], env=environment, check=False).returncode
    if status:
        raise CommandFailed(f"Wireshark ended with status {status}", abs(status))


def _quoted(words: Sequence[str]) -> str:
    """As the shell reads them, whom the plugin has to call latpcap."""
    return " ".join(f'"{word}"' for word in words) if sys.platform == WINDOWS else shlex.join(words)


def _button(key: str, title: str) -> str:
    r"""A filter button, as a preference takes it; the title comes from a capture.

    >>> print(_button("n+1 2", 'with "quotes"'))
    "TRUE","n+1 2","latpcap.finding == \x22n+1 2\x22","with \x22quotes\x22"
    """
    shown = printable(title).replace("\\", "\\x5c").replace('"', "\\x22")
    return f'"TRUE","{key}","latpcap.finding == \\x22{key}\\x22","{shown}"'
