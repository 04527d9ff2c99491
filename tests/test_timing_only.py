"""Connections that could not be read: marked wherever it matters, with the way to read them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builder import Conn, Ex, build

from latpcap import Capture, Pseudonyms
from latpcap.report import FORMATS
from latpcap.result.pairs.comparison import compare
from latpcap.result.rank import rank_rows, rank_table
from latpcap.result.rank_order import RankOrder
from latpcap.tables.privacy.pseudonyms import renaming
from latpcap.tables.recording import Recording

TURNS = [Ex("connect", round_trips=0), Ex("tls"), *[Ex("unreadable")] * 9]
TLS13 = {"tls_version": "TLSv1.3", "tls_cipher": "TLS_AES_128_GCM_SHA256", "tls_resumed": False}


def encrypted(reading: str = "no-keys", **more: Any) -> Conn:
    return Conn(exchanges=TURNS, encryption="tls", tls=TLS13 | {"tls_reading": reading}, **more)


def capture(*connections: Conn) -> Capture:
    return Capture(build(list(connections)))


CLEAR = Conn(client="10.0.0.9:40000", exchanges=[Ex(sql="select ?")] * 9)


@pytest.mark.parametrize("form", ["terminal", "md", "html"])
def test_every_report_marks_it_and_says_how_to_read_it(form: str, tmp_path: Any) -> None:
    of = capture(encrypted())
    if form == "terminal":
        text = FORMATS[form](of.analyze())
    else:
        of.report(tmp_path / f"report.{form}")
        text = (tmp_path / f"report.{form}").read_text()
    assert (
        text.count("Timing only: the connection is encrypted (TLSv1.3), so statements, rows and errors are unknown")
        == 1
    )
    assert "latpcap explain keys" in text
    assert "only connection and timing problems were checked" in text
    assert "counted from packet direction (encrypted)" in text


def test_the_json_tells_how_many_and_why() -> None:
    wire = Conn(client="10.0.0.8:40000", encryption="wire encryption", exchanges=TURNS)
    told = json.loads("".join(map(_text, FORMATS["json"](capture(encrypted(), wire, CLEAR).analyze()))))["timing_only"]
    assert (told["connections"], told["of"], told["kinds"]) == (2, 3, {"TLSv1.3": 1, "wire encryption": 1})
    assert "2 of 3 connections are encrypted (1 TLSv1.3 and 1 wire encryption)" in told["text"]
    assert "--keylog FILE" in told["advice"]
    assert "wire encryption has no key log: switch it off" in told["advice"]


def _text(part: str | bytes) -> str:
    return part if isinstance(part, str) else part.decode()


def test_an_opened_connection_is_like_any_other() -> None:
    opened = Conn(exchanges=[Ex("tls"), Ex(sql="select ?")], encryption="tls", tls=TLS13 | {"tls_reading": "decrypted"})
    result = capture(opened, CLEAR).analyze()
    assert result.timing_only is None
    assert "iming only" not in FORMATS["terminal"](result)
    assert {note.code for note in result.health}.isdisjoint({"encrypted", "keys-missing"})
    assert result.settings.text == "keys, which open 1 of 1 TLS connection"
    assert capture(opened).connections.column("timing_only").tolist() == [False]


def test_a_few_hidden_round_trips_are_no_matter_of_the_verdict() -> None:
    busy = Conn(exchanges=[Ex(sql="select ?")] * 500, client="10.0.0.9:40000")
    result = capture(encrypted(), busy).analyze()
    assert "iming only" not in result.text
    assert "encrypted" in [note.code for note in result.health]


@pytest.mark.parametrize(
    ("reading", "code"),
    [
        ("no-secret", "keys-missing"),
        ("wrong-secret", "keys-wrong"),
        ("interrupted", "tls-interrupted"),
        ("unsupported-suite", "tls-suite-unsupported"),
    ],
)
def test_health_says_what_keys_did_not_open(reading: str, code: str) -> None:
    result = capture(encrypted(reading), encrypted("decrypted", client="10.0.0.7:40000")).analyze()
    (note,) = [note for note in result.health if note.code == code]
    assert (note.severity, note.count) == ("warning", 1)
    assert "1 of 2 TLS connections" in note.message
    assert note.effect
    assert note.advice
    assert result.timing_only is not None
    assert "the given keys do not decrypt 1 connection: see health" in result.timing_only.advice
    assert result.settings.keys is not None
    assert (result.settings.keys.connections, result.settings.keys.opened) == (2, 1)


def test_connections_tasks_and_rank_have_a_column() -> None:
    both = capture(encrypted(), CLEAR)
    assert both.connections.column("timing_only").tolist() == [True, False]
    assert [row["tls_resumed"] for row in both.connections.to_dicts()] == [False, None]
    assert both.tasks.column("timing_only").tolist() == [True, False]
    asked = RankOrder()
    row = rank_table(rank_rows(both.measures, "a.pcap", asked), asked).to_dicts()[0]
    assert row["timing_only"] == 1


def test_a_comparison_says_that_one_side_has_no_statements() -> None:
    clear, sealed = capture(CLEAR).analyze(), capture(encrypted()).analyze()
    result = compare(clear, sealed)
    assert result.explanation.endswith("Timing only, so without statements to compare: 1 of 1 connection after.")
    assert result.timing_only_before is None
    assert result.timing_only_after is not None
    assert result.timing_only_after.connections == 1
    assert "Timing only" not in compare(clear, clear).explanation


def test_names_in_a_handshake_become_pseudonyms() -> None:
    tls = {
        "server_name": "db.acme.example",
        "certificate_subject": "CN=db.acme.example,O=ACME",
        "tls_reading": "no-keys",
    }
    built = build([Conn(exchanges=TURNS, encryption="tls", tls=tls)])
    shown = Capture(Recording(built.core, rename=renaming(built.core, Pseudonyms())))
    assert shown.connections.to_dicts()[0]["server_name"] == "host-1"
    assert shown.connections.to_dicts()[0]["certificate_subject"] == "certificate-1"
    assert "acme" not in str(shown.connections.to_dicts()).lower()


def test_of_statements_that_are_encrypted_nothing_is_excluded() -> None:
    sealed = capture(encrypted())
    answer = sealed.what_if(["all"], [60])
    assert answer is not None
    assert answer.answer.startswith(
        "Whether a code change helps is unknown: the connection is encrypted; the job takes"
    )
    gates = sealed.check("finding(any)", "finding(n+1)", "finding(connect-per-query)").gates
    assert [gate.holds for gate in gates] == [None, None, False]
    assert gates[1].text == "it cannot be decided: the connection is encrypted"
    some = capture(encrypted(), encrypted(client="10.0.0.7:40000"), CLEAR).analyze().unjudged
    assert some is not None
    assert some.text == "2 of 3 connections are encrypted"


def test_a_few_encrypted_statements_decide_nothing() -> None:
    busy = Conn(exchanges=[Ex(sql=f"select {number} from t", rows=1) for number in range(500)], client="10.0.0.9:40000")
    answer = capture(encrypted(), busy).what_if(["all"], [60])
    assert answer is not None
    assert answer.answer.startswith("Only a suggestion applies (pipeline): without it the job takes 30.1 s at 60 ms")
    assert "certain" not in answer.answer


def test_a_run_of_encrypted_requests_of_another_size_is_another_loop() -> None:
    def runs(*sizes: int) -> list[str]:
        sent = [Ex("unreadable", request_bytes=size) for size in sizes]
        sealed = Conn(exchanges=[Ex("connect", round_trips=0), Ex("tls"), *sent], encryption="tls", tls=TLS13)
        return [each.title for each in capture(sealed).analyze().findings if each.code == "request-loop"]

    assert runs(*[100] * 30, *[103] * 30, *[106] * 30) == [
        "90 requests, in 2 runs of one size each: probably loops",
    ]
    assert runs(*[100, 103, 106, 109] * 20) == []
