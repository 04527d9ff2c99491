"""The settings of drivers and frameworks, by the patterns of findings."""

from __future__ import annotations

from msgspec import Struct


class Setting(Struct, frozen=True):
    """A setting or a call of one client against one pattern."""

    advice: str
    """In the client's own words, as Markdown."""
    since: str | None = None
    """The client's version from which it holds."""
    source: str = ""
    tried: str | None = None
    option: bool = False
    """Set where the connection is opened: it holds below a framework as well."""


def setting(name: str, pattern: str) -> Setting | None:
    """Return the setting of the client `name` against a pattern."""
    return None
