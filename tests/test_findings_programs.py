"""The catalogues of programs in drivers and mappers that no rule was written on: what is told of each is right."""

from __future__ import annotations

import tomllib
from functools import cache

import pytest
from conftest import FIXTURES
from test_findings_corpus import CODES, labelled
from test_findings_corpus import told as told_of_corpus

pytest.importorskip("latpcap._core", reason="the core is not built")

import latpcap
from latpcap.findings.registry import HEALTHY, NO_FINDINGS

PRECISION, RECALL = 0.98, 0.95
CATALOGUES = ("programs.toml", "programs_blind.toml", "programs_third.toml", "programs_cycles.toml")
LEAST = 500
SIZE = 1_750_000
Pairs = set[tuple[str, str]]


@cache
def labels() -> dict[str, frozenset[str]]:
    """What each program should be found to do, by NAME-SERVER."""
    return {
        f"{name}-{server}": frozenset(each[server])
        for catalogue in CATALOGUES
        for name, each in tomllib.loads((FIXTURES / catalogue).read_text()).items()
        for server in ("my", "pg")
        if server in each
    }


@cache
def told(name: str) -> frozenset[str]:
    """The codes that latpcap tells of it; that nothing is to be fixed is one, whatever the network takes."""
    findings = latpcap.read(FIXTURES / "programs" / f"{name}.pcap.zst").findings
    return frozenset(HEALTHY.code if row["code"] in NO_FINDINGS else str(row["code"]) for row in findings[["code"]])


@cache
def wanted() -> Pairs:
    return {(name, code) for name, codes in labels().items() for code in codes}


@cache
def found() -> Pairs:
    return {(name, code) for name in labels() for code in told(name)}


def test_what_is_told_of_them_is_right() -> None:
    assert len(wanted() & found()) >= PRECISION * len(found()), f"false: {sorted(found() - wanted())}"


def test_little_of_what_they_do_is_missed() -> None:
    assert len(wanted() & found()) >= RECALL * len(wanted()), f"missed: {sorted(wanted() - found())}"


def test_the_catalogue_is_large_and_its_captures_are_small() -> None:
    captures = {path.name.split(".")[0]: path for path in (FIXTURES / "programs").glob("*.pcap.zst")}
    assert captures.keys() == labels().keys()
    assert len(captures) >= LEAST
    assert sum(path.stat().st_size for path in captures.values()) < SIZE


def table() -> str:
    """Of the catalogue and of the corpus before it, for benchmarks/results/findings.md."""
    corpus = labelled()
    kinds = (
        (wanted(), found()),
        (
            {(name, code) for name, codes in corpus.items() for code in codes},
            {(name, code) for name in corpus for code in told_of_corpus(name)},
        ),
    )
    head = (
        "| finding | programs: show it | told | right | precision | recall | older captures: show it | told | right |"
    )
    rows = [head, "|---|" + "--:|" * 8]
    for code in (*CODES, ""):
        cells = [code or "**all**"]
        for number, (want, have) in enumerate(kinds):
            mine, theirs = ({pair for pair in pairs if code in ("", pair[1])} for pairs in (want, have))
            right = len(mine & theirs)
            cells += [str(len(mine)), str(len(theirs)), str(right)]
            if number == 0:
                cells += [f"{right / len(theirs):.3f}" if theirs else "–", f"{right / len(mine):.3f}" if mine else "–"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
    print(f"{len(labels())} captures; false {sorted(found() - wanted())}; missed {sorted(wanted() - found())}")
