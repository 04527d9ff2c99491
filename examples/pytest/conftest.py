"""The database of the tests: DATABASE_URL, with 20 authors who have written two books each."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from library import Author, Base, Book
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The tables, filled."""
    engine = create_engine(os.environ["DATABASE_URL"])
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        for number in range(20):
            books = [Book(title=f"Book {number}.{volume}") for volume in (1, 2)]
            session.add(Author(name=f"Author {number:02}", books=books))
        session.commit()
    yield engine
    engine.dispose()


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    """A session of the test's own."""
    with Session(engine) as session:
        yield session
