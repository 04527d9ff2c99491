"""The facts that a report's author gives: a title, a customer, notes, a date, the author."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from msgspec import Struct

from latpcap.errors import UsageError

PICTURES = {
    ".png": ("png", b"\x89PNG\r\n"),
    **dict.fromkeys((".jpg", ".jpeg"), ("jpeg", b"\xff\xd8\xff")),
    ".svg": ("svg+xml", b"<svg"),
}
"""The kind of picture by a file's name, and the bytes at its beginning."""
MAX_PICTURE_BYTES = 300_000
"""The largest picture, in bytes."""


class Cover(Struct, frozen=True):
    """The facts that a report's author gives."""

    title: str | None = None
    customer: str | None = None
    notes: tuple[str, ...] = ()
    date: str | None = None
    """The report's date: year, month, day."""
    author: str | None = None
    logo: str | None = None
    """The picture, as an address that holds it."""


def date_of(text: str) -> str:
    """Return the date that `text` names: `today`, or a year, month and day.

    >>> date_of("2026-11-22")
    '2026-11-22'
    """
    if text == "today":
        return date.today().isoformat()
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise UsageError(f"`{text}` is not a date: today, or for instance 2026-11-22") from None


def with_picture(given: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """Return texts, and the picture among them: the file of one stands there by its name."""
    files = [each for each in given if _is_picture(each)]
    if len(files) > 1:
        raise UsageError(f"{files[1]}: a report has room for one picture")
    texts = tuple(each for each in given if each not in files)
    return texts, _picture(files[0]) if files else None


def _is_picture(text: str) -> bool:
    """A file of that name is there, or it is but a name: a sentence may end so, too."""
    return Path(text).suffix.lower() in PICTURES and (" " not in text or Path(text).is_file())


def _picture(path: str) -> str:
    from base64 import b64encode

    try:
        held = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: the picture cannot be read: {error.strerror}") from None
    kind, begins = PICTURES[Path(path).suffix.lower()]
    if begins not in held[:1000]:
        raise UsageError(f"{path}: this is no picture of that kind: .png, .jpg or .svg")
    if len(held) > MAX_PICTURE_BYTES:
        raise UsageError(f"{path}: the picture is larger than {MAX_PICTURE_BYTES // 1000} kB, and each report holds it")
    return f"data:image/{kind};base64,{b64encode(held).decode()}"
