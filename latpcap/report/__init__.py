"""Reports: each takes the finished result and nothing else; one format a file, listed once here."""

from __future__ import annotations

from collections.abc import Callable

from latpcap.result.analysis import Analysis

__all__ = ["FORMATS"]


def _terminal(result: Analysis) -> str:
    from latpcap.report import terminal

    return terminal.render(result)


def _json(result: Analysis) -> str:
    from latpcap.report import jsonout

    return jsonout.render(result)


FORMATS: dict[str, Callable[[Analysis], str]] = {"terminal": _terminal, "json": _json}
"""How a result is rendered; a format's libraries are imported when it is asked for."""
