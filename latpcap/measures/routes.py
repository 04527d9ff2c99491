"""The cost of each route of the application, where its statements say so in sqlcommenter's tags.

<https://google.github.io/sqlcommenter/spec/>: the core keeps the tags that name code (route, controller, action,
framework, db_driver), URL-encoded as they were sent; a trace is kept only where literals are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.budget import BudgetTimeline
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Ints
from latpcap.tables.recording import Recording

_TAG = re.compile(r"([\w.-]+)='([^']*)'")


class RouteResult(Struct, frozen=True):
    """The exchanges whose statements name one route (or controller and action)."""

    route: str
    framework: str | None
    executions: int
    exchanges: int
    round_trips: int
    distinct_statements: int
    network_s: float
    service_s: float


def parse_tags(text: str) -> dict[str, str]:
    """The tags of a statement, decoded.

    >>> parse_tags("controller='polls',route='%5Epolls/%24'")
    {'controller': 'polls', 'route': '^polls/$'}
    """
    return {key: unquote(value, errors="replace") for key, value in _TAG.findall(text)}


def name_of(tags: dict[str, str]) -> str | None:
    """The route; else the controller with its action; `None` where the tags name no place in the code.

    >>> name_of({"route": "/a", "action": "b"}), name_of({"controller": "polls", "action": "index"}), name_of({})
    ('/a', 'polls#index', None)
    """
    named = "#".join(tags[key] for key in ("controller", "action") if key in tags)
    return tags.get("route") or named or None


def site_of(tags: dict[str, str]) -> str | None:
    """The place in the code, as near as the tags name it; a trace where they name nothing else.

    >>> site_of({"route": "/a", "file": "shop/views.py", "line": "12"}), site_of({"line": "app/polls.rb:12"})
    ('/a shop/views.py:12', 'app/polls.rb:12')
    """
    file, line = tags.get("file") or tags.get("source_location"), tags.get("line")
    place = ":".join(part for part in (file, line) if part)
    return " ".join(part for part in (name_of(tags), place) if part) or tags.get("traceparent") or None


def routes_of_exchanges(recording: Recording) -> tuple[list[str], Ints]:
    """The routes that statements name, and for each exchange which of them its statement names; -1 for none."""
    return _routes(recording, [parse_tags(text) for text in recording.tag_texts])


def _routes(recording: Recording, tags: list[dict[str, str]]) -> tuple[list[str], Ints]:
    named = [name_of(each) for each in tags]
    routes = sorted({name for name in named if name is not None})
    numbers = {name: number for number, name in enumerate(routes)}
    of_tags = np.array([-1 if name is None else numbers[name] for name in named] + [-1])
    return routes, of_tags[_tags_of_exchanges(recording)]


def _tags_of_exchanges(recording: Recording) -> Ints:
    return recording.exchange_column("tags").ints(-1)


def route_results(recording: Recording, timeline: BudgetTimeline) -> Iterator[RouteResult]:
    """The routes, the one that waits most first; none where no statement is tagged."""
    tags = [parse_tags(text) for text in recording.tag_texts]
    routes, of_exchange = _routes(recording, tags)
    if not routes:
        return
    exchanges = recording.exchanges
    rows = np.flatnonzero(of_exchange >= 0)
    route = of_exchange[rows]

    def total(values: NDArray[np.generic]) -> NDArray[np.float64]:
        return np.bincount(route, values[rows], len(routes)).astype(float)

    order, starts = passes.grouped(route)
    statements = passes.first_alike(exchanges.fingerprint[rows[order]])
    distinct = np.zeros(len(routes), np.int64)
    distinct[route[order[starts[:-1]]]] = passes.distinct(statements, starts)
    network, service = total(timeline.network_ns) / 1e9, total(timeline.service_ns) / 1e9
    waiting = np.argsort(-(network + service), kind="stable")
    frameworks = _frameworks(tags, _tags_of_exchanges(recording)[rows], route, len(routes))
    values = (
        [routes[number] for number in waiting.tolist()],
        [frameworks[number] for number in waiting.tolist()],
        total(exchanges.is_execution)[waiting].astype(int).tolist(),
        np.bincount(route, minlength=len(routes))[waiting].tolist(),
        total(exchanges.round_trips)[waiting].astype(int).tolist(),
        distinct[waiting].tolist(),
        network[waiting].tolist(),
        service[waiting].tolist(),
    )
    yield from map(RouteResult, *values)


def _frameworks(tags: list[dict[str, str]], tagged: Ints, route: Ints, count: int) -> list[str | None]:
    """Return the framework by the first of each route's tags that names one."""
    names = [each.get("framework") or None for each in tags]
    names.append(None)
    told = np.array([name is not None for name in names])[tagged]
    first = np.full(count, len(tags))
    np.minimum.at(first, route[told], tagged[told])
    return [names[number] for number in first.tolist()]
