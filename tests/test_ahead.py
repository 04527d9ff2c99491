"""What is computed in a thread of its own is what it would be otherwise, errors included."""

from __future__ import annotations

from pathlib import Path
from threading import current_thread

import pytest
from conftest import FIXTURES

import latpcap
from latpcap.report import FORMATS
from latpcap.tables import recording
from latpcap.tables.columnar.ahead import Ahead

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
    run = Ahead._run

    def seen(ahead: Ahead[object]) -> None:
        threads.add(current_thread())
        run(ahead)

    monkeypatch.setattr(Ahead, "_run", seen)
    monkeypatch.setattr(recording, "WORTH_THREADS", 1 << 62)
    one_by_one = told(path)
    assert not threads
    monkeypatch.setattr(recording, "WORTH_THREADS", -1)
    assert told(path) == one_by_one
    assert threads or isinstance(one_by_one, str)


@pytest.mark.parametrize("apart", [True, False])
def test_what_was_raised_is_raised_where_the_result_is_asked_for(apart: bool) -> None:
    def fail() -> int:
        raise IndexError

    ahead = Ahead(fail, apart=apart)
    with pytest.raises(IndexError):
        ahead.result()


def test_what_is_not_computed_apart_is_computed_when_it_is_asked_for() -> None:
    made: list[int] = []
    ahead = Ahead(lambda: made.append(1), apart=False)
    assert not made
    ahead.result()
    assert made == [1]
