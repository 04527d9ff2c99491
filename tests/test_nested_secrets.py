"""A secret is shown in no text, whatever its form, and whatever brackets, comments and quotes stand around it."""

from __future__ import annotations

import struct
from pathlib import Path

import mysql_wire
import planted
import pytest
import secret_forms
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planted import Talk, pcapng

from latpcap import read

WORD = "zqsecret"
WRAPPINGS = (
    *("({})", "(({}))", "[{}]", "array[{}]", "md5({})", "concat('a', {})"),
    *("'a' || {}", "{} and 1 = 1", "cast({} as text)"),
    *("/* {} */", "/* a */ {}", "/*+ {} */", "/*!50000 {} */", "-- a\n{}"),
    *("-- {}\n", "# {}\n", "/* /* a */ */ {}", "/* {}"),
    *("'{}'", "'it''s {}'", "'a\\' {}'", '"{}"', '"a"" {}"', "`{}`", "'{}", '"{}'),
    *("n'{}'", "e'{}'", "q'[{}]'", "nq'!{}!'", "$${}$$", "$t${}$t$", "_utf8'{}'", "x'{}'", "u&'{}'"),
)
STATEMENTS = (
    *("create user u identified by {}", "alter role u with login password {} valid until 'x'"),
    "set password for u = {}",
    *("set my.api_key = {}", "create secret s (type x, secret {})", "administer key management set keystore open {}"),
    *("select a from users where password = {}", "select a from users where (name, password) in ((1, {}))"),
    *("update users set a = 1, user_password_hash = {}", "insert into users (name, token) values ('a', {})"),
    *("call login(name => 'a', p_password => {})", "begin l_secret := {}; end;", "mysql -u root -p{}"),
    *("host sqlplus bob/{}@db", "create table t (a int, password text default {})"),
)


@st.composite
def nested(draw: st.DrawFn) -> str:
    text = WORD
    for wrapping in draw(st.lists(st.sampled_from(WRAPPINGS), max_size=4)):
        text = wrapping.format(text)
    return draw(st.sampled_from(STATEMENTS)).format(text)


def mysql(statements: list[str]) -> Talk:
    talk = Talk(("203.0.113.7", 40000), ("203.0.113.8", 3306))
    talk.say(1, mysql_wire.greeting("10.11.6-MariaDB"))
    talk.ask(mysql_wire.login("u", "d"), mysql_wire.message(2, mysql_wire.OK))
    for sql in statements:
        talk.ask(mysql_wire.query(sql), mysql_wire.error(f"You have an error near '{sql[-60:]}' at line 1"))
    return talk


def postgresql(statements: list[str]) -> Talk:
    def message(tag: bytes, body: bytes) -> bytes:
        return tag + struct.pack(">I", len(body) + 4) + body

    talk, ready = Talk(("203.0.113.9", 40000), ("203.0.113.8", 5432)), message(b"Z", b"I")
    names = b"user\0u\0database\0d\0\0"
    talk.ask(struct.pack(">II", len(names) + 8, 3 << 16) + names, message(b"R", bytes(4)) + ready)
    for sql in statements:
        error = f'SERROR\0C42601\0Msyntax error at or near "{sql[-60:]}"\0\0'
        talk.ask(message(b"Q", sql.encode() + b"\0"), message(b"E", error.encode()) + ready)
    return talk


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(statements=st.lists(nested(), min_size=20, max_size=20))
def test_no_nesting_brings_a_secret_into_a_text(statements: list[str], tmp_path: Path) -> None:
    capture = tmp_path / "nested.pcapng"
    capture.write_bytes(pcapng([mysql(statements), postgresql(statements)]))
    for options in ({}, {"show_literals": True}, {"pseudonymise": True}):
        exchanges = read(capture, **options).exchanges.to_dicts()
        assert sum(row["statement"] is not None for row in exchanges) >= len(statements), "they were read"
        shown = [str(value) for row in exchanges for value in row.values() if WORD in str(value).lower()]
        assert not shown, (options, shown)


WAYS: tuple[dict[str, bool], ...] = ({}, {"show_literals": True}, {"pseudonymise": True})


def firebird(statements: list[str]) -> Talk:
    """Oracle's statements are told to it, too: both have names only in double quotes."""
    talk = planted.attached_to_firebird()
    for sql in statements:
        planted.prepare(talk, sql)
    return talk


TOLD = {"my": mysql, "pg": postgresql, "ora": firebird, "fb": firebird}


def texts(dialect: str, statements: list[str], folder: Path, options: dict[str, bool]) -> str:
    """All that is said of a session with these statements."""
    capture = folder / f"{dialect}.pcapng"
    capture.write_bytes(pcapng([TOLD[dialect](statements)]))
    rows = read(capture, **options).exchanges.to_dicts()  # type: ignore[arg-type]
    assert sum(row["statement"] is not None for row in rows) >= len(statements), "they were read"
    return "\n".join(str(value) for row in rows for value in row.values())


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("dialect", TOLD)
def test_no_form_of_a_stranger_shows_its_secret(dialect: str, options: dict[str, bool], tmp_path: Path) -> None:
    forms = [form for form in secret_forms.planted() if form.dialect == dialect]
    said = texts(dialect, [form.sql for form in forms], tmp_path, options).lower()
    shown = [form.sql for form in forms if not form.is_gap and any(word.lower() in said for word in form.words)]
    assert not shown


@pytest.mark.parametrize("dialect", ["my", "pg"])
def test_no_literal_is_hidden_that_is_no_secret(dialect: str, tmp_path: Path) -> None:
    forms = [form for form in secret_forms.clean() if form.dialect == dialect]
    said = texts(dialect, [form.sql for form in forms], tmp_path, {"show_literals": True})
    assert not [form.sql for form in forms if any(word.lower() not in said.lower() for word in form.words)]
