"""Users, databases and hosts named in statements and messages, so that pseudonyms can stand for them everywhere.

A statement that names one may name more: `drop user a, b`, `rename user a to b, c to d`, `grant r to a, b`. All first
words of such a list are taken for names, unless they are words of these statements; rather a name too many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from latpcap import protocols


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAME = r"""(?:`([^`]+)`|"([^"]+)"|'([^']+)'|([\w$#]+))"""
IDENTIFIER = re.compile(rf"\s*(?:if\s+(?:not\s+)?exists\s+)?{NAME}", re.IGNORECASE)
AT_HOST = re.compile(rf"(?<=[\w`'\"?])@{NAME}")
"""MySQL's `'user'@'host'`."""

ONE = (
    (r"\b(?:create|drop|alter)\s+user\s+mapping\s+(?:if\s+(?:not\s+)?exists\s+)?for\b", "user"),
    (r"\bconnect\s+to\b", "user"),
    (r"\bdefiner\s*=", "user"),
    (r"^(?:create|alter)\b.*?\bowner(?:\s+to\b|\s*=)|^create\s+(?:database|schema)\b.*?\bowner\b", "user"),
    (r"\bgranted\s+by\b|\bgrant\s+connect\s+through\b|\bexecute\s+statement\b.*?\bas\s+user\b", "user"),
    (r"^set\s+(?:local\s+|session\s+)?(?:role|authorization|session\s+authorization)\b(?:\s*=|\s+to\b)?", "user"),
    (r"^(?:create|alter)\s+schema\b.*?\bauthorization\b", "user"),
    (r"^set\s+password\s+for\b|^kill\s+user\b|^comment\s+on\s+(?:role|user)\b|^show\s+create\s+user\b", "user"),
    (r"^alter\s+(?:user|role|login|group)\b.*?\brename\s+to\b", "user"),
    (r"^use\b|^comment\s+on\s+database\b|^alter\s+database\b.*?\brename\s+to\b", "database"),
    (r"^create\s+database\b.*?\btemplate\b(?:\s*=)?", "database"),
    (r"^(?:create|alter)\s+role\b.*?\bin\s+database\b", "database"),
)
"""Words before one name, with the kind of the name."""
LISTS = (
    (r"^(?:create|drop|alter|rename)\s+(?:or\s+replace\s+)?(?:user|role|login|group)\b(?!\s+mapping\b)", "user"),
    (r"^(?:create|drop|alter)\s+database\b(?!\s+link\b)", "database"),
    (r"^(?:grant|revoke)\b[^;]*?\s(?:to|from)\b", "user"),
    (r"^(?:grant|revoke)\b(?:\s+admin\s+option\s+for\b)?(?![^;]*\son\s)", "user"),
    (r"^show\s+grants\s+for\b|^set\s+default\s+role\b", "user"),
    (r"^set\s+default\s+role\b[^;]*?\sto\b|^create\s+policy\b.*?\bto\b", "user"),
    (r"^show\s+grants\s+for\b.*?\busing\b", "user"),
    (r"^(?:reassign|drop)\s+owned\s+by\b", "user"),
    (r"^reassign\s+owned\s+by\b.*?\bto\b", "user"),
    (r"^alter\s+default\s+privileges\b.*?\bfor\s+(?:role|user)\b", "user"),
)
"""Words before a list of names."""
QUOTED = re.compile(r"""\b(?P<kind>user|role|database|host) (?P<quote>['"])(?P<name>[^'"]+)(?P=quote)""")
KINDS = {"user": "user", "role": "user", "database": "database", "host": "host"}
NO_NAMES = _words(
    """account admin all alter always and any as attribute authid by cascade comment connect connection create createdb
    createrole current current_role current_user database default delete discard encrypted event except execute expire
    external externally failed_login_attempts file for force from function grant group identified if in index inherit
    insert is issuer keep limit lock locked login maintain none nocreatedb nocreaterole noinherit nologin noreplication
    nosuperuser not null on option or owned owner password password_lock_time plugin privileges process profile proxy
    public quota references reload rename replication require reset resource restrict role schema select session
    session_user set shutdown slave ssl subject super superuser sysid table tablespace tables temporary temp to trigger
    truncate unlimited unlock update usage user using valid values via view with x509"""
)
"""Words of these statements that are no names."""
PRODUCTS = _words(
    """alpha aurora beta bionic buster bullseye bookworm community commercial cockroachdb debian deb debug devel edition
    el enterprise fc galera ga jammy li linux log maria mariadb noble percona pgdg precise protocol rc release server
    sid standard interval tidb trixie trusty u ubu ubuntu v wheezy wi windows wsrep xenial x aarch amd arm"""
).union(protocols.NAMES)
"""Words in the version that a server tells."""
LETTERS = re.compile(r"[^\W\d_]+")


@cache
def _compiled(rules: tuple[tuple[str, str], ...]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern, re.IGNORECASE | re.DOTALL), kind) for pattern, kind in rules]


def named_in_statement(text: str) -> Iterator[tuple[str, str]]:
    """Yield what each name in a statement, or in several with `;` between, is a name of, and the name.

    >>> list(named_in_statement("rename user ann to bob, 'carl'@'desk' to dan"))
    [('user', 'ann'), ('user', 'bob'), ('user', 'carl'), ('user', 'dan'), ('host', 'desk')]
    """
    for statement in map(str.strip, text.split(";")):
        for pattern, kind in _compiled(LISTS):
            if found := pattern.search(statement):
                yield from _listed(kind, statement, found.end())
        for pattern, kind in _compiled(ONE):
            for found in pattern.finditer(statement):
                yield from _named(kind, statement, found.end())
        yield from _hosts(statement)


def named_in_message(text: str) -> Iterator[tuple[str, str]]:
    """Yield the same of a message of a server."""
    for found in QUOTED.finditer(text):
        yield KINDS[found["kind"]], found["name"]
    yield from _hosts(text)


def banner(version: str) -> str:
    """Return the version that a server tells of itself without words that are of no product: it may name its host.

    >>> banner("10.6.12-MariaDB-0ubuntu0.22.04.1"), banner("8.0.36-db7.acme.example")
    ('10.6.12-MariaDB-0ubuntu0.22.04.1', '8.0.36-?7.?.?')
    """
    return LETTERS.sub(lambda word: word[0] if word[0].lower() in PRODUCTS else "?", version)


def _listed(kind: str, statement: str, start: int) -> Iterator[tuple[str, str]]:
    """The first word after each comma, and after each `to` of a `rename`."""
    renames = statement[:6].lower() == "rename"
    places = [start]
    places += [found.end() for found in re.compile(r",|\bto\b" if renames else ",").finditer(statement, start)]
    for place in places:
        yield from _named(kind, statement, place)


def _named(kind: str, statement: str, start: int) -> Iterator[tuple[str, str]]:
    found = IDENTIFIER.match(statement, start)
    name = next(filter(None, found.groups()), "") if found else ""
    if name and name.lower() not in NO_NAMES:
        yield kind, name


def _hosts(text: str) -> Iterator[tuple[str, str]]:
    for found in AT_HOST.finditer(text):
        name = next(filter(None, found.groups()))
        if name.strip("%_."):
            yield "host", name
