"""Does a packet that the capture missed decide what latpcap finds, or what it advises?

    python benchmarks/dropped.py [one] [loss] [snap] [--draws N] [--only TEXT] [--examples N]

`one`: each of the first 60 packets and 60 random ones of a capture is left out, one at a time. `loss`: 0.5, 1 and 3 %
of the packets are, at random. `snap`: packets are cut at 68 to 256 bytes. Each damaged capture is compared with the whole one:
its findings of medium and high severity, what `project --fix all` decides at 15 ms, and what a gate says. A decision or
a gate that says that something was lost does not count as `silent`.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import damage
from damage import FIXTURES, Packets

import latpcap

NAMES = (
    "clients/activerecord-postgresql",
    "clients/django-postgresql",
    "clients/hibernate-mariadb",
    "clients/node-pg",
    "findings/chatter-my",
    "findings/connects-pg",
    "findings/fetch-10",
    "findings/insert-commit-pg",
    "findings/insert-each-my",
    "findings/nested-my",
    "findings/orm-commit-each",
    "findings/orm-joined-my",
    "findings/orm-lazy-my",
    "findings/orm-lazy-pg",
    "findings/orm-pre-ping-pg",
    "findings/orm-requests-pg",
    "findings/prepared-each",
    "firebird/fbclient3-nplus1",
    "mysql/commit-each-row",
    "mysql/jdbc-mysql-nplus1",
    "mysql/nplus1-1000-rtt1",
    "mysql/nplus1-300-client",
    "mysql/pool-4",
    "postgresql/pg18-psycopg3-nplus1-100",
    "postgresql/psycopg2-nplus1-100",
    "postgresql/psycopg3-nplus1-100",
    "programs/adodb-each-pg",
    "programs/aiosql-each-pg",
    "programs/ar-belongs-to-pg",
    "programs/ar-find-each-my",
    "programs/ar-includes-my",
    "programs/bookshelf-related-my",
    "programs/bun-has-many-pg",
    "programs/capi-loop-my",
    "programs/dbi-commit-each-pg",
    "programs/dbi-select-each-pg",
    "programs/doctrine-lazy-my",
    "programs/drizzle-loop-pg",
    "programs/eloquent-lazy-pg",
    "programs/peewee-setting-pg",
)
"""Fixtures of many drivers, with and without something to fix."""
FIRST = RANDOM = 60
SHARES = (0.005, 0.01, 0.03)
SNAPS = (68, 80, 96, 128, 160, 200, 256)
RTT_MS = 15.0
GATES = ("finding(any)", "finding(n+1)")
WORDS = ("in part", "cannot be decided", "is unknown", "not certain")
"""How a sentence begins to speak of what was lost."""
MAX_CHANGE = 0.1
N_PLUS_ONE = "n+1"


@dataclass(frozen=True)
class Told:
    """The findings, gates and decision that users act on."""

    findings: tuple[tuple[str, str], ...]
    """Pattern and statement of those of medium and high severity."""
    decision: str
    gates: tuple[tuple[bool | None, str], ...]
    fixed_s: float
    """With all fixes."""
    range_s: tuple[float, float]

    @property
    def codes(self) -> frozenset[str]:
        return frozenset(code for code, _ in self.findings)

    @property
    def verdict(self) -> str:
        """The beginning of the decision."""
        return self.decision.partition(" takes ")[0].partition(":")[0]


def told(packets: Packets) -> Told:
    return told_of(damage.pcapng(packets))


def told_of(file: bytes) -> Told:
    """Return the conclusions of latpcap about a capture."""
    capture = latpcap.read(file)
    try:
        result = capture.analyze([RTT_MS])
    except latpcap.NoDatabaseTraffic as error:
        return Told((), f"It is unknown: {error}", ((None, str(error)),) * len(GATES), 0.0, (0.0, math.inf))
    findings = [each for each in result.findings if each.severity in ("medium", "high")]
    changed = capture.what_if(["all"], [RTT_MS])
    gates = capture.check(*GATES).gates
    at = f"{RTT_MS:g}"
    fixed = changed.all_fixes if changed else None
    return Told(
        tuple(sorted((each.code, each.statement or "") for each in findings)),
        changed.answer if changed else "",
        tuple((each.holds, each.text) for each in gates),
        fixed.runtime_s[at] if fixed else 0.0,
        (fixed.optimistic_s[at], fixed.pessimistic_s[at]) if fixed else (0.0, 0.0),
    )


def speaks_of_loss(text: str) -> bool:
    return any(word in text for word in WORDS)


def differences(whole: Told, other: Told) -> set[str]:
    """Return which conclusions about a damaged capture differ."""
    found = set()
    if whole.findings != other.findings:
        found.add("finding")
    if whole.codes != other.codes:
        found.add("code")
    if whole.verdict != other.verdict:
        found.add("verdict")
        if not speaks_of_loss(other.decision):
            found.add("verdict, silent")
    for (before, _), (after, text) in zip(whole.gates, other.gates, strict=True):
        if before != after:
            found.add("gate")
            if after is not None and not speaks_of_loss(text):
                found.add("gate, silent")
    if not is_near(whole, other):
        found.add("runtime")
    return found


def is_near(whole: Told, other: Told) -> bool:
    """The runtime with fixes is that of the whole capture, within 10 % or its range."""
    low, high = other.range_s
    near = abs(other.fixed_s - whole.fixed_s) <= MAX_CHANGE * whole.fixed_s
    return near or low <= whole.fixed_s <= high


@cache
def base(name: str) -> tuple[Packets, Told]:
    """A fixture and what is said of it."""
    [path] = (FIXTURES / name).parent.glob(f"{Path(name).name}.pcap*")
    packets = damage.read(path)
    return packets, told(packets)


def one_missing(name: str, first: int = FIRST, chosen: int = RANDOM) -> Iterator[tuple[int, Told]]:
    """The capture without one of its packets, by that packet's frame number."""
    packets, _ = base(name)
    chance = random.Random(name)
    places = {*range(min(first, len(packets))), *chance.sample(range(len(packets)), min(chosen, len(packets)))}
    for place in sorted(places):
        yield place + 1, told([*packets[:place], *packets[place + 1 :]])


