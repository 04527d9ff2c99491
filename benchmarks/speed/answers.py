"""The same question for everybody: queries, how many were answered, statements told apart, and the handshakes' RTT."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .captures import Capture, capture
from .cost import Failed, spend
from .programs import FAST, GOPACKET, LATPCAP_ITSELF, SLOW, TSHARK, Program
from .table import Rows, table
from .traffic.kinds import RTT_NS, Wish

ASKED = {
    "N+1": ("nplus1", Wish(1_000)),
    "N+1, two packets a query": ("nplus1", Wish(1_000, acks=False)),
    "N+1 on 16 connections": ("nplus1", Wish(1_000, connections=16)),
    "bulk results": ("bulk", Wish(4_000)),
    "short connections": ("short", Wish(1_000)),
    "distinct statements": ("statements", Wish(1_000)),
    "PostgreSQL, extended": ("postgresql", Wish(1_000)),
    "Firebird": ("firebird", Wish(1_000)),
    "TNS": ("tns", Wish(1_000)),
}
NUMBERS = re.compile(r"\b\d+\b")
PROFILE_LINE = re.compile(r"^# +\d+ 0x\S+ +\S+ +\S+ +(\d+) +\S+ +\S+ +(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """What was said; None is what the program has no way to say."""

    queries: int | None
    answered: int | None
    statements: int | None
    rtt_ms: float | None

    def beside(self, truth: Answer) -> str:
        """In words: where this is not the truth."""
        said = []
        for name, right in vars(truth).items():
            told, words = getattr(self, name), "RTT" if name == "rtt_ms" else name
            if told is None:
                said.append("pairs nothing" if name == "answered" else f"no {words}")
            elif right is not None and abs(told - right) > 1e-4 * right:
                said.append(f"{words}: {told:,}")
        return "; ".join(said) or "the same"


def of_latpcap(output: str) -> Answer:
    result = json.loads(output)
    asked = [each for each in result["statements"] if each["executions"]]
    answered = sum(each["round_trips"] for each in result["purposes"] if each["purpose"] == "statements")
    rtts = [each["rtt"]["baseline_ms"] for each in result["connections"]]
    return Answer(sum(each["executions"] for each in asked), answered, len(asked), statistics.median(rtts))


def of_json(output: str) -> Answer:
    told = json.loads(output)
    return Answer(told["queries"], told["answered"], told["statements"], told["rtt_ms"])


def of_tshark(output: str) -> Answer:
    rows = [line.split("\t") for line in output.splitlines()]
    texts = [text for _, text, _ in rows if text]
    rtts = {stream: float(rtt) * 1000 for stream, _, rtt in rows if rtt}
    rtt_ms = statistics.median(rtts.values()) if rtts else None
    return Answer(len(texts), None, len({NUMBERS.sub("?", text) for text in texts}), rtt_ms)


def of_profile(output: str) -> Answer:
    """pt-query-digest's; connecting and quitting are told like statements. What has a time was answered."""
    calls = [int(calls) for calls, item in PROFILE_LINE.findall(output) if not item.startswith("ADMIN")]
    return Answer(sum(calls), sum(calls), len(calls), None)


READ: dict[str, Callable[[str], Answer]] = {
    LATPCAP_ITSELF: of_latpcap,
    GOPACKET: of_json,
    TSHARK: of_tshark,
    "pt-query-digest": of_profile,
    "dpkt": of_json,
    "scapy": of_json,
    "pyshark": of_json,
}


def asked(folder: Path) -> str:
    """A row for each capture, a column for each program."""
    programs = {name: program for name, program in {**FAST, **SLOW}.items() if name in READ and program.here}
    rows: Rows = [("", "made with", *programs)]
    for title, (kind, wish) in ASKED.items():
        made = capture(folder, kind, wish)
        if made:
            truth = truth_of(made, kind)
            said = (said_by(name, program, made, kind, truth) for name, program in programs.items())
            rows.append((title, f"{made.queries:,} queries; {made.fingerprints:,} distinct", *said))
    return table(rows)


def truth_of(made: Capture, kind: str) -> Answer:
    rtt_ms = None if kind in ("firebird", "tns") else RTT_NS / 1e6
    return Answer(made.queries, made.queries, made.fingerprints, rtt_ms)


def said_by(name: str, program: Program, made: Capture, kind: str, truth: Answer) -> str:
    if not program.reads(kind):
        return "reads MySQL only"
    try:
        _, output = spend(program.command(made.path))
    except Failed as error:
        return f"fails: {error}"
    return READ[name](output).beside(truth)
