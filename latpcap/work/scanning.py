"""All parts of a scan by the workers of an engine: analysed, and put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from latpcap.scan import Scan, ScanOptions, part, reduce
from latpcap.work.engine import Engine
from latpcap.work.parts import each_part


def scanned(
    files: Sequence[str],
    asked: ScanOptions,
    engine: Engine,
    parts: int,
    tell: Callable[[str], None] = lambda line: None,
) -> Scan:
    """Scan `files` in so many parts; `tell` hears which are done.

    What goes wrong in a part (a file that its worker does not see) is raised, and ends all others. Raises `WorkersLost`
    where workers die again and again.
    """
    return reduce(each_part(part, files, asked, (), engine, parts, tell))
