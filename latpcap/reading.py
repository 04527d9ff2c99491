"""`read()`: captures, or the datasets that were made of them, as one recording.

What only a recording that was read needs is imported then: a command does that while it is read
(`cli/shared/request.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from msgspec.structs import replace

from latpcap import _core
from latpcap.errors import CaptureError, UsageError
from latpcap.quantities import Duration, milliseconds, seconds, size
from latpcap.tables.dataset import manifest
from latpcap.tables.dataset.layout import is_dataset
from latpcap.tables.dataset.manifest import ReadWith
from latpcap.tables.reading import sources
from latpcap.tables.reading.disk_space import room_in
from latpcap.tables.reading.keys import key_log, named
from latpcap.tables.reading.packets import link_type_named
from latpcap.tables.reading.remote import opened
from latpcap.units import DEFAULT_DISK_BYTES, DEFAULT_MEMORY_BYTES, RttIs, check_rtt_is

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.tables.dataset.loading import Dataset
    from latpcap.tables.privacy.pseudonyms import Pseudonyms


class ReadOptions(TypedDict, total=False):
    """The options of `read` beside the captures, for functions that hand it on."""

    show_literals: bool
    decode_as: dict[int, str] | None
    think_s: Duration
    rtt_baseline_ms: Duration | None
    rtt_is: RttIs
    pseudonymise: bool | Pseudonyms
    memory: int | str
    disk: int | str
    temp_folder: str | os.PathLike[str] | None
    threads: int | None
    keylog: Any
    link_type: int | str | None
    part: tuple[int | Sequence[int], int] | None
    progress: Any


def read(
    source: Any,
    *,
    show_literals: bool = False,
    decode_as: dict[int, str] | None = None,
    think_s: Duration = 1.0,
    rtt_baseline_ms: Duration | None = None,
    rtt_is: RttIs = "ping",
    pseudonymise: bool | Pseudonyms = False,
    memory: int | str = DEFAULT_MEMORY_BYTES,
    disk: int | str = DEFAULT_DISK_BYTES,
    temp_folder: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    keylog: Any = None,
    link_type: int | str | None = None,
    part: tuple[int | Sequence[int], int] | None = None,
    progress: Any = None,
) -> Capture:
    """Read one or several captures as one recording.

    `source` is a path, a glob, a URL (such as `s3://…`), `-` (standard input), a file object, bytes, packets of
    scapy, a reader of dpkt, pyshark's `FileCapture`, tuples of a time and bytes, or a list of these. `show_literals`
    keeps the literals of statements; `decode_as` names the protocol of a server port; client time above `think_s`
    seconds counts as think time; `rtt_baseline_ms` overrules the measured RTT (durations are numbers of the unit in the
    name, or texts such as `"15ms"`); `rtt_is` (`"ping"`, `"handshake"`, `"in-stream"`) says how the RTTs were measured
    that results are projected onto; `pseudonymise` puts stable names in the place of addresses, users, databases,
    applications and files (one `latpcap.Pseudonyms` given to several readings keeps the names the same in all of them);
    reading keeps no more than `memory` (bytes, or `"512MiB"`): exchanges beyond it go to temporary files in
    `temp_folder`, no more than `disk` bytes (0 for none) and never all that is free there; what has no room is left
    out, and `health` says what that is; reading takes as many `threads` as there are processors (what is read does not
    depend on it); `keylog` is a path to the secrets of TLS sessions as a client logs them (SSLKEYLOGFILE; also bytes, a
    file object, or a list of these), with which their statements are read as if nobody had encrypted them; `link_type`
    is that of packets that do not tell their own (`"ethernet"`, `"raw"` for IP without a frame, or a LINKTYPE's
    number); `part=(k, n)` reads only part k (from 0) of n of the recording, which is made of whole client groups
    (docs/long-recordings.md), or several of these parts (`part=((0, 3), 8)`); `progress` (a `latpcap.Progress`) can be
    watched and cancelled from another thread.

    Raises `CaptureError` where a file cannot be read or is no capture; whoever computes from what was read, `DiskFull`
    where temporary files have no room.
    """
    think_s = seconds(think_s)
    rtt_baseline_ms = None if rtt_baseline_ms is None else milliseconds(rtt_baseline_ms)
    check_rtt_is(rtt_is)
    if threads is not None and threads < 1:
        raise UsageError("reading takes one thread at least")
    resolved = sources.resolve(source, link_type_named(link_type))
    if not resolved:
        raise UsageError("there is nothing to read: the list of captures is empty")
    names = _new_pseudonyms() if pseudonymise is True else pseudonymise or None
    memory, disk = size(memory), 0 if disk in (0, "0") else size(disk)
    if "-" in resolved and "-" in named(keylog):
        raise UsageError("standard input is either the capture or the key log: name a file for one of them")
    keys = key_log(keylog, memory=memory, show_names=names is None)
    room = room_in(temp_folder, disk)
    core: Any
    read_with = ReadWith(show_literals, bool(names), decode_as or {})
    with _told_as_errors(resolved, names):
        if folders := [path for path in resolved if isinstance(path, str) and is_dataset(path)]:
            given = {"decode_as": decode_as, "keylog": keys, "link_type": link_type, "part": part}
            core, read_with = _saved(folders, resolved, read_with, given, memory, room)
        else:
            core = _core.read(
                opened(resolved, progress),
                names=_called(resolved, names),
                show_literals=show_literals,
                decode_as=read_with.decode_as,
                memory=memory,
                disk=room,
                threads=threads,
                keylog=keys,
                part=part,
                progress=progress,
            )
    inputs = (
        *(("capture", path) for path in resolved if isinstance(path, str)),
        *(("key log", path) for path in named(keylog)),
    )
    return _capture(core, names, room, think_s, rtt_baseline_ms, rtt_is, memory, read_with, inputs)


def _capture(core: Any, names: Pseudonyms | None, room: tuple[str, int] | None, *options: Any) -> Capture:
    """Make a capture of what was read; import what only that needs."""
    from latpcap.capture import Capture, CaptureOptions
    from latpcap.tables.columnar import columns
    from latpcap.tables.columnar.scratch import Scratch
    from latpcap.tables.recording import Recording

    columns.give_back()
    asked, rename = CaptureOptions(*options), None
    if names:
        from latpcap.tables.privacy.pseudonyms import renaming

        core = core if isinstance(core, _core.Recording) else core.load()
        rename = renaming(core, names)
    recording = Recording(core, scratch=Scratch(*room, asked.memory) if room and core.is_large else None, rename=rename)
    return Capture(recording, asked)


def _new_pseudonyms() -> Pseudonyms:
    from latpcap.tables.privacy.pseudonyms import Pseudonyms

    return Pseudonyms()


@contextmanager
def _told_as_errors(resolved: list[Any], names: Pseudonyms | None) -> Iterator[None]:
    """Raise the core's errors as latpcap's, which name no file that has a pseudonym."""
    try:
        yield
    except (_core.CaptureError, CaptureError) as error:
        from latpcap.tables.privacy.pseudonyms import without_paths

        paths = [path for path in resolved if isinstance(path, str)]
        raise CaptureError(without_paths(str(error), paths, names) if names else str(error)) from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _called(resolved: list[Any], names: Pseudonyms | None) -> list[str]:
    """Return the names of the captures."""
    called = sources.names(resolved)
    if names is None:
        return called
    paths = [
        each if isinstance(each, str) and each != "-" else name for each, name in zip(resolved, called, strict=True)
    ]
    return [names.capture(path) for path in paths]


def _saved(
    folders: list[str],
    sources: list[Any],
    read_with: ReadWith,
    given: Mapping[str, Any],
    memory: int,
    disk: tuple[str, int] | None,
) -> tuple[Dataset, ReadWith]:
    """The tables of datasets, and how their captures were read: what is asked for beyond that cannot be had of them."""
    from latpcap.tables.dataset.loading import Dataset

    if len(sources) > len(folders):
        raise UsageError(f"{folders[0]}: is a dataset: read it without captures")
    told = {folder: manifest.of_folder(folder) for folder in folders}
    first = told[folders[0]].read_with
    for name, value in given.items():
        if value:
            raise UsageError(f"{folders[0]}: is a dataset, and its captures are read already: scan them with `{name}`")
    for folder, each in told.items():
        if each.read_with != first:
            raise UsageError(f"{folder} and {folders[0]}: were read with different options: scan them alike")
    if first.pseudonymised and sum(len(each.parts) for each in told.values()) > 1:
        raise UsageError(f"{folders[0]}: has pseudonyms of its own: read parts without, and pseudonymise what is shown")
    if read_with.show_literals and not first.show_literals:
        raise UsageError(f"{folders[0]}: holds no literals: scan its captures with `show_literals`")
    pseudonymised = read_with.pseudonymised or first.pseudonymised
    return Dataset(told, memory, disk), replace(first, pseudonymised=pseudonymised)
