"""`latpcap wireshark`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from latpcap.cli.shared.command import command
from latpcap.cli.shared.files import OUTPUT
from latpcap.cli.shared.io import warn, write
from latpcap.cli.shared.options import finding_options, json_option, set_output
from latpcap.errors import UsageError
from latpcap.report import CAPTURES

if TYPE_CHECKING:
    from latpcap.cli.shared.request import Request


@command(short_help="Open in Wireshark, write comments for it, or compare with it.")
@finding_options
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OUTPUT,
    callback=set_output,
    help="Write FILE instead: .pcapng is a copy of the captures with comments, any other name the plugin's data for "
    "tshark (LATPCAP_FACTS=FILE tshark -r CAPTURE …), with --verify its result.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing copy (never one of the captures).")
@click.option(
    "--embed-keys",
    is_flag=True,
    help="Keep the captures' decryption secrets in the copy, and add those of --keylog that decrypt their sessions.",
)
@click.option(
    "--verify", is_flag=True, help="Compare with Wireshark's own dissectors (tshark), measure by measure, instead."
)
@json_option
def wireshark(
    request: Request, output: str | None, force: bool, embed_keys: bool, verify: bool, as_json: bool
) -> int | None:
    """Open a capture in Wireshark (4.0 and newer), with latpcap's results in columns, display filters and menus.

    `install` in place of a capture copies the plugin and the profile `latpcap` to your folders and names these,
    `uninstall` removes them. In a Wireshark with the plugin, Tools → latpcap → Analyse this capture does the same for
    an open capture. A copy has the packets as they are, and latpcap's findings and exchanges as packet comments:
    `frame.comment contains "latpcap"` shows these.

    \b
    latpcap wireshark install
    latpcap wireshark capture.pcapng
    latpcap wireshark 'ring/*.pcapng' -o annotated.pcapng
    latpcap wireshark capture.pcapng -o capture.facts
    latpcap wireshark capture.pcapng --verify
    """
    if request.captures in (("install",), ("uninstall",)):
        _put(request.captures[0])
        return None
    if request.reading.pseudonymise:
        raise UsageError("Wireshark shows the packets, names and all: pseudonymise a report instead")
    is_copy = output is not None and not verify and output.lower().endswith(CAPTURES)
    _refuse_unused(is_copy=is_copy, force=force, embed_keys=embed_keys, as_json=as_json and not verify)
    if verify:
        from latpcap.cli.verify import verify as compare_with_tshark

        if request.selected["start"] or request.selected["end"]:
            raise UsageError("--verify compares whole connections: leave --from and --to out")
        return compare_with_tshark(request, as_json=as_json, output=output)
    if is_copy:
        from latpcap.cli.annotate import annotate

        annotate(request, str(output), force=force, embed_keys=embed_keys, as_json=as_json)
        return None
    _open(request, output)
    return None


def _refuse_unused(*, is_copy: bool, **given: bool) -> None:
    """Refuse options of the annotated copy where none is written."""
    for name, is_given in given.items():
        if is_given and not is_copy:
            option = name.removeprefix("as_").replace("_", "-")
            also = " or --verify" if name == "as_json" else ""
            raise UsageError(f"--{option} is of an annotated copy: add -o annotated.pcapng{also}")


def _open(request: Request, output: str | None) -> None:
    """Open a capture in Wireshark, or write what the plugin shows of it."""
    from latpcap.wireshark.facts import facts, findings_of, ports_of
    from latpcap.wireshark.folders import places, program
    from latpcap.wireshark.installing import check_installed
    from latpcap.wireshark.opening import check_display, show, told_of_ports

    path = _path(request)
    if output is None:
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
    from latpcap.wireshark.folders import places
    from latpcap.wireshark.installing import install, uninstall

    if what == "install":
        write((f"{line}\n" for line in install(places())), None)
    else:
        write([f"removed  {line}\n" for line in uninstall(places())] or ["nothing was installed\n"], None)


def _path(request: Request) -> str:
    """The capture: Wireshark opens one file, and it and latpcap read it twice."""
    from latpcap.tables.reading import sources

    paths = [path for given in request.captures for path in sources.packets(given)]
    if len(paths) != 1 or paths == ["-"]:
        raise UsageError(
            "name one capture: `mergecap -w all.pcapng …` or -o annotated.pcapng makes one file of several"
        )
    [path] = sources.on_disk(sources.resolve(paths))
    return path
