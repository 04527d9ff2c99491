"""What a statement does, from the first words of its fingerprint (lower case, without comments and literals)."""

from __future__ import annotations

import re
from enum import IntEnum

__all__ = ["END_COMMANDS", "Deed", "deed_of", "is_volatile", "reads_any", "reads_catalog", "written_table"]


END_COMMANDS = frozenset({"commit", "rollback", "commit_retaining", "rollback_retaining"})
"""Commands of a protocol that end a transaction without a statement."""


class Deed(IntEnum):
    """What a statement is for."""

    NONE = 0
    """No statement."""
    READ = 1
    WRITE = 2
    BEGIN = 3
    END = 4
    """Commit or roll back."""
    SESSION = 5
    """Set or ask for something of the session."""
    PING = 6
    """Ask nothing: is the server there?"""
    FETCH = 7
    """`FETCH` from a cursor that SQL declared."""
    OTHER = 8


_HINT = re.compile(r"^(?:/\*m?!\d*\s*|/\*\+.*?\*/\s*|[\s(;])+")
_PING = re.compile(
    r"(?:select \?(?: as \w+)?(?: from (?:dual|rdb\$database|sys\.dual|sysibm\.sysdummy1))?|values \(?\?\)?|do \?|)",
)
_BEGIN = re.compile(
    r"begin(?: (?:work|transaction|read|isolation|immediate|deferred|exclusive)\b.*)?|start transaction\b.*"
)
_END = re.compile(r"(?:commit|rollback|end|abort)(?: (?:work|transaction|and|prepared|retain)\b.*)?")
_SESSION = re.compile(
    r"(?:set|show|use|reset|discard|alter session|savepoint|release|rollback to|deallocate|listen|unlisten)\b"
    r"|select (?:@@|(?:pg_catalog\.)?(?:version|set_config|current_setting|pg_backend_pid)\s?\("
    r"|current_(?:schema|database|user)\b|session_user"
    r"|(?:database|connection_id|last_insert_id|lastval|row_count|found_rows)\(\))"
    r"|(?:begin|call) (?:sys\.)?dbms_(?:session|application_info)\."
)
_WRITE = re.compile(r"(?:insert|update|delete|replace|merge|upsert)\b")
_WRITE_INSIDE = re.compile(r"\b(?:insert into|update \S+ set|delete from|merge into)\b")
_READ = re.compile(r"(?:select|with|table|values)\b")
_FETCH = re.compile(r"fetch\b")
_VOLATILE = re.compile(
    r"\b(?:nextval|currval|lastval|setval|gen_id|next value for|uuid\w*|gen_random_uuid|newid|random|rand|now"
    r"|sysdate\w*|systimestamp|clock_timestamp|current_timestamp|current_time|current_date|localtimestamp"
    r"|utc_timestamp|getdate|unix_timestamp|(?:pg_)?sleep|get_lock|pg_(?:try_)?advisory\w*"
    r"|for update|for share|lock in share mode)\b|\.nextval\b"
)
_CATALOG = re.compile(
    r"\bpg_(?:catalog|type|namespace|class|range|attribute|database|settings)\b|\binformation_schema\b|\brdb\$\w"
    r"|\bmon\$\w|\bv\$\w|\bnls_\w+_parameters\b|\bsys\.\w"
)
_TABLE = re.compile(
    r"(?:insert (?:ignore |low_priority |delayed )*into|replace into|update(?: only| low_priority| ignore)*"
    r"|delete from(?: only)?|merge into)\s+(?:[\w$\"`]+\.)?[\"`]?([\w$]+)"
)


def deed_of(fingerprint: str) -> Deed:
    """What the statement does.

    >>> [deed_of(text).name for text in ("select a from t", "insert into t values (?)", "select ? from dual", "commit")]
    ['READ', 'WRITE', 'PING', 'END']
    >>> [deed_of(text).name for text in ("start transaction", "set names utf8", "fetch all from c", "call p(?)")]
    ['BEGIN', 'SESSION', 'FETCH', 'OTHER']
    """
    text = _HINT.sub("", fingerprint)
    if _READ.match(text) and not _SESSION.match(text) and not _PING.fullmatch(text):
        inside = text.startswith("with") and _WRITE_INSIDE.search(text)
        return Deed.WRITE if inside else Deed.READ
    rules = (
        (Deed.PING, _PING.fullmatch),
        (Deed.WRITE, _WRITE.match),
        (Deed.SESSION, _SESSION.match),
        (Deed.BEGIN, _BEGIN.fullmatch),
        (Deed.END, _END.fullmatch),
        (Deed.FETCH, _FETCH.match),
    )
    return next((deed for deed, matches in rules if matches(text)), Deed.OTHER)


def is_volatile(fingerprint: str) -> bool:
    """Its answer changes although nothing it reads was written, or it locks: it must not be cached.

    >>> is_volatile("select nextval(?)"), is_volatile("select a from t where b = ?")
    (True, False)
    """
    return _VOLATILE.search(fingerprint) is not None


def written_table(fingerprint: str) -> str | None:
    """The table that the statement changes.

    >>> written_table("update only public.acc set a = ?"), written_table("select a from t")
    ('acc', None)
    """
    found = _TABLE.search(fingerprint)
    return found[1] if found else None


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
