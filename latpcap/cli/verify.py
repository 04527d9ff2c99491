"""`latpcap verify`."""

from __future__ import annotations

from typing import Any

import click

from latpcap.cli.io import result_format, write_result
from latpcap.cli.options import (
    captures_argument,
    color_option,
    connection_options,
    decode_as_option,
    json_option,
    keylog_option,
    memory_option,
    output_option,
)

__all__ = ["verify"]


@click.command()
@captures_argument
@connection_options
@decode_as_option
@keylog_option
@memory_option
@json_option
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@color_option
@output_option
def verify(
    captures: tuple[str, ...],
    decode_as: tuple[tuple[int, str], ...],
    keylog: tuple[str, ...],
    memory: int,
    as_json: bool,
    quiet: bool,
    output: str | None,
    **asked: Any,
) -> int:
    """Compare with Wireshark's own dissectors, measure by measure.

    Runs tshark, which must be installed, over the same captures and with the same keys. Exit status: 0 the two
    agree, but for differences whose reason is known; 1 a difference is unexplained.

    \b
    latpcap verify capture.pcapng
    latpcap verify 'ring/*.pcapng' --json
    latpcap verify capture.pcapng --server :3306
    """
    from latpcap.cli.progress import watch
    from latpcap.tables import sources
    from latpcap.tables.keys import held
    from latpcap.tables.selection import Selection
    from latpcap.verify import compare, ours, wireshark

    chosen = result_format(as_json, output)
    paths = [path for given in captures for path in sources.packets(given)]
    wireshark.version()  # before the captures take their time
    selection = Selection.of(**asked)
    keys = held(keylog)
    seen = watch(lambda progress: ours.read(paths, dict(decode_as), memory, progress, selection, keys), quiet=quiet)
    result = compare(paths, seen, keys)
    write_result(result, chosen, output)
    return 0 if result.agrees else 1
