"""The tables that a statement reads and writes, from its fingerprint (lower case, without comments and literals)."""

from __future__ import annotations

import re

_VOLATILE = re.compile(
    r"\b(?:nextval|currval|lastval|setval|gen_id|next value for|uuid\w*|gen_random_uuid|newid|random|rand|now"
    r"|sysdate\w*|systimestamp|clock_timestamp|current_timestamp|current_time|current_date|localtimestamp"
    r"|utc_timestamp|getdate|unix_timestamp|(?:pg_)?sleep|get_lock|pg_(?:try_)?advisory\w*"
    r"|for update|for share|lock in share mode)\b|\.nextval\b"
)
_CATALOG = re.compile(
    r"\bpg_(?:catalog|type|namespace|class|range|attribute|attrdef|constraint|database|description|enum|index|indexes"
    r"|proc|sequence|settings|tables)\b|\binformation_schema\b|\brdb\$\w"
    r"|\bmon\$\w|\bv\$\w|\bnls_\w+_parameters\b|\bsys\.\w"
)
CATALOG_WORDS = ("pg_", "information_schema", "rdb$", "mon$", "v$", "nls_", "sys.")
"""One of these stands in every statement that reads the catalog: most need not be looked at."""
NEXT_KEY_WORDS = ("nextval", "next_val", "gen_id", "next value for")
"""Words by which a statement asks a sequence for its next key (`next_val`: Hibernate's table of sequences)."""
KEY_WORDS = (*NEXT_KEY_WORDS, "currval", "lastval", "last_insert_id", "identity")
"""Words by which a statement asks for a key: the next of a sequence, or the last one."""
CUT = "…"
"""The end of a text that was too long to keep as a whole."""
_KEY = re.compile(
    rf"select \(?(?:@*(?:[\w$.\"]+\.)?(?:{'|'.join(KEY_WORDS[:-1])})\b|@@identity\b|identity\()(?!.* where )"
)
_TABLE = re.compile(
    r"(?:insert (?:ignore |low_priority |delayed )*into|replace into|update(?: only| low_priority| ignore)*"
    r"|delete from(?: only)?|merge into)\s+(?:[\w$\"`\[\]]+\.)*[\"`\[]?([\w$]+)"
)

_LOCK = re.compile(
    r"\bfor (?:no key )?update\b|\bfor (?:key )?share\b|\block in share mode\b|\bwith lock\b|^lock tables?\b"
    r"|\([^()]*\b(?:updlock|xlock|holdlock|serializable|repeatableread|tablockx)\b"
    r"|\bpg_(?:try_)?advisory\w*|\b(?:get|release)_lock ?\(|\bdbms_lock\b|\bsp_(?:get|release)applock\b"
)
_READ_TABLE = re.compile(r"^select .*?\bfrom (?:only )?(?:[\w$\"`\[\]]+\.)*[\"`\[]?([\w$]+)[\"`\]]?(?=[ )]|$)")
_CONDITION = re.compile(r" where (.*?)(?: order by | limit | offset | fetch | returning | group by |$)")
_TYPE = r"\w+(?: varying| precision| with(?:out)? time zone)?"
_EQUALS = re.compile(
    rf"\(*(?:[\w$\"`\[\]]+\.)*[\"`\[]?([\w$]+)[\"`\]]? (?:= \(*\?(?:::{_TYPE})?|(is (?:not )?null))\)*"
)
_SUBSELECT = re.compile(r"^select exists ?\( ?(?=select )")


def is_volatile(fingerprint: str) -> bool:
    """Its answer changes although nothing it reads was written, or it locks: it must not be cached.

    >>> is_volatile("select nextval(?)"), is_volatile("select a from t where b = ?")
    (True, False)
    """
    return _VOLATILE.search(fingerprint) is not None


def asks_for_key(fingerprint: str) -> bool:
    """It asks for nothing but the key of a row: the next one, or the last.

    >>> [asks_for_key(text) for text in ("select nextval(?)", "select @@identity", "select identity from t")]
    [True, True, False]
    """
    return _KEY.match(fingerprint) is not None


