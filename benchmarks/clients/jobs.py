"""`jobs.py django-mysql | django-postgresql | sqlalchemy-mysql | sqlalchemy-postgresql | pyodbc-… | …`: the job of benchmarks/clients/README.md."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from importlib.metadata import version

HOST, USER, PASSWORD, DATABASE = "10.77.0.2", "lab", "labpw", "lab"
WRONG = "select nothing from nowhere"


def django_job(server: str) -> int:
    """A foreign key followed backwards for each author, `prefetch_related`, nested `atomic` blocks, `iterator`."""
    import django
    from django.conf import settings

    options = {"pool": False} if server == "postgresql" else {}
    place = {"HOST": HOST, "USER": USER, "PASSWORD": PASSWORD, "NAME": DATABASE, "OPTIONS": options}
    settings.configure(DATABASES={"default": {"ENGINE": f"django.db.backends.{server}", **place}})
    django.setup()
    from django.db import DatabaseError, connection, models, transaction

    class Author(models.Model):
        id = models.IntegerField(primary_key=True)
        name = models.TextField()

        class Meta:
            app_label, db_table = "jobs", "authors"

    class Book(models.Model):
        id = models.IntegerField(primary_key=True)
        author = models.ForeignKey(Author, models.CASCADE)
        title = models.TextField()
        price = models.IntegerField()

        class Meta:
            app_label, db_table = "jobs", "books"

    rows = 0
    for author in Author.objects.order_by("id"):
        rows += 1 + len(author.book_set.all())
    rows += sum(1 for key in range(1, 11) if Book.objects.get(id=key))
    with transaction.atomic():
        for key in (1, 2, 3):
            with transaction.atomic():
                Book.objects.filter(id=key).update(price=models.F("price") + 1)
    try:
        with connection.cursor() as cursor:
            cursor.execute(WRONG)
        raise SystemExit("an error was expected")
    except DatabaseError:
        pass
    rows += sum(1 for _ in Book.objects.order_by("id").iterator(chunk_size=100))
    rows += sum(1 + len(author.book_set.all()) for author in Author.objects.prefetch_related("book_set"))
    connection.close()
    return rows


def sqlalchemy_job(url: str) -> int:
    """A lazy relationship, a checkout with `pool_pre_ping` for each read, nested transactions, `yield_per`, `selectinload`."""
    from sqlalchemy import ForeignKey, Integer, String, create_engine, exc, select, text, update
    from sqlalchemy.orm import DeclarativeBase, Session, mapped_column, relationship, selectinload

    class Base(DeclarativeBase):
        pass

    class Author(Base):
        __tablename__ = "authors"
        id = mapped_column(Integer, primary_key=True)
        name = mapped_column(String)
        books = relationship("Book")

    class Book(Base):
        __tablename__ = "books"
        id = mapped_column(Integer, primary_key=True)
        author_id = mapped_column(ForeignKey("authors.id"))
        title = mapped_column(String)
        price = mapped_column(Integer)

    engine = create_engine(url, pool_pre_ping=True)
    rows = 0
    with Session(engine) as session:
        for author in session.scalars(select(Author).order_by(Author.id)):
            rows += 1 + len(author.books)
    for key in range(1, 11):
        with Session(engine) as session:
            rows += session.get(Book, key) is not None
    with Session(engine) as session, session.begin():
        for key in (1, 2, 3):
            with session.begin_nested():
                session.execute(update(Book).where(Book.id == key).values(price=Book.price + 1))
    try:
        with engine.connect() as connection:
            connection.execute(text(WRONG))
        raise SystemExit("an error was expected")
    except exc.DBAPIError:
        pass
    with Session(engine) as session:
        rows += sum(1 for _ in session.scalars(select(Book).order_by(Book.id).execution_options(yield_per=100)))
        session.expunge_all()
        rows += sum(
            1 + len(author.books) for author in session.scalars(select(Author).options(selectinload(Author.books)))
        )
    engine.dispose()
    return rows


def dbapi_job(connection, mark: str) -> int:
    """A cursor for each statement, as the DB API has it."""
    cursor = connection.cursor()

    def read(sql: str, *values: int) -> list[tuple]:
        cursor.execute(sql, values)
        return cursor.fetchall()

    authors = read("select id, name from authors order by id")
    rows = len(authors) + sum(
        len(read(f"select id, title from books where author_id = {mark}", author)) for author, _ in authors
    )
    rows += sum(len(read(f"select title, price from books where id = {mark}", key)) for key in range(1, 11))
    connection.commit()
    for key in (1, 2, 3):
        cursor.execute(f"update books set price = price + 1 where id = {mark}", (key,))
    connection.commit()
    try:
        cursor.execute(WRONG)
        raise SystemExit("an error was expected")
    except Exception as error:  # each driver has its own
        if "nowhere" not in str(error):
            raise
    connection.rollback()
    rows += len(read("select id, title from books order by id"))
    connection.commit()
    connection.close()
    return rows


def pyodbc_job(driver: str) -> int:
    import pyodbc

    pyodbc.pooling = False
    return dbapi_job(
        pyodbc.connect(f"Driver={{{driver}}};Server={HOST};Database={DATABASE};UID={USER};PWD={PASSWORD}"), "?"
    )


def mysqlclient_job() -> int:
    import MySQLdb

    return dbapi_job(MySQLdb.connect(host=HOST, user=USER, password=PASSWORD, database=DATABASE), "%s")


def mariadb_job() -> int:
    """Connector/Python of MariaDB over Connector/C: parameters make it prepare."""
    import mariadb

    return dbapi_job(mariadb.connect(host=HOST, user=USER, password=PASSWORD, database=DATABASE), "?")


async def asyncmy_job() -> int:
    import asyncmy

    connection = await asyncmy.connect(host=HOST, user=USER, password=PASSWORD, db=DATABASE)
    cursor = connection.cursor()

    async def read(sql: str, *values: int) -> tuple:
        await cursor.execute(sql, values)
        return await cursor.fetchall()

    authors = await read("select id, name from authors order by id")
    rows = len(authors)
    for author, _ in authors:
        rows += len(await read("select id, title from books where author_id = %s", author))
    for key in range(1, 11):
        rows += len(await read("select title, price from books where id = %s", key))
    await connection.begin()
    for key in (1, 2, 3):
        await cursor.execute("update books set price = price + 1 where id = %s", (key,))
    await connection.commit()
    try:
        await cursor.execute(WRONG)
        raise SystemExit("an error was expected")
    except asyncmy.errors.MySQLError:
        pass
    rows += len(await read("select id, title from books order by id"))
    await connection.ensure_closed()
    return rows


JOBS: dict[str, Callable[[], int]] = {
    "django-mysql": lambda: django_job("mysql"),
    "django-postgresql": lambda: django_job("postgresql"),
    "sqlalchemy-mysql": lambda: sqlalchemy_job(
        f"mysql+pymysql://{USER}:{PASSWORD}@{HOST}/{DATABASE}?ssl_disabled=true"
    ),
    "sqlalchemy-postgresql": lambda: sqlalchemy_job(f"postgresql+psycopg://{USER}:{PASSWORD}@{HOST}/{DATABASE}"),
    "pyodbc-mariadb": lambda: pyodbc_job("MariaDB Unicode"),
    "pyodbc-postgresql": lambda: pyodbc_job("PostgreSQL Unicode"),
    "mysqlclient": mysqlclient_job,
    "mariadb": mariadb_job,
    "asyncmy": lambda: asyncio.run(asyncmy_job()),
}

if __name__ == "__main__":
    name = sys.argv[1].split("-")[0]
    print(json.dumps({"client": f"{name} {version(name)}", "rows": JOBS[sys.argv[1]](), "errors": 1}))
