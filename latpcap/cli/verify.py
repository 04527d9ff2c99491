"""`latpcap wireshark CAPTURE --verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latpcap.cli.shared.io import result_format, write_result

if TYPE_CHECKING:
    from latpcap.cli.shared.request import Request
    from latpcap.verify.growing import Check
    from latpcap.verify.result import Verification


def verify(request: Request, *, as_json: bool, output: str | None) -> int:
    """Compare with what tshark says of the same captures with the same keys; return the exit status.

    Of a capture that is still being written both read what it held at the start.
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
