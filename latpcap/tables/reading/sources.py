"""Readable sources: paths, globs, URLs, file objects, bytes, and the packets of scapy, dpkt or a generator.

| source | what becomes of it |
|---|---|
| path, `pathlib.Path`, glob, `-` | read as it lies on disk; a glob's files in the order of their names |
| URL (`s3://bucket/ring_*.pcapng`), also a glob | read from where it lies: `remote.py` |
| bytes, an object with `read(n)` | the content of a capture file |
| scapy's `PacketList`, packets and readers | one capture; link type and time are those of each packet |
| dpkt's readers of pcap and pcapng | one capture, of the reader's link type |
| tuples `(time, bytes)` or `(time, bytes, link type)` | one capture; `packets.py` says of which link type |
| pyshark's `FileCapture` | its file, as it lies on disk |
| the folder of a dataset that latpcap has saved | the recording that it was made of |
| an iterable of any of these | all of them, as one recording |
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from latpcap.errors import CaptureError, UsageError, without_secrets
from latpcap.tables.dataset.layout import MANIFEST, is_dataset, lacks_manifest
from latpcap.tables.reading.packets import as_pcapng, is_packet, link_type_of, packet
from latpcap.tables.reading.remote import found, is_url

Source = str | bytes | Any
CAPTURE_NAME = re.compile(r"\.(?:pcapng|pcap|cap|ntar|dmp)\d*(?:\.(?:gz|zst|lz4))?$", re.IGNORECASE)
"""File names of captures; those of a ring buffer may end with a number."""
CAPTURE_STARTS = {bytes.fromhex(start) for start in ("0a0d0d0a", "a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1")}
"""pcapng, and pcap in both orders of bytes, with micro- and nanoseconds."""

NOT_SHOWN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
)
"""Characters that steer a terminal, hide text or are none; the core's `visible.rs` has the same."""


def shown(path: str) -> str:
    r"""Return a path as the core's tables have it, which may be printed.

    >>> ascii(shown("/captures/a\x1b[2J\udcff.pcap"))
    "'/captures/a\\ufffd[2J\\ufffd.pcap'"
    """
    return NOT_SHOWN.sub("\N{REPLACEMENT CHARACTER}", re.sub(r"[\t\r\n]", " ", without_secrets(path)))


def names(given: Sequence[Source]) -> list[str]:
    """Return what results call each of what `resolve` returns: they are handed on, and name no folder.

    Files of one name keep the folders that tell them apart.

    >>> names(["/customers/acme/live.pcap", "/customers/acme/test.pcap", "-"])
    ['live.pcap', 'test.pcap', 'standard input']
    >>> names(["/customers/acme/1/live.pcap", "/customers/acme/2/live.pcap"])
    ['1/live.pcap', '2/live.pcap']
    """
    paths = [_path_of(each) for each in given]
    alike: dict[str, set[str]] = {}
    for path in filter(None, paths):
        alike.setdefault(os.path.basename(path), set()).add(path)
    above = {name: _above(found) for name, found in alike.items()}
    return [
        shown(_below(path, above[os.path.basename(path)])) if path else _nameless(each)
        for each, path in zip(given, paths, strict=True)
    ]


def _above(paths: Iterable[str]) -> str:
    """The folder that all are in; none where they are on several of Windows' drives."""
    try:
        return os.path.commonpath(map(os.path.dirname, paths))
    except ValueError:
        return ""


def _below(path: str, folder: str) -> str:
    """Written alike on all systems."""
    return (os.path.relpath(path, folder) if folder else path).replace(os.sep, "/")


def _path_of(source: Source) -> str | None:
    """Path of a file, also of one that is open already."""
    path = getattr(source, "name", None) if hasattr(source, "read") else source
    path = without_secrets(path) if isinstance(path, str) and is_url(path) else path
    return os.path.abspath(path) if isinstance(path, str) and os.path.basename(path) and path != "-" else None


def _nameless(source: Source) -> str:
    if hasattr(source, "read"):
        return "file object"
    return "standard input" if source == "-" else "bytes"


def resolve(source: Any, link_type: int | None = None) -> list[Source]:
    """Return what the core reads for `source`: paths, bytes or file objects; globs are expanded, lists flattened.

    `link_type` is that of packets that do not tell their own.
    """
    if isinstance(source, str | os.PathLike):
        return list(paths(source))
    if isinstance(source, bytes | bytearray | memoryview):
        return [bytes(source)]
    if is_packet(source):
        return [as_pcapng([packet(source, link_type)])]
    if type(source).__module__.startswith("pyshark."):
        return [_file_of(source)]
    if hasattr(source, "read"):
        return [source]
    if isinstance(source, Iterable) and not isinstance(source, dict):
        return list(_each(source, link_type_of(source, link_type)))
    raise UsageError(
        f"cannot read a {type(source).__name__}: give a path, a glob, bytes, a file object, packets of scapy or dpkt, "
        "pyshark's FileCapture, or tuples of a time and bytes"
    )


