"""The request for a reading: `Request`, made of a command's options; of it `Reading` is for `latpcap.read`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import asdict, replace

from latpcap.cli.shared.status import INTERRUPTED_STATUS
from latpcap.units import DEFAULT_DISK_BYTES, DEFAULT_MEMORY_BYTES, RttIs

if TYPE_CHECKING:
    from latpcap._core import Progress
    from latpcap.capture import Capture

SELECTION = ("stream", "client", "server", "user", "database", "application", "protocol", "start", "end")
"""Options of `Capture.select`."""


class Reading(Struct, frozen=True):
    """How captures are read: what `latpcap.read` takes, beside the captures."""

    show_literals: bool = False
    decode_as: Mapping[int, str] = {}
    keylog: Any = None
    think_s: float = 1.0
    rtt_baseline_ms: float | None = None
    rtt_is: RttIs = "ping"
    pseudonymise: Any = False
    """Whether, or the names that several readings share."""
    memory: int = DEFAULT_MEMORY_BYTES
    disk: int = DEFAULT_DISK_BYTES
    temp_folder: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """As keywords."""
        return asdict(self)


class Request(Struct, frozen=True):
    """Captures, how they are read, which part of them is meant, and whether to be quiet meanwhile."""

    captures: tuple[str, ...]
    reading: Reading
    selected: Mapping[str, Any] = {}
    """Options of `Capture.select`."""
    quiet: bool = False

    def of(self, captures: Sequence[str], **otherwise: Any) -> Request:
        """Request other captures, which are read `otherwise`."""
        return replace(self, captures=tuple(captures), reading=replace(self.reading, **otherwise))

    def read(self, *, may_stop: bool = True, hashes: bool = False) -> Capture:
        """Read the captures, watched, while what measures is imported.

        Where a part of a capture is of use (`may_stop`), the first Ctrl-C ends the reading, the second one latpcap. Who
        will name the `hashes` of the files has them found meanwhile.
        """
        from latpcap.cli.shared.progress import watch
        from latpcap.reading import read
        from latpcap.tables.reading import sources

        paths = [path for given in self.captures for path in sources.paths(given)]

        def work(progress: Progress) -> Capture:
            return read(paths, progress=progress, **self.reading.options).select(**self.selected)

        # A Ctrl-C goes to this thread, and would end an import halfway.
        Thread(target=import_module, args=("latpcap.capture",)).start()
        try:
            return watch(work, quiet=self.quiet, may_stop=may_stop, hashes=hashes)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED_STATUS) from None


def request_of(
    *,
    quiet: bool,
    captures: tuple[str, ...] = (),
    decode_as: tuple[tuple[int, str], ...] = (),
    keylog: tuple[str, ...] = (),
    think: float = 1000.0,
    rtt_baseline: float | None = None,
    **given: Any,
) -> Request:
    """Return the request that a command's options make; it need not have all of them.

    What selects nothing that can be is refused before the captures take their time.
    """
    selected = {name: given.pop(name, None) or None for name in SELECTION}
    if any(selected.values()):
        from latpcap.tables.part.selection import Selection

        Selection.of(**selected)
    reading = Reading(
        decode_as=dict(decode_as), keylog=keylog, think_s=think / 1000, rtt_baseline_ms=rtt_baseline, **given
    )
    return Request(captures, reading, selected, quiet)
