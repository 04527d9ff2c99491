"""`latpcap wireshark CAPTURE -o annotated.pcapng`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latpcap.cli.shared import io
from latpcap.cli.shared.io import teller, warn

if TYPE_CHECKING:
    from latpcap.cli.shared.request import Request


def annotate(request: Request, output: str, *, force: bool, embed_keys: bool, as_json: bool) -> None:
    """Copy the captures to a pcapng file, with latpcap's findings and exchanges as packet comments."""
    from latpcap.cli.shared.progress import watch
    from latpcap.tables.reading import sources
    from latpcap.tables.reading.keys import key_log
    from latpcap.wireshark.annotate import annotate as write
    from latpcap.wireshark.annotate import check_output

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
    else:
        teller(request.quiet)(f"{output}: {written.text}")
