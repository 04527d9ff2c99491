"""The comparison of clear with encrypted captures (`benchmarks/encrypted`) over fixtures whose truth is known."""

import sys
from pathlib import Path

import pytest

import latpcap

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "fixtures" / "mysql"
QUERIES = 52
"""Of tls12-nplus1-50 and tls13-nplus1-50: the character set, the keys, and a query for each of 50."""


@pytest.fixture(scope="module")
def twins():
    sys.path[:0] = [str(ROOT / "benchmarks" / part) for part in ("encrypted", "accuracy")]
    try:
        import twins

        yield twins
    finally:
        del sys.path[:2]


def decrypted(name):
    return latpcap.read(FOLDER / f"{name}.pcapng", keylog=FOLDER / f"{name}.keys")


def line(name, **more):
    about = {"workload": name, "protocol": "mysql", "client": "pymysql", "kind": "stop and wait", "statements": 51}
    return about | {"capture": f"{name}.pcapng", "rtt_ms": 1.0} | more


@pytest.mark.parametrize(("version", "handshake"), [("12", 2), ("13", 1)])
def test_the_login_inside_tls_is_set_up_and_the_rest_is_work(twins, version, handshake):
    seen = twins.see(FOLDER, line(f"tls{version}-nplus1-50"))
    assert (seen.setup, seen.work) == (handshake + 1, QUERIES)


def test_what_is_decrypted_of_one_job_is_the_same_whatever_the_version(twins):
    assert twins.differences(decrypted("tls12-nplus1-50"), decrypted("tls13-nplus1-50")) == "same"


def test_another_job_is_told_by_what_differs(twins):
    clear = latpcap.read(FOLDER / "nplus1-300-client.pcapng")
    told = twins.differences(clear, decrypted("tls12-nplus1-50"))
    assert {"statements", "rows", "round trips"} <= set(told.split(", "))


def test_without_keys_everything_that_keys_tell_differs(twins):
    hidden = latpcap.read(FOLDER / "tls12-nplus1-50.pcapng")
    assert "statements" in twins.differences(decrypted("tls12-nplus1-50"), hidden).split(", ")


def test_a_run_that_counts_wrong_is_not_hidden_by_its_group(twins):
    right = {"workload": "a", "kind": "stop and wait", "way": "tls13", "clear": 100, "seen": 100, "off_pct": 0.0}
    wrong = right | {"workload": "b", "seen": 103, "off_pct": 3.0}
    numbers = dict.fromkeys(
        ("projected_off_pct", "again_off_pct", "hidden_off_pct", "error_pct", "clear_error_pct"), 0.0
    )
    rows = [row | numbers | {"clear_setup": 1, "setup": 1, "keys": "same"} for row in (right, wrong)]
    [told] = [line for line in twins.page(rows).splitlines() if line.startswith("| stop and wait")][:1]
    assert told.split(" | ")[1:5] == ["tls13", "2", "1", "3.0"]
