"""`latpcap wireshark`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from latpcap.cli.shared.files import CAPTURE, OUTPUT
from latpcap.cli.shared.io import warn, write
from latpcap.cli.shared.options import decode_as_option, keylog_option, requesting
from latpcap.cli.shared.verb import command
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.cli.shared.request import Request


@command(short_help="Open a capture in Wireshark, with latpcap's results beside the packets.")
@requesting(
    click.argument("captures", nargs=-1, required=True, metavar="CAPTURE|install|uninstall", type=CAPTURE),
    decode_as_option,
    keylog_option,
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OUTPUT,
    help="Write the plugin's data to FILE instead, for tshark: LATPCAP_FACTS=FILE tshark -r CAPTURE …",
)
def wireshark(request: Request, output: str | None) -> None:
    """Open a capture in Wireshark (4.0 and newer), with latpcap's results in columns, display filters and menus.

    `install` copies the plugin and the profile `latpcap` to your folders and names these, `uninstall` removes them.
    In a Wireshark with the plugin, Tools → latpcap → Analyse this capture does the same for an open capture.

    \b
    latpcap wireshark install
    latpcap wireshark capture.pcapng
    latpcap wireshark capture.pcapng -o capture.facts
    """
    from latpcap.wireshark.facts import facts, findings_of, ports_of
    from latpcap.wireshark.installing import check_installed
    from latpcap.wireshark.opening import check_display, show, told_of_ports
    from latpcap.wireshark.places import places, program

    if request.captures in (("install",), ("uninstall",)):
        _put(request.captures[0])
        return
    path = _path(request)
    if output is None:
        if request.reading.pseudonymise:
            raise UsageError("Wireshark shows the packets, names and all: pseudonymise a report instead")
        found = program()
        check_display()
        check_installed(places())
    capture = request.of([path]).read(may_stop=False)
    findings = findings_of(capture)
    lines = facts(capture, findings)
    warn(capture, request.quiet)
    if output is not None:
        write(lines, output)
        return
    buttons = {key: result.title for key, result, _ in findings if result.frames}
    reading, ports = request.reading, ports_of(capture)
    if (told := told_of_ports(ports)) and not request.quiet:
        click.echo(f"latpcap: {told}", err=True)
    show(found, path, lines, buttons, ports=ports, decode_as=reading.decode_as, keylog=reading.keylog)


def _put(what: str) -> None:
    from latpcap.wireshark.installing import install, uninstall
    from latpcap.wireshark.places import places

    if what == "install":
        write((f"{line}\n" for line in install(places())), None)
    else:
        write([f"removed  {line}\n" for line in uninstall(places())] or ["nothing was installed\n"], None)


def _path(request: Request) -> str:
    """The capture: Wireshark opens one file, and it and latpcap read it twice."""
    from latpcap.tables.reading import sources

    paths = [path for given in request.captures for path in sources.packets(given)]
    if len(paths) != 1 or paths == ["-"]:
        raise UsageError("name one capture: `mergecap -w all.pcapng …` or `latpcap annotate` makes one file of several")
    [path] = sources.on_disk(sources.resolve(paths))
    return path