def lossy(name: str, share: float, draws: int) -> Iterator[tuple[int, Told]]:
    """The capture without a share of its packets, by the draw's seed."""
    packets, _ = base(name)
    for seed in range(draws):
        yield seed, told(damage.lose(packets, random.Random(f"{name} {share} {seed}"), share))


def cut(name: str) -> Iterator[tuple[int, Told]]:
    """The capture with its packets cut, by the snap length."""
    packets, _ = base(name)
    for snap in SNAPS:
        yield snap, told(damage.cut_packets(packets, random.Random(0), snap))


def compare(
    label: str, name: str, variants: Iterator[tuple[int, Told]], tally: Counter[str], examples: list[str]
) -> None:
    """Add what is said otherwise of the variants of a capture."""
    _, whole = base(name)
    for number, other in variants:
        found = differences(whole, other)
        tally.update(["variants", *found])
        if N_PLUS_ONE in whole.codes:
            tally.update(["with n+1", *(["n+1 stays"] if N_PLUS_ONE in other.codes else [])])
        if found:
            lost, new = (sorted(one.codes - two.codes) for one, two in ((whole, other), (other, whole)))
            examples.append(
                f"{label} {name} {number}: {', '.join(sorted(found))}; lost {lost}, new {new}; "
                f"{whole.fixed_s:.3f} -> {other.fixed_s:.3f} ({other.range_s[0]:.3f} to {other.range_s[1]:.3f}); "
                f"{other.decision}"
            )


def row(label: str, tally: Counter[str]) -> str:
    """A row of the table."""
    count = max(tally["variants"], 1)
    cells = [
        f"{tally[what]} ({tally[what] / count:.1%})"
        for what in ("finding", "code", "verdict", "verdict, silent", "gate, silent", "runtime")
    ]
    stays = f"{tally['n+1 stays'] / tally['with n+1']:.1%}" if tally["with n+1"] else "–"
    return f"| {label} | {tally['variants']} | {' | '.join(cells)} | {stays} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["one", "loss", "snap"])
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--only", default="")
    parser.add_argument("--examples", type=int, default=0)
    asked = parser.parse_args()
    names = [name for name in NAMES if asked.only in name]
    print("| | variants | finding | pattern | verdict | verdict, silent | gate, silent | runtime | N+1 stays |")
    print("|---|" + "--:|" * 8)
    kinds = []
    if "one" in asked.what:
        kinds.append(("one packet", one_missing))
    if "loss" in asked.what:
        kinds += [(f"{share:.1%}", lambda name, share=share: lossy(name, share, asked.draws)) for share in SHARES]
    if "snap" in asked.what:
        kinds.append(("snap length", cut))
    examples: list[str] = []
    for label, make in kinds:
        tally: Counter[str] = Counter()
        for name in names:
            compare(label, name, make(name), tally, examples)
        print(row(label, tally), flush=True)
    for example in examples[: asked.examples]:
        print(example)


if __name__ == "__main__":
    main()
