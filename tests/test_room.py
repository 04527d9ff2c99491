"""Memory that reading needed: the system has it back."""

import ctypes

import pytest

from latpcap.tables.room import give_back


def test_what_was_freed_is_given_back_where_the_system_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Keeping:
        def malloc_trim(self, left: int) -> None:
            asked.append(left)

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Keeping())
    give_back()
    assert asked == [0]


def test_other_systems_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    give_back()
