"""The JSON Schemas of all that latpcap writes as JSON, made of the types of the results and the columns of the tables.

    python tests/schemas.py      writes docs/schemas/ anew; read the difference before you commit it

What is published is open: keys may be added, so a consumer must not stumble over one. `closed` is the same without that
freedom: what we write ourselves has no key that is not published.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, get_type_hints

import msgspec
from conftest import ROOT, read_fixture
from msgspec import Struct

import latpcap
from latpcap import scan
from latpcap.display import fields_of
from latpcap.findings.what_if import WhatIf
from latpcap.measures.options import GROUPINGS
from latpcap.projection.by_connections import ProjectionGrid
from latpcap.projection.project import BudgetsOnDemand, Projection
from latpcap.result.analysis import Analysis
from latpcap.result.calibration import Calibration
from latpcap.result.captures import CaptureFile, Contents
from latpcap.result.checks.gates import GateResult
from latpcap.result.pairs.comparison import Comparison
from latpcap.result.pairs.rehearsal import Rehearsal
from latpcap.result.pairs.validation import Validation
from latpcap.result.rank_order import RANK_BY
from latpcap.result.settings import Settings
from latpcap.tables.columnar.table import Table
from latpcap.tables.part.selection import Selected
from latpcap.verify import Verification

FOLDER = ROOT / "docs" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

SAMPLE = "mysql/nplus1-300-client"
"""Tables have the same columns whatever was captured."""

Schema = dict[str, Any]


class _Projected(Projection, frozen=True):
    """The runtimes at the asked RTTs, in the asked order."""

    what_if: WhatIf | None = None
    """What fixes would change, where some were asked for."""
    selection: Selected | None = None
    """What this is of the captures; null for all."""
    settings: Settings = msgspec.field(default_factory=Settings)
    captures: tuple[CaptureFile, ...] = ()
    program: str = ""
    """`latpcap` and its version."""


class _ProjectedGrid(ProjectionGrid, frozen=True):
    """Runtime and throughput at the asked RTTs with the asked numbers of connections."""

    selection: Selected | None = None
    """What this is of the captures; null for all."""
    settings: Settings = msgspec.field(default_factory=Settings)
    captures: tuple[CaptureFile, ...] = ()
    program: str = ""
    """`latpcap` and its version."""


class _Annotation(Struct):
    """What `latpcap wireshark -o annotated.pcapng` wrote."""

    path: str
    """The name of the file."""
    packets_with_comments: int
    decryption_secrets: int
    """Blocks of them that the captures hold."""
    tls_sessions_added: int
    secrets_embedded: bool


OBJECTS: dict[str, type[Struct]] = {
    "analysis": Analysis,
    "projection": _Projected,
    "projection_grid": _ProjectedGrid,
    "comparison": Comparison,
    "validation": Validation,
    "verification": Verification,
    "annotation": _Annotation,
    "calibration": Calibration,
    "rehearsal": Rehearsal,
}
"""By the name in `schema`, between `latpcap.` and the version."""


def tables() -> dict[str, Table]:
    """Each table that a command writes, by the name in its `schema`."""
    capture = read_fixture(SAMPLE)
    found = list(capture.tables().values()) + [capture.statements_by(grouping) for grouping in GROUPINGS]
    found.append(latpcap.rank(next((ROOT / "fixtures").glob(f"{SAMPLE}.pcapng"))))
    return {table.schema.removeprefix("latpcap.").partition("/")[0]: table for table in found}


@cache
def published() -> dict[str, Schema]:
    """Every schema, by the name of its file without the suffix."""
    objects = {name: _of_object(name, kind) for name, kind in OBJECTS.items()}
    rows = {name: _of_rows(name, table) for name, table in tables().items()}
    return objects | rows | {"rows": _of_rows("rows", None), "scan": _of_scan()}


# --- objects --------------------------------------------------------------------------------------------------------


def _of_object(name: str, kind: type[Struct]) -> Schema:
    """A result: its fields are the keys, and always there; `gates` only where gates were asked for."""
    told = [kind, GateResult, *_told_of(kind)]
    (_, gates, *_), found = msgspec.json.schema_components(told, schema_hook=_hook)
    kinds = {each.__name__: each for each in _structs(msgspec.inspect.multi_type_info(told))}
    definitions = {title: _definition(kinds[title], each) for title, each in found.items()}
    result = definitions.pop(kind.__name__)
    keys = {"schema": {"const": f"latpcap.{name}/1"}} | result["properties"]
    return _headed(name, result.get("description", "")) | {
        "type": "object",
        "properties": keys | {"gates": _GATES | {"items": gates}},
        "required": list(keys),
        "$defs": dict(sorted(definitions.items())),
    }


_GATES = {"description": "What became of each condition of `--fail-if`; absent without.", "type": "array"}


def _headed(name: str, what: str) -> Schema:
    return {"$schema": DIALECT, "$id": f"{name}.json", "title": f"latpcap.{name}/1", "description": what}


def _hook(kind: type) -> Schema:
    if kind in (Contents, BudgetsOnDemand):
        return {"type": "null"}
    raise NotImplementedError(kind)


def _definition(kind: type[Struct], made: Schema) -> Schema:
    """What msgspec makes of a type, with what is said of each field, and as `display.plain` writes it."""
    names, said = fields_of(kind), dict(_said(kind))
    fields = made["properties"]
    keys = {name: fields[name] if name in fields else msgspec.json.schema(_told(kind, name)) for name in names}
    for name, key in keys.items():
        key.pop("default", None)
        key.pop("$defs", None)
        if name in said:
            key["description"] = said[name]
    whole = {"description": inspect.getdoc(kind), "type": "object"}
    return whole | {"properties": keys, "required": list(names)}


def _told_of(kind: type[Struct]) -> Iterator[Any]:
    """The types of the properties that JSON has of a result, and of what it is made of."""
    for each in _structs(msgspec.inspect.multi_type_info([kind])):
        yield from (_told(each, name) for name in fields_of(each) if name not in each.__struct_fields__)


def _told(kind: type, name: str) -> Any:
    """The type of a property."""
    return get_type_hints(inspect.getattr_static(kind, name).fget)["return"]


def _structs(types: Any, seen: set[type] | None = None) -> Iterator[type[Struct]]:
    """The structs that types are made of."""
    seen = set() if seen is None else seen
    if isinstance(types, tuple | list):
        for each in types:
            yield from _structs(each, seen)
    elif isinstance(types, Struct):
        if isinstance(types, msgspec.inspect.StructType):
            if types.cls in seen:
                return
            seen.add(types.cls)
            yield types.cls
        for name in types.__struct_fields__:
            yield from _structs(getattr(types, name), seen)


def _said(kind: type) -> Iterator[tuple[str, str]]:
    """The fields of a type, each with the text that follows it in the source; properties with theirs."""
    for each in reversed(kind.__mro__):
        if not each.__module__.startswith(("latpcap", __name__)):
            continue
        body = _classes(each.__module__)[each.__name__].body
        for field, text in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _is_text(text):
                yield field.target.id, inspect.cleandoc(text.value.value)  # type: ignore[attr-defined]
        for one in body:
            if isinstance(one, ast.FunctionDef) and (text_of := ast.get_docstring(one)):
                yield one.name, text_of


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The source of a module's classes, by their names."""
    nodes = ast.parse(inspect.getsource(sys.modules[module])).body
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


