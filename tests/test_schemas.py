"""What latpcap writes as JSON is what docs/schemas/ publishes, of every fixture; `tests/schemas.py` makes them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import golden
import pytest
import schemas
from conftest import FIXTURES, analysed, load_fixture, read_fixture
from jsonschema import Draft202012Validator

import latpcap as package
from latpcap.report.jsonout import render
from latpcap.result.pairs.comparison import compare

Run = Callable[..., subprocess.CompletedProcess[bytes]]

LISTED = 20
"""Rows of a long list that are looked at: the others are made of the same columns."""
NPLUS1 = "mysql/nplus1-300-client"


@cache
def _closed(name: str) -> Draft202012Validator:
    return Draft202012Validator(
        schemas.closed(schemas.published()[name]), format_checker=Draft202012Validator.FORMAT_CHECKER
    )


def _holds(text: str | bytes) -> dict[str, Any]:
    """The JSON object, which its schema describes to the last key."""
    told: dict[str, Any] = json.loads(text)
    name = told["schema"].removeprefix("latpcap.").partition("/")[0]
    found = [f"{error.json_path}: {error.message:.200}" for error in _closed(name).iter_errors(told)]
    assert not found
    return told


def _json(result: Any) -> str:
    return "".join(piece if isinstance(piece, str) else piece.decode() for piece in render(result))


@pytest.mark.parametrize("name", sorted(schemas.published()))
def test_what_is_published_is_what_the_types_say(name: str) -> None:
    schema = schemas.published()[name]
    Draft202012Validator.check_schema(schema)
    assert (schemas.FOLDER / f"{name}.json").read_text() == schemas.text_of(schema), "python tests/schemas.py"
    assert {path.stem for path in schemas.FOLDER.glob("*.json")} == set(schemas.published())


@pytest.mark.parametrize("name", golden.fixtures())
def test_every_fixture_is_told_as_published(name: str) -> None:
    capture = read_fixture(name)
    for table in (capture.health, capture.captures):
        _holds(_json(table))
    try:
        result = analysed(name)
    except package.NoDatabaseTraffic:
        return
    for table in capture.tables().values():
        _holds(_json(table[:LISTED]))
    _holds(_json(compare(result, result)))
    told = json.loads(_json(result))
    _holds(json.dumps(told | {key: told[key][:LISTED] for key in ("connections", "statements")}))


@pytest.mark.parametrize(
    "arguments",
    [
        ("analyze", "--move", ":3306=15ms", "--within", "60s", "--fail-if", "round_trips > 5000"),
        ("project", "--rtt", "15ms", "--fix", "all", "--jitter", "1ms", "--connections", "2", "--service", "50%"),
        ("project", "--rtt", "15ms", "--within", "60s", "--loss", "0.1%", "--bandwidth", "34Mbit"),
        ("project", "--fail-if", "project(15ms) > 600s"),
        ("findings", "--rtt", "7.5ms,1ms"),
        *(
            ("table", name)
            for name in ("exchanges", "connections", "errors", "tasks", "intervals", "health", "captures")
        ),
        ("statements",),
        *(("statements", "--by", each) for each in ("user", "database", "client", "application", "server")),
        *(("rank", "--by", each) for each in ("server", "task", "route")),
        ("rank", FIXTURES / "README.md", "--fail-if", "round_trips > 5000"),
        ("wireshark", "--verify"),
    ],
    ids=lambda arguments: " ".join(map(str, arguments[:3])),
)
def test_every_command_writes_as_published(latpcap: Run, arguments: tuple[object, ...]) -> None:
    done = latpcap(*arguments, load_fixture(NPLUS1).path, "--json")
    assert done.returncode == 0, done.stderr
    _holds(done.stdout)


def test_pairs_queries_scans_and_annotations_are_written_as_published(latpcap: Run, tmp_path: Path) -> None:
    path = load_fixture(NPLUS1).path
    other = load_fixture("mysql/nplus1-300-server").path
    assert _holds(latpcap("compare", path, other, "--fail-if", "round_trips > 5000", "--json").stdout)["gates"]
    _holds(latpcap("compare", "--projected", path, other, "--json").stdout)
    _holds(latpcap("sql", path, "select count(*) as n, 'x' as t from exchanges", "--json").stdout)
    shutil.copy(path, tmp_path / "a.pcapng")
    latpcap("report", path, "--title", "T", "-o", tmp_path / "report.json")
    assert _holds((tmp_path / "report.json").read_text())["sign_off"]["title"] == "T"
    _holds(latpcap("scan", path, "--rtt", "7.5ms", "--totals").stdout)
    _holds(latpcap("wireshark", tmp_path / "a.pcapng", "-o", tmp_path / "b.pcapng", "--json").stdout)


def test_a_part_pseudonyms_and_literals_are_written_as_published() -> None:
    capture = package.read(load_fixture("mysql/driver-connector-python").path, pseudonymise=True, show_literals=True)
    for part in (capture, capture.select(stream="0"), capture.select(end="+50ms")):
        assert _holds(_json(part.analyze()))["captures"][0]["path"] == "capture-1.pcapng"


def test_a_key_that_is_not_published_is_found() -> None:
    told = json.loads(_json(analysed(NPLUS1)))
    told["summary"]["more"] = 1
    with pytest.raises(AssertionError, match=r"\$\.summary: .*'more' was unexpected"):
        _holds(json.dumps(told))
    del told["summary"]["more"], told["paths"][0]["rtt"]["samples"]
    with pytest.raises(AssertionError, match="'samples' is a required property"):
        _holds(json.dumps(told))
    assert Draft202012Validator(schemas.published()["analysis"]).is_valid(told | {"further": 1}) is False  # samples
    told["paths"][0]["rtt"]["samples"] = 2
    assert Draft202012Validator(schemas.published()["analysis"]).is_valid(told | {"further": 1})
