"""Statements that hold a secret, in many forms, and clean ones: `secrets/forms.txt` and `secrets/clean.txt` filled in.

The forms were written from the servers' manuals and from what applications, object mappers and administrators send,
before their author had read the rules that hide secrets. Of each form some statements are made: other quotes, words of
the credential family, case, blanks, comments; wrapped, cut short or misspelt. `half` divides the forms: the rules were
mended with the one half (`fit`), and measured with the other (`held`).
"""

from __future__ import annotations

import random
import re
import string
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "secrets"
SEED = 20261125
DIALECTS = ("my", "pg", "ora", "fb")
"""MariaDB and MySQL, PostgreSQL, Oracle, Firebird."""
STATEMENTS_OF_A_FORM = 5
CLEAN_OF_A_FORM = 20
LETTERS = string.ascii_lowercase + string.digits
ENDINGS = ("", "", "", "!", " 7", "$x", "''q", "ü", ";", "--", "%", "/*")
QUOTES = {
    "my": ['"{}"', "N'{}'", "_utf8mb4'{}'"],
    "pg": ["E'{}'", "$${}$$", "$q${}$q$", "U&'{}'"],
    "ora": ["q'[{}]'", "N'{}'", "q'{{{}}}'"],
    "fb": ["_utf8 '{}'", "q'({})'"],
}
PLACE = re.compile(r"\{(Q|H|S2|S|B2|B|X|64|W|K|U|V)\}")


@dataclass(frozen=True)
class Planted:
    half: str
    dialect: str
    form: int
    sql: str
    words: tuple[str, ...]
    """What must not be shown of it: the secret words as they stand there, also as hexadecimal or base64."""
    is_gap: bool
    """Some statement of the form is known to show its secret (`!` before it)."""


@dataclass(frozen=True)
class Clean:
    dialect: str
    form: int
    sql: str
    words: tuple[str, ...]
    """Its literals."""


@cache
def planted() -> list[Planted]:
    """All of them, in an order of their own that never changes; no two differ by their secrets alone."""
    chance = random.Random(SEED)
    forms = _forms("forms.txt")
    halves = ["fit" if chance.random() < 0.5 else "held" for _ in forms]
    seen: set[str] = set()
    found = []
    for number, (dialect, form) in enumerate(forms):
        wanted, tries = STATEMENTS_OF_A_FORM + (dialect == "any"), 0
        while wanted and tries < 60:
            tries += 1
            told = chance.choice(DIALECTS if dialect == "any" else (dialect,))
            sql, words = _filled(chance, told, form.removeprefix("!"))
            sql = _dressed(chance, told, sql, words)
            words = [word for word in words if word.lower() in sql.lower()]
            shape = re.sub("|".join(map(re.escape, words)), "#", sql, flags=re.IGNORECASE) if words else sql
            if words and shape not in seen:
                seen.add(shape)
                wanted -= 1
                found.append(Planted(halves[number], told, number, sql, tuple(words), form.startswith("!")))
    return found


def clean() -> list[Clean]:
    """Statements of reports, ERP systems, object mappers and benchmarks, whose literals are no secrets."""
    chance = random.Random(SEED)
    return [
        Clean(told, number, sql, words)
        for number, (dialect, form) in enumerate(_forms("clean.txt"))
        for told, sql, words in _clean_of(chance, dialect, form)
    ]


