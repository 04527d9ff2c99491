"""Pseudonyms: one name for one thing, the same in every run, in every table and text."""

from __future__ import annotations

from typing import Any

import mysql_wire
import pytest
from builder import Conn, Ex, build

from latpcap.capture import Capture
from latpcap.reading import read
from latpcap.tables.privacy.pseudonyms import Pseudonyms, renaming
from latpcap.tables.recording import Recording


def named(*connections: Conn, names: Pseudonyms | None = None, notes: Any = None) -> Capture:
    tables = build(list(connections), notes).core
    return Capture(Recording(tables, rename=renaming(tables, names or Pseudonyms())))


def texts(capture: Capture, table: str, column: str) -> list[str]:
    return list(getattr(capture, table).column(column))


def test_a_host_keeps_its_name_and_its_ports() -> None:
    pooler = Conn([Ex()], client="10.0.0.2:50000", server="10.0.0.3:5432")
    capture = named(Conn([Ex()]), Conn([Ex()], client="10.0.0.1:40001"), pooler)
    assert texts(capture, "connections", "client") == ["client-1:40000", "client-1:40001", "server-1:50000"]
    assert texts(capture, "connections", "server") == ["server-1:3306", "server-1:3306", "server-2:5432"]


def test_ipv6_addresses_keep_their_ports() -> None:
    capture = named(Conn([Ex()], client="[fd00::1]:40000", server="[fd00::2]:5432"))
    assert texts(capture, "connections", "client") == ["client-1:40000"]
    assert texts(capture, "connections", "server") == ["server-1:5432"]


def test_equal_users_and_databases_share_a_name() -> None:
    capture = named(*(Conn([Ex()], user=user, database="shop") for user in ("ann", "bob", "ann")))
    assert texts(capture, "connections", "user") == ["user-1", "user-2", "user-1"]
    assert texts(capture, "connections", "database") == ["database-1"] * 3


def test_what_is_unknown_stays_unknown() -> None:
    assert texts(named(Conn([Ex()], user=None)), "connections", "user") == [None]


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("select a from shop.orders", "select a from database-1.orders"),
        ("select a from `Shop`.orders, shopping, workshop", "select a from `database-1`.orders, shopping, workshop"),
        ("use crm", "use database-2"),
        ("create user if not exists bob identified by ?", "create user if not exists user-2 identified by ?"),
        ("grant select on shop.t to carl", "grant select on database-1.t to user-2"),
        ("set role none", "set role none"),
        ("create user mapping for bob server s", "create user mapping for user-2 server s"),
        ("create database link l connect to bob", "create database link l connect to user-2"),
        ("drop user 'dan'@'desk'", "drop user 'user-2'@'host-1'"),
        ("select '10.0.0.1'", "select 'client-1'"),
        ("drop user bob, carl, dan", "drop user user-2, user-3, user-4"),
        (
            "create user bob identified by ?, carl account lock",
            "create user user-2 identified by ?, user-3 account lock",
        ),
        ("rename user bob to carl, dan to eve", "rename user user-2 to user-3, user-4 to user-5"),
        ("alter role bob rename to carl", "alter role user-2 rename to user-3"),
        ("create definer = bob@desk view v as select 1", "create definer = user-2@host-1 view v as select 1"),
        ("create definer = `bob`@`%` view v as select 1", "create definer = `user-2`@`%` view v as select 1"),
        ("show grants for bob@desk using carl", "show grants for user-2@host-1 using user-3"),
        ("reassign owned by bob, carl to dan", "reassign owned by user-2, user-3 to user-4"),
        ("drop owned by bob, carl cascade", "drop owned by user-2, user-3 cascade"),
        (
            "grant readers, writers to bob, carl with admin option",
            "grant user-4, user-5 to user-2, user-3 with admin option",
        ),
        ("revoke select on t from bob, carl", "revoke select on t from user-2, user-3"),
        ("alter table t owner to bob", "alter table t owner to user-2"),
        ("create database crm owner bob template old", "create database database-2 owner user-2 template database-3"),
        ("set session authorization bob", "set session authorization user-2"),
        ("select 1; drop user bob", "select 1; drop user user-2"),
        (
            "select owner, template from user where @x = @@y order by owner desc",
            "select owner, template from user where @x = @@y order by owner desc",
        ),
        ("create role bob superuser login", "create role user-2 superuser login"),
    ],
)
def test_names_in_statements_are_replaced_as_whole_words(sql: str, shown: str) -> None:
    assert texts(named(Conn([Ex(sql=sql)], user="app")), "statements", "text") == [shown]


