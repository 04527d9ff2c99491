"""A library: authors and their books."""

from __future__ import annotations

from sqlalchemy import ForeignKey, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, joinedload, mapped_column, relationship  # noqa: F401


class Base(DeclarativeBase):
    """Of all tables."""


class Author(Base):
    """Who writes."""

    __tablename__ = "authors"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    books: Mapped[list[Book]] = relationship(back_populates="author")


class Book(Base):
    """What is written."""

    __tablename__ = "books"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey("authors.id"))
    author: Mapped[Author] = relationship(back_populates="books")


def catalogue(session: Session) -> dict[str, list[str]]:
    """The titles of each author."""
    authors = session.scalars(select(Author).order_by(Author.name)).unique()
    return {author.name: sorted(book.title for book in author.books) for author in authors}