def written_table(fingerprint: str) -> str | None:
    """The table that the statement changes.

    >>> written_table("update only public.acc set a = ?"), written_table("select a from t")
    ('acc', None)
    """
    found = _TABLE.search(fingerprint)
    return found[1] if found else None


def locks_rows(fingerprint: str) -> bool:
    """It keeps others from changing the rows that it reads, or from what the program does meanwhile.

    >>> locks_rows("select a from t where b = ? for update"), locks_rows("update t set a = ?")
    (True, False)
    >>> locks_rows("select a from t with(holdlock) where b = ?"), locks_rows("select pg_advisory_xact_lock(?)")
    (True, True)
    """
    return _LOCK.search(fingerprint) is not None


def named_row(fingerprint: str) -> tuple[str, frozenset[str]] | None:
    """The one table that it reads or changes, and the columns whose values name the row.

    >>> named_row('select "U"."a" from "users" "U" where (("U"."id" = ?)) limit ?')
    ('users', frozenset({'id'}))
    >>> named_row("update users set a = ? where id = ? and gone is null")
    ('users', frozenset({'id'}))
    >>> named_row("select a from t where b > ?"), named_row("select a from t join u on t.a = u.a where b = ?")
    (None, None)
    >>> named_row("update t set a = ? from u where t.id = ?"), named_row("delete from t using u where id = ?")
    (None, None)
    """
    text = _SUBSELECT.sub("", fingerprint)
    condition = _CONDITION.search(text)
    if condition is None or " join " in text or text.count("select ") > text.startswith("select "):
        return None
    parts = [_EQUALS.fullmatch(part) for part in condition[1].split(" and ")]
    columns = frozenset(part[1] for part in parts if part and not part[2])
    table = _only_table(text[: condition.start()])
    return (table, columns) if table and columns and all(parts) else None


def _only_table(text: str) -> str | None:
    """The one table that a statement reads, updates or deletes from; `text`: all before its condition."""
    read = _READ_TABLE.match(text)
    if read:
        return None if "," in text[read.end() :] else read[1]
    if not text.startswith(("update ", "delete from ")):
        return None
    target, _, changes = text.removeprefix("delete from ").partition(" set ")
    is_one = "," not in target and " using " not in target and " from " not in f"{target} {changes}"
    return written_table(text) if is_one else None


def is_cut(fingerprint: str) -> bool:
    """It goes on behind what is known of it.

    >>> is_cut("update pgbe…"), is_cut("commit")
    (True, False)
    """
    return fingerprint.endswith(CUT)


def is_cut_behind_table(fingerprint: str) -> bool:
    """It was cut, and the whole name of the table that it changes is known.

    >>> [is_cut_behind_table(text) for text in ("update acc set b…", "update acc …", "update pgbe…", "update acc")]
    [True, True, False, False]
    """
    found = _TABLE.match(fingerprint)
    return is_cut(fingerprint) and found is not None and fingerprint[found.end() : found.end() + 1] not in (CUT, ".")


def always_brings_row(fingerprint: str) -> bool:
    """It brings a row whether what it looks for exists or not.

    >>> always_brings_row("select count(*) from t where a = ?"), always_brings_row("select a from t where a = ?")
    (True, False)
    """
    return fingerprint.startswith(("select count(", "select exists"))


def reads_catalog(fingerprint: str) -> bool:
    """It reads the database's own tables.

    >>> reads_catalog("select oid from pg_catalog.pg_type where typname = ?"), reads_catalog("select a from t")
    (True, False)
    """
    return _CATALOG.search(fingerprint) is not None


def reads_any(fingerprint: str, tables: frozenset[str]) -> bool:
    """The statement names one of `tables`.

    >>> reads_any("select a from t, u", frozenset({"u"}))
    True
    """
    return not tables.isdisjoint(re.findall(r"[\w$]+", fingerprint))
