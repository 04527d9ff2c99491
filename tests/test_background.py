"""What is computed in a thread of its own is what it would be otherwise, errors included."""

from __future__ import annotations

from pathlib import Path
from threading import current_thread
from typing import Any

import pytest
from conftest import FIXTURES

import latpcap
from latpcap.projection.project import Projection, project
from latpcap.report import FORMATS
from latpcap.result import analysis
from latpcap.tables import recording
from latpcap.tables.columnar.background import run_in_background

FOLDERS = ("mysql", "postgresql", "firebird", "sqlserver", "proxies")
RECORDED = [path for folder in FOLDERS for path in sorted(FIXTURES.glob(f"{folder}/*.pcapng*"))]


def told(path: Path) -> list[bytes] | str:
    try:
        capture = latpcap.read(path)
        return [*FORMATS["json"](capture.analyze([2, 40], "5s")), repr(capture.project().to_dict())]
    except latpcap.LatpcapError as error:
        return repr(error)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.name.partition('.')[0]}")
def test_a_projection_made_ahead_is_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set()

    def seen(*given: Any) -> Projection:
        threads.add(current_thread())
        return project(*given)

    monkeypatch.setattr(analysis, "project", seen)
    monkeypatch.setattr(recording, "MIN_THREADED_EXCHANGES", 1 << 62)
    one_by_one = told(path)
    assert threads <= {current_thread()}
    monkeypatch.setattr(recording, "MIN_THREADED_EXCHANGES", -1)
    assert told(path) == one_by_one
    assert threads - {current_thread()} or isinstance(one_by_one, str)


@pytest.mark.parametrize("is_threaded", [True, False])
def test_what_was_raised_is_raised_where_the_result_is_asked_for(is_threaded: bool) -> None:
    def fail() -> int:
        raise IndexError

    result = run_in_background(fail, is_threaded=is_threaded)
    with pytest.raises(IndexError):
        result()


def test_what_is_not_computed_apart_is_computed_when_it_is_asked_for() -> None:
    made: list[int] = []
    result = run_in_background(lambda: made.append(1), is_threaded=False)
    assert not made
    result()
    assert made == [1]