# --- rows -----------------------------------------------------------------------------------------------------------

_GROUP: Schema = {"type": ["string", "null"]}
KINDS = {"Utf8": "string", "Boolean": "boolean", "Float64": "number", "Timestamp": "string"}


def _of_rows(name: str, table: Table | None) -> Schema:
    """The rows of a table; those of a query, which has columns of its own, where there is none."""
    row: Schema = {"type": "object"}
    if table is not None:
        row = _row(table)
        columns = row["properties"]
        if name == "findings":
            columns = {key: value for key, value in columns.items() if not key.startswith("saved_")}
            saved = {r"^saved_(at_baseline|[0-9.e+-]+ms)_s$": {"type": ["number", "null"]}}
            row |= {"properties": columns, "required": list(columns), "patternProperties": saved}
        if name == "rank":
            row |= {"properties": columns | {by: _GROUP | {"description": f"With `--by {by}`."} for by in RANK_BY}}
    of = "a query: their columns are those that it selects" if table is None else table.name
    what = f"The rows of {of}."
    return _headed(name, what) | {
        "type": "object",
        "properties": {
            "schema": {"const": f"latpcap.{name}/1"},
            "rows": {"type": "array", "items": row},
            "gates": _GATES,
        },
        "required": ["schema", "rows"],
    }


def _of_scan() -> Schema:
    """What parts found together: tables, and sums over one of them."""
    found = scan.reduce([scan.part([str(next((ROOT / "fixtures").glob(f"{SAMPLE}.pcapng")))])])
    rows = {name: _row(getattr(found, name)) for name in scan.TABLES}
    asked = re.compile(r"(runtime|optimistic|pessimistic)_[0-9.e+-]+ms_ns")
    always = {name: column for name, column in rows["groups"]["properties"].items() if not asked.fullmatch(name)}
    at_an_rtt = {f"^{asked.pattern}$": {"type": ["integer", "null"]}}
    rows["groups"] |= {"properties": always, "required": list(always), "patternProperties": at_an_rtt}
    sums = {name: {"type": "integer"} for name in found.total}
    keys = {
        "schema": {"const": "latpcap.scan/1"},
        "total": {"description": "Sums over `groups`.", "type": "object", "properties": sums, "required": list(sums)},
        **{name: {"type": "array", "items": row} for name, row in rows.items()},
    }
    what = "What all parts of a scan found together, the same for any partition; spans are whole nanoseconds."
    return _headed("scan", what) | {"type": "object", "properties": keys, "required": list(keys)}


def _row(table: Table) -> Schema:
    columns = {field.name: _column(str(field.type)) for field in table._arrow.schema}
    return {"type": "object", "properties": columns, "required": list(columns)}


def _column(arrow: str) -> Schema:
    """Null is what the capture does not show."""
    kind = arrow.partition("<")[2].partition("(")[0].rstrip(">\n")
    written: Schema = {"type": [KINDS.get(kind, "integer"), "null"]}
    return written | {"format": "date-time"} if kind == "Timestamp" else written


# --- files ----------------------------------------------------------------------------------------------------------


def closed(schema: Any) -> Any:
    """The same schema for objects that hold nothing that it does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {key: closed(value) for key, value in schema.items()}
    is_object = schema.get("type") == "object" and "properties" in schema
    return shut | {"additionalProperties": False} if is_object else shut


def text_of(schema: Schema) -> str:
    """A schema as its file has it."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write docs/schemas/ anew."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, schema in published().items():
        (FOLDER / f"{name}.json").write_text(text_of(schema))
    print(f"{len(published())} schemas in {FOLDER.relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
