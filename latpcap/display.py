"""Results show themselves in notebooks without knowing how: the reports register that here for each kind of result."""

from __future__ import annotations

from functools import singledispatch
from html import escape
from typing import Any

__all__ = ["Displayed", "Plotted", "as_chart", "as_html"]


@singledispatch
def as_html(result: object) -> str:
    """The result for a notebook; `report/notebook.py` and `report/verification.py` register each kind."""
    return f"<pre>{escape(repr(result))}</pre>"


@singledispatch
def as_chart(result: object) -> Any:
    """The result as an Altair chart; `report/plot.py` registers each kind."""
    raise TypeError(f"{type(result).__name__} has no chart")


class Displayed:
    """A result that a notebook shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return as_html(self)


class Plotted(Displayed):
    """A result that can be drawn, too."""

    __slots__ = ()

    def plot(self) -> Any:
        """An Altair chart of it (extra `notebook`)."""
        return as_chart(self)