def _clean_of(chance: random.Random, dialect: str, form: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for _ in range(CLEAN_OF_A_FORM):
        words: list[str] = []

        def value(place: re.Match[str], words: list[str] = words) -> str:
            if place[1] == "D":
                return f"20{chance.randrange(10, 27)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"
            letters = "".join(chance.choices("aeiklmnr", k=chance.randrange(5, 12)))
            words.append(f"wv{letters}" if place[1] == "L" else str(chance.randrange(100_000, 10_000_000)))
            return words[-1]

        told = "my" if "`" in form else chance.choice(("my", "pg")) if dialect == "any" else dialect
        sql = re.sub(r"\{(L|D|N)\}", value, form)
        yield (
            told,
            chance.choice((sql, sql.lower(), sql.replace(" ", "\n "), f"/* app:web */ {sql}", sql + ";")),
            tuple(words),
        )


def _forms(name: str) -> list[tuple[str, str]]:
    """Each with its dialect, or `any`; a line that begins with blanks goes on with the form before."""
    dialect, forms = "", []
    for line in (FOLDER / name).read_text().splitlines():
        if line.startswith("="):
            continue
        if line.startswith("@"):
            dialect = line[1:]
        elif line.startswith("    "):
            forms[-1] = (dialect, f"{forms[-1][1]}\n{line}")
        elif line:
            forms.append((dialect, line))
    return forms


@cache
def _examples() -> dict[str, list[str]]:
    """What may stand in a place: names of columns (`W`), keys of documents (`K`), users (`U`)."""
    lines = (line[1:].split() for line in (FOLDER / "forms.txt").read_text().splitlines() if line.startswith("="))
    return {place: words for place, *words in lines}


def _word(chance: random.Random) -> str:
    word = "zq" + "".join(chance.choices(LETTERS, k=10))
    return chance.choice((word, word, word.upper(), word.capitalize()))


def _filled(chance: random.Random, dialect: str, form: str) -> tuple[str, list[str]]:
    first, second = _word(chance), _word(chance)
    column, key, user = (chance.choice(_examples()[place]) for place in "WKU")
    words: list[str] = []

    def used(word: str) -> str:
        words.append(word)
        return word

    def quoted(word: str) -> str:
        text = used(word) + chance.choice(ENDINGS)
        return chance.choice(["'{}'"] * 5 + QUOTES[dialect]).format(text)

    fill: dict[str, Callable[[], str]] = {
        "Q": lambda: quoted(first),
        "H": lambda: quoted(second),
        "S": lambda: used(first),
        "B": lambda: used(first),
        "S2": lambda: used(second),
        "B2": lambda: used(second),
        "X": lambda: used(chance.choice((str.upper, str.lower))(first.encode().hex())),
        "64": lambda: used(b64encode(f"u:{first}".encode()).decode().rstrip("=")),
        "W": lambda: column,
        "K": lambda: key,
        "U": lambda: user,
        "V": lambda: "dave",
    }
    if form.endswith("{Q"):
        form = form[:-2] + "'{S}"
    return PLACE.sub(lambda place: fill[place[1]](), form), list(dict.fromkeys(words))


def _dressed(chance: random.Random, dialect: str, sql: str, words: list[str]) -> str:
    """The statement as another program would send it, cut short, or misspelt."""
    if not any(sign in sql for sign in ("{", "$", "-- ", "/*", "-----")) and chance.random() < 0.5:
        sql = _in_other_case(chance, sql, words)
    end = max(sql.lower().rfind(word.lower()) + len(word) for word in words)
    at = len(sql) // 9
    ways = [
        sql,
        sql.replace(" ", "\n\t"),
        sql.replace(" ", "  "),
        "/* app:web,route:/x */ " + sql,
        sql + " -- trace 17",
        sql + ";",
        "EXPLAIN " + sql,
        "SELECT 1; " + sql,
        sql + "; SELECT 2",
        "BEGIN; " + sql + "; COMMIT",
        sql[:end] if not re.search("[A-Za-z]{3}", sql[end:]) else sql,  # what says that it is a secret is still there
        sql[1:],
        sql.replace(" ", "/**/", 2),
        sql.replace(" ", "\u00a0", 3),
        "EXECUTE IMMEDIATE '" + sql.replace("'", "''") + "'",
        "DO $outer$ BEGIN " + sql + "; END $outer$" if dialect == "pg" else sql,
        sql.replace("=", " = ").replace(",", " ,"),
        sql.replace(" = ", "="),
        sql[:at] + chance.choice("qxz") + sql[at:],
        "  \n" + sql + "\n",
    ]
    return chance.choice([sql] * 5 + ways)


def _in_other_case(chance: random.Random, sql: str, words: list[str]) -> str:
    change = chance.choice((str.lower, str.upper, str.swapcase))
    parts = re.split(f"({'|'.join(map(re.escape, words))})", sql)
    return "".join(part if part in words else change(part) for part in parts)
