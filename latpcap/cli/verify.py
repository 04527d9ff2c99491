"""`latpcap verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latpcap.cli.shared.io import result_format, write_result
from latpcap.cli.shared.options import (
    ROOM,
    captures_argument,
    connection_options,
    decode_as_option,
    json_option,
    keylog_option,
    output_option,
    requesting,
)
from latpcap.cli.shared.verb import command

if TYPE_CHECKING:
    from latpcap.cli.shared.request import Request
    from latpcap.verify.growing import Check
    from latpcap.verify.result import Verification


@command(short_help="Compare with Wireshark's own dissectors, measure by measure.", without=set(ROOM) - {"memory"})
@requesting(captures_argument, connection_options, decode_as_option, keylog_option)
@json_option
@output_option
def verify(request: Request, as_json: bool, output: str | None) -> int:
    """Compare with Wireshark's own dissectors, measure by measure.

    Runs tshark, which must be installed, on the same captures with the same keys. Exit status: 0 if the two agree or
    all differences have a known reason, 1 if a difference is unexplained. Of a capture that is still being written
    both read what it held at the start.

    \b
    latpcap verify capture.pcapng
    latpcap verify 'ring/*.pcapng' --json
    latpcap verify capture.pcapng --server :3306
    """
    from latpcap.cli.shared.progress import watch
    from latpcap.tables.part.selection import Selection
    from latpcap.tables.reading import sources
    from latpcap.tables.reading.keys import held
    from latpcap.verify import compare, ours, wireshark
    from latpcap.verify.growing import as_at_the_start

    chosen = result_format(as_json, output)
    paths = [path for given in request.captures for path in sources.packets(given)]
    wireshark.version()  # before the captures take their time
    reading, selection = request.reading, Selection.of(**request.selected)
    keys = held(reading.keylog)

    def work(paths: list[str], check: Check) -> Verification:
        seen = watch(
            lambda progress: ours.read(paths, dict(reading.decode_as), reading.memory, progress, selection, keys),
            quiet=request.quiet,
        )
        return compare(paths, seen, keys, check)

    result = as_at_the_start(paths, work)
    write_result(result, chosen, output)
    return 0 if result.agrees else 1
