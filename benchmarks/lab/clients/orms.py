#!/usr/bin/env python3
"""One workload of an object mapper or of pure Python: `orms.py DRIVER SHAPE N [parameter=value…]`, as `../workloads.py` talks.

Drivers: django-mysql, django-pg, sqlalchemy-mysql, sqlalchemy-pg, firebirdsql.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from workloads import HOST, Run

Shape = Callable[[Run, int, dict[str, int]], None]


def django(driver: str, counting: Callable[[], None]) -> dict[str, Shape]:
    import django
    from django.conf import settings
    from django.db import connection, models, transaction

    engine, options = "postgresql", {"sslmode": "disable", "gssencmode": "disable"}
    if driver == "django-mysql":
        import pymysql

        pymysql.version_info = (2, 2, 7, "final", 0)  # what Django takes it for
        pymysql.install_as_MySQLdb()
        engine, options = "mysql", {"ssl_disabled": True}
    place = {"HOST": HOST, "NAME": "lab", "USER": "lab", "PASSWORD": "labpw", "OPTIONS": options}
    settings.configure(DATABASES={"default": {"ENGINE": f"django.db.backends.{engine}", **place}})
    django.setup()

    class Employee(models.Model):
        emp_no = models.IntegerField(primary_key=True)
        first_name = models.CharField(max_length=14)

        class Meta:
            app_label, db_table = "lab", "employees"

    class Salary(models.Model):
        employee = models.ForeignKey(Employee, models.CASCADE, db_column="emp_no", primary_key=True)
        salary = models.IntegerField()

        class Meta:
            app_label, db_table = "lab", "salaries"

    class Account(models.Model):
        bal = models.IntegerField()

        class Meta:
            app_label, db_table = "lab", "acc"

    def counted(execute: Any, *arguments: Any) -> Any:
        counting()
        return execute(*arguments)

    connection.execute_wrappers.append(counted)

    def lazy(run: Run, n: int, given: dict[str, int]) -> None:
        for employee in Employee.objects.order_by("emp_no")[:n]:
            run.rows += 1 + len(list(employee.salary_set.all()[: given["rows"]]))
        connection.close()

    def saved(run: Run, n: int, given: dict[str, int]) -> None:
        """Each in a transaction, as ATOMIC_REQUESTS does: BEGIN, SELECT, UPDATE, COMMIT."""
        for key in range(1, n + 1):
            with transaction.atomic():
                account = Account.objects.get(pk=key)
                account.bal += 1
                account.save()
            run.rows += 1
        connection.close()

    def requests(run: Run, n: int, given: dict[str, int]) -> None:
        """A connection for each request (CONN_MAX_AGE is 0): `side` queries, and the time a page takes."""
        for request in range(1, n + 1):
            for number in range(given["side"]):
                run.rows += len(list(Salary.objects.filter(employee=request * 10 + number)[: given["rows"]]))
            time.sleep(given["think"] / 1000)
            connection.close()

    def changed(run: Run, n: int, given: dict[str, int]) -> None:
        accounts = list(Account.objects.filter(pk__lte=n))
        for account in accounts:
            account.bal += 1
        Account.objects.bulk_update(accounts, ["bal"], batch_size=given["batch"])
        connection.close()

    return {"lazy": lazy, "saved": saved, "requests": requests, "changed": changed}


def sqlalchemy(driver: str, counting: Callable[[], None]) -> dict[str, Shape]:
    from sqlalchemy import Column, Float, ForeignKey, Integer, String, create_engine, event, select
    from sqlalchemy.orm import Session, declarative_base, relationship, selectinload

    scheme = "mysql+pymysql" if driver == "sqlalchemy-mysql" else "postgresql+psycopg"
    clear = {"ssl_disabled": True} if driver == "sqlalchemy-mysql" else {"sslmode": "disable", "gssencmode": "disable"}
    engine = create_engine(f"{scheme}://lab:labpw@{HOST}/lab", connect_args=clear)
    event.listen(engine, "before_cursor_execute", lambda *_: counting())
    base: Any = declarative_base()

    class Salary(base):
        __tablename__ = "salaries"
        emp_no = Column(Integer, ForeignKey("employees.emp_no"), primary_key=True)
        salary = Column(Integer, primary_key=True)

    class Employee(base):
        __tablename__ = "employees"
        emp_no = Column(Integer, primary_key=True)
        first_name = Column(String(14))
        salaries = relationship(Salary)

    class Account(base):
        __tablename__ = "acc"
        id = Column(Integer, primary_key=True)
        bal = Column(Integer)

    class Note(base):
        __tablename__ = "notes"
        __table_args__ = ({"prefixes": ["TEMPORARY"]},)
        id = Column(Integer, primary_key=True, autoincrement=False)
        value = Column(Float)
        body = Column(String(200))

    def employees(n: int, *options: Any) -> Any:
        return select(Employee).order_by(Employee.emp_no).limit(n).options(*options)

    def lazy(run: Run, n: int, given: dict[str, int]) -> None:
        with Session(engine) as session:
            for employee in session.scalars(employees(n)):
                run.rows += 1 + len(employee.salaries)
        engine.dispose()

    def eager(run: Run, n: int, given: dict[str, int]) -> None:
        """A second query for the children of each page of parents, then a pause."""
        with Session(engine) as session:
            for page in range(n):
                keys = Employee.emp_no.between(page * 10 + 1, page * 10 + given["side"])
                found = session.scalars(select(Employee).where(keys).options(selectinload(Employee.salaries)))
                run.rows += sum(1 + len(employee.salaries) for employee in found)
                session.expunge_all()
                time.sleep(given["think"] / 1000)
        engine.dispose()

    def flushed(run: Run, n: int, given: dict[str, int]) -> None:
        """The unit of work: all rows are read and changed, one flush sends the updates as executemany."""
        with Session(engine) as session:
            for account in session.scalars(select(Account).where(Account.id <= n)):
                account.bal += 1
                run.rows += 1
            session.commit()
        engine.dispose()

    def inserted(run: Run, n: int, given: dict[str, int]) -> None:
        """New objects, a flush for each `batch` of them."""
        with engine.connect() as connection, Session(connection) as session:
            Note.__table__.create(connection)
            for first in range(0, n, given["batch"]):
                size = min(given["batch"], n - first)
                body = "some words " * given["width"]
                session.add_all(Note(id=first + i, value=i / 7, body=body) for i in range(size))
                session.flush()
                run.rows += size
            session.commit()
        engine.dispose()

    return {"lazy": lazy, "eager": eager, "flushed": flushed, "inserted": inserted}


def firebirdsql(driver: str, counting: Callable[[], None]) -> dict[str, Shape]:
    import firebirdsql

    login = {"host": HOST, "port": 3050, "database": "lab", "user": "SYSDBA", "password": "masterkey"}
    sql = "SELECT FIRST {} salary, from_date FROM salaries WHERE emp_no = ?"

    def committed(run: Run, n: int, given: dict[str, int]) -> None:
        """A transaction for every `side` queries, and the time a page takes."""
        database = firebirdsql.connect(**login, wire_crypt=False, auth_plugin_name="Srp", charset="UTF8")
        for key in range(1, n + 1):
            cursor = database.cursor()
            counting()
            cursor.execute(sql.format(given["rows"]), (key,))
            run.rows += len(cursor.fetchall())
            cursor.close()
            if key % given["side"] == 0:
                database.commit()
                time.sleep(given["think"] / 1000)
        database.close()

    return {"committed": committed}


def main() -> None:
    from importlib.metadata import version

    driver, shape, n, *words = sys.argv[1:]
    given = {name: int(value) for name, value in (word.split("=") for word in words)}
    run = Run()

    def counting() -> None:
        run.statements += 1

    library = driver.partition("-")[0]
    shapes = {"django": django, "sqlalchemy": sqlalchemy, "firebirdsql": firebirdsql}[library](driver, counting)
    if not os.environ.get("COLD"):
        shapes[shape](Run(), 2, given)
        run.statements = 0
    print("READY", flush=True)
    sys.stdin.readline()
    with run.work():
        shapes[shape](run, int(n), given)
    counted = {"statements": run.statements, "rows": run.rows, "seconds": run.seconds, "total": run.seconds}
    print(json.dumps({"client": f"{library} {version(library)}", **counted}))


if __name__ == "__main__":
    main()
