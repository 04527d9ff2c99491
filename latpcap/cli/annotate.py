"""`latpcap annotate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from latpcap.cli.shared import io
from latpcap.cli.shared.files import OUTPUT
from latpcap.cli.shared.io import warn
from latpcap.cli.shared.options import json_option, reading_options
from latpcap.cli.shared.verb import command
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.cli.shared.request import Request


@command(short_help="Copy the captures, with comments for Wireshark.")
@reading_options
@click.argument("output", metavar="OUTPUT", type=OUTPUT)
@click.option("--force", is_flag=True, help="Overwrite an existing file (never one of the captures).")
@click.option(
    "--embed-keys",
    is_flag=True,
    help="Keep the captures' decryption secrets, and add those of --keylog that decrypt their sessions.",
)
@json_option
def annotate(request: Request, output: str, force: bool, embed_keys: bool, as_json: bool) -> None:
    """Copy the captures to a pcapng file, with latpcap's findings and exchanges as packet comments.

    The last argument is the file to write. Packets, times and whatever else a pcapng file holds stay as they are; in
    Wireshark, `frame.comment contains "latpcap"` shows the packets with comments.

    \b
    latpcap annotate capture.pcap annotated.pcapng
    latpcap annotate 'ring/*.pcapng' annotated.pcapng
    """
    from latpcap.cli.shared.progress import watch
    from latpcap.tables.reading import sources
    from latpcap.tables.reading.keys import key_log
    from latpcap.wireshark.annotate import annotate as write
    from latpcap.wireshark.annotate import check_output

    if request.reading.pseudonymise:
        raise UsageError("packets are written as they were captured, names and all: pseudonymise a report instead")
    paths = [path for given in request.captures for path in sources.packets(given)]
    check_output(output, paths, force=force)
    keys = key_log(request.reading.keylog, memory=request.reading.memory)
    capture = request.of(paths, keylog=keys, show_literals=False).read(may_stop=False)
    warn(capture, request.quiet)
    written = watch(
        lambda progress: write(
            paths,
            output,
            capture.analyze(),
            capture.exchanges,
            force=force,
            embed_keys=embed_keys,
            keylog=keys,
            recording=capture.measures.recording.core,
            progress=progress,
        ),
        quiet=request.quiet,
    )
    if as_json:
        from latpcap.report.jsonout import dump

        told = {"path": sources.names([output])[0], "packets_with_comments": written.packets}
        told |= {"decryption_secrets": written.secrets, "tls_sessions_added": written.sessions}
        told |= {"secrets_embedded": written.embedded}
        io.write([dump({"schema": "latpcap.annotation/1", **told})], None)
    elif not request.quiet:
        click.echo(f"latpcap: {output}: {written.text}", err=True)