def test_what_a_server_tells_of_its_version_names_no_host() -> None:
    capture = named(Conn([Ex()], server_version="8.0.36-acme-db7.example"))
    assert texts(capture, "connections", "server_version") == ["8.0.36-?-?7.?"]


def test_names_in_errors_are_replaced() -> None:
    error = '28000: no entry for host "desk", user "mary", database "shop"'
    capture = named(Conn([Ex(error=error)]))
    assert texts(capture, "exchanges", "error") == [
        '28000: no entry for host "host-1", user "user-2", database "database-1"'
    ]


def test_a_name_of_several_words_is_replaced_as_a_whole() -> None:
    names = Pseudonyms()
    assert names.of("database", "/srv/acme/shop.fdb") == "database-1"
    assert names.of("user", "acme") == "user-1"
    assert names.in_text('file "/SRV/ACME/SHOP.FDB" of acme') == 'file "database-1" of user-1'


def test_files_keep_their_suffixes_only() -> None:
    names = Pseudonyms()
    paths = ["/acme/a.pcapng.zst", "b.pcap", "acme", "-", "bytes"]
    assert [names.capture(path) for path in paths] == [
        "capture-1.pcapng.zst",
        "capture-2.pcap",
        "capture-3",
        "-",
        "bytes",
    ]


def test_notes_do_not_name_files() -> None:
    capture = named(Conn([Ex()]), notes=[("file-cut", "warning", "built.pcap: the file ends early", 1)])
    assert "capture-1.pcap: the file ends early" in texts(capture, "health", "message")


def test_recordings_that_share_names_can_be_compared() -> None:
    names = Pseudonyms()
    before = named(Conn([Ex()], user="ann"), names=names)
    after = named(Conn([Ex()], user="bob"), Conn([Ex()], user="ann"), names=names)
    assert texts(before, "connections", "user") == ["user-1"]
    assert texts(after, "connections", "user") == ["user-2", "user-1"]


def test_every_run_gives_the_same_names(fixture: Any) -> None:
    path = fixture("mysql/driver-connector-python").path
    first, second = (read(path, pseudonymise=True).connections.to_dicts() for _ in range(2))
    assert first == second
    assert first[0]["user"] == "user-1"


def test_pseudonyms_change_names_and_no_figure(fixture: Any) -> None:
    path = fixture("mysql/driver-connector-python").path
    plain, hidden = (read(path, pseudonymise=each).analyze() for each in (False, True))
    assert plain.summary == hidden.summary
    assert plain.budget == hidden.budget
    assert plain.projection == hidden.projection


def test_a_million_characters_take_no_time() -> None:
    names = Pseudonyms()
    for number in range(2000):
        names.of("application", f"worker {number} of acme")
    text = "select a from worker where b = ? " * 10_000
    assert names.in_text(text) == text


def test_the_longest_name_wins_and_a_name_inside_of_a_word_stays() -> None:
    names = Pseudonyms()
    for name in ("app", "app-orders", "app-orders (test)"):
        names.of("user", name)
    assert names.in_text("app-orders (test) app-orders-app, apps APP-Orders") == "user-3 user-2-user-1, apps user-2"


def test_a_very_long_name_is_known_by_its_beginning() -> None:
    names = Pseudonyms()
    names.of("application", " ".join(["job"] * 100))
    assert names.in_text(" ".join(["job"] * 31)).startswith("job")
    assert names.in_text(" ".join(["job"] * 100)).startswith("application-1")


def test_a_route_tells_only_words_of_code_with_pseudonyms() -> None:
    asked = [
        (mysql_wire.query(f"select a from t where b = 1 /*action='show',route='{route}'*/"), mysql_wire.result(1))
        for route in (
            "/u/anna@corp.example",
            "%2Fu%2Fanna%40corp.example",
            "/orders/4711/items",
            "/api/v2/u/%3Cint:id%3E",
        )
    ]
    recorded = mysql_wire.capture(asked)
    routes = "\n".join(str(tag) for tag in read(recorded, pseudonymise=True).exchanges.column("tags"))
    assert "anna" not in routes
    assert "4711" not in routes
    assert "action='show',route='/u/?'" in routes
    assert "route='/orders/?/items'" in routes
    assert "route='/api/v2/u/%3Cint:id%3E'" in routes
    assert "route='/u/anna@corp.example'" in str(read(recorded).exchanges.column("tags"))
