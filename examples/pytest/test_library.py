"""What the catalogue holds, and what it may cost."""

from __future__ import annotations

import pytest
from library import Author, Book, catalogue
from sqlalchemy import func, select
from sqlalchemy.orm import Session


@pytest.mark.round_trips(max=5)
def test_catalogue(session: Session) -> None:
    found = catalogue(session)
    assert len(found) == 20
    assert found["Author 07"] == ["Book 7.1", "Book 7.2"]


@pytest.mark.round_trips(max=5)
def test_count(session: Session) -> None:
    assert session.scalar(select(func.count()).select_from(Book)) == 40


def test_author(session: Session) -> None:
    author = session.scalars(select(Author).where(Author.name == "Author 03")).one()
    assert author.name == "Author 03"