def _file_of(source: Any) -> str:
    """The file of a pyshark `FileCapture`: its packets are what tshark said of them, without their bytes."""
    path = getattr(source, "input_filepath", None)
    if path is None:
        raise UsageError(
            f"a {type(source).__name__} of pyshark has no bytes of its packets: give a FileCapture or a path"
        )
    if getattr(source, "_display_filter", None):
        raise UsageError(f"{path} is read as a whole: leave out the display filter, and use Capture.select for a part")
    return os.fsdecode(path)


def paths(given: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the files that a path or glob names; `-` is standard input."""
    path = os.fsdecode(given)
    if is_url(path):
        yield from found(path)
        return
    if path == "-" or os.path.exists(path):
        if lacks_manifest(path):
            raise CaptureError(f"{path}: is a dataset without its {MANIFEST}: copy all of it, or scan again")
        if os.path.isdir(path) and not is_dataset(path):
            raise CaptureError(f"{path}: is a directory; name its files, for instance `{Path(path) / '*.pcap*'}`")
        yield path
        return
    named = sorted(glob.glob(path)) if glob.has_magic(path) else []
    if not named:
        raise CaptureError(f"{path}: no such file")
    yield from named


def packets(given: str | os.PathLike[str]) -> Iterator[str]:
    """Yield capture files on disk, for whoever needs the packets themselves."""
    for path in paths(given):
        if path != "-" and is_dataset(path):
            raise UsageError(f"{path}: is a dataset, which holds no packets: name the captures")
        yield from on_disk([path])


def on_disk(resolved: Iterable[Source]) -> list[str]:
    """The paths of what `resolve` returns, for whoever reads the files by itself."""
    named = [each for each in resolved if isinstance(each, str)]
    if elsewhere := [path for path in named if is_url(path)]:
        raise UsageError(f"{shown(elsewhere[0])}: is not a file of this machine: copy it here first")
    return named


def files(given: Any) -> list[str]:
    """Return every file that paths, globs and directories name, once, in their order; a missing one stays in the list.

    Of a directory these are the captures in it and below, by their names or their first bytes.
    """
    if isinstance(given, str | os.PathLike):
        path = os.fsdecode(given)
        if is_url(path):
            return found(path)
        is_there = path == "-" or os.path.exists(path)
        named = sorted(glob.glob(path)) if not is_there and glob.has_magic(path) else [path]
        each = (list(_captures_in(name)) if _is_folder(name) else [name] for name in named or [path])
        return list(dict.fromkeys(chain.from_iterable(each)))
    if isinstance(given, Iterable) and not isinstance(given, dict | bytes | bytearray):
        return list(dict.fromkeys(chain.from_iterable(map(files, given))))
    raise UsageError(f"a {type(given).__name__} names no file: give paths, globs or directories")


def _captures_in(directory: str) -> Iterator[str]:
    count = 0
    for parent, inner, names in os.walk(directory):
        inner.sort()
        if is_dataset(parent):
            inner.clear()
            count += 1
            yield parent
            continue
        for path in (os.path.join(parent, name) for name in sorted(names)):
            if _is_capture(path):
                count += 1
                yield path
    if not count:
        raise CaptureError(f"{directory}: no capture in this directory, nor below it")


def _is_folder(path: str) -> bool:
    """A folder of captures; one that is a dataset is read as it is."""
    return os.path.isdir(path) and not is_dataset(path)


def _is_capture(path: str) -> bool:
    if CAPTURE_NAME.search(path):
        return True
    try:
        if not os.path.isfile(path):  # a pipe would be waited for
            return False
        with open(path, "rb") as file:
            return file.read(4) in CAPTURE_STARTS
    except OSError:
        return False


def _each(source: Iterable[Any], link_type: int | None) -> Iterator[Source]:
    """Resolve an iterable: packets that follow each other are one capture, all else is looked at by itself."""
    for are_packets, items in groupby(source, is_packet):
        if are_packets:
            yield as_pcapng(packet(item, link_type) for item in items)
        else:
            for item in items:
                yield from resolve(item, link_type)
