"""Every result can be one JSON object, and show itself in notebooks and at a prompt.

Results do not know how they are shown: the reports register that here for each kind of result. They are imported when
the first result is shown; most programs never show one.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache, singledispatch
from importlib import import_module
from typing import Any, ClassVar

from msgspec import Struct

_REPORTS: set[str] = set()

LINE_COLUMNS = 100
"""Columns of a repr's lines."""
MAX_VALUE_CHARS = 60
"""Characters of a value in a repr."""


def plain(value: Any, number: Callable[[float], Any] = float) -> Any:
    """Return results and sequences as dictionaries and lists, all the way down; of fractions, what `number` returns."""
    kind = type(value)
    if kind is float:
        return number(value)
    if kind in VALUES:
        return value
    if names := fields_of(kind):  # type: ignore[arg-type]
        return {name: plain(getattr(value, name), number) for name in names}
    if isinstance(value, dict):
        return {key: plain(item, number) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item, number) for item in value]
    return number(value) if isinstance(value, float) else value


VALUES = frozenset((str, int, float, bool, type(None)))
"""Types that JSON holds."""


@cache
def fields_of(kind: type) -> tuple[str, ...]:
    """The names of a result's fields, or those that it says JSON has of it; none of another type's."""
    if not issubclass(kind, Struct):
        return ()
    names: tuple[str, ...] = getattr(kind, "json_fields", kind.__struct_fields__)
    return names


def finite(value: float) -> float | None:
    """Return `value` as JSON can hold it: `None` where it is none or without end."""
    return float(value) if math.isfinite(value) else None


def shown_by(*modules: str) -> None:
    """Say which modules register how results are shown."""
    _REPORTS.update(modules)


def _all_registered() -> None:
    for module in sorted(_REPORTS):
        import_module(module)
    _REPORTS.clear()


@singledispatch
def as_html(result: object) -> str:
    """The result for a notebook; `report/notebook.py` writes its sections."""
    from html import escape

    return f"<pre>{escape(repr(result))}</pre>"


@singledispatch
def as_text(result: object) -> str:
    """The result for a prompt, on one screen; `report/prompt.py` registers those that have more to say than fields."""
    return _fields(result)


@singledispatch
def as_chart(result: object) -> Any:
    """The result as an Altair chart; `report/plot.py` draws what its sections have."""
    raise TypeError(f"{type(result).__name__} has no chart")


def brief(value: Any) -> str:
    """Return a value in a few words, however much is in it.

    >>> brief(0.123456789), brief(("a",) * 3), brief("select " * 20)
    ('0.123457', '(3 × str)', "'select select select select select select select select s…'")
    """
    kind = type(value)
    if fields_of(kind):  # type: ignore[arg-type]
        return f"{kind.__name__}(…)"
    if kind is float:
        return f"{value:.6g}"
    if isinstance(value, Mapping | Sequence) and kind is not str:
        if not value:
            return "()"
        kinds = f" × {type(value[0]).__name__}" if isinstance(value, Sequence) else ""
        return f"({len(value):,}{kinds or ' values'})"
    text = repr(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 2]}…{text[-1]}"


def _fields(result: object) -> str:
    """The fields that say something, with little of each: the repr of a result never fills the screen."""
    kind = type(result)
    told = ((name, getattr(result, name)) for name in fields_of(kind))  # type: ignore[arg-type]
    said = ", ".join(f"{name}={brief(value)}" for name, value in told if value is not None)
    return textwrap.fill(f"{kind.__name__}({said})", LINE_COLUMNS, subsequent_indent="    ", break_long_words=False)


class ReprMixin:
    """Whoever presses the tab key sees what is public."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name.startswith("__") or not name.startswith("_")]


class ShortRepr(ReprMixin):
    """A result whose repr is short: nested results, and rows, are named with their number."""

    __slots__ = ()

    def __repr__(self) -> str:
        _all_registered()
        return as_text(self)


class Displayed(ShortRepr):
    """A result: one JSON object for scripts, HTML for notebooks, some lines at a prompt."""

    __slots__ = ()
    schema: ClassVar[str] = ""
    """The promise of its JSON's keys: keys may be added, never renamed."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        result: dict[str, Any] = plain(self.parts())
        return result

    def parts(self) -> dict[str, Any]:
        """The JSON object's values by their keys, as they are in the result."""
        schema = {"schema": self.schema} if self.schema else {}
        return schema | {name: getattr(self, name) for name in fields_of(type(self))}  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        _all_registered()
        return as_html(self)


class Plottable(Displayed):
    """A result that can be drawn, too."""

    __slots__ = ()

    def plot(self) -> Any:
        """An Altair chart of it (extra `notebook`)."""
        _all_registered()
        return as_chart(self)
