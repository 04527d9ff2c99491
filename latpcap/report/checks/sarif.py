"""Gates and findings as SARIF 2.1.0, for code scanning: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/>.

A result each for the gates that failed and for all findings. It lies in the capture (the first, where several are one
recording); its logical locations are the intervals of frames and the statement. No date, no path: the same run gives
the same bytes on any machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from itertools import zip_longest
from typing import Any
from urllib.parse import quote

from latpcap.findings import FindingResult
from latpcap.findings.frames import Frames
from latpcap.report.text import printable
from latpcap.result.captures import CaptureFile
from latpcap.result.checks.gate_report import Checked
from latpcap.result.checks.gates import GateResult

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MAX_LOCATIONS = 10
"""Locations of a finding; the display filter among its properties has all of them."""
LEVELS = {"high": "warning", "medium": "warning", "low": "note", "info": "note"}
"""SARIF's levels of findings: `error` is for the gates, which decide."""
GATE = {
    "id": "gate",
    "shortDescription": {"text": "A gate failed."},
    "fullDescription": {"text": "A condition of --fail-if holds or cannot be evaluated."},
    "help": {"text": "See what changed with `latpcap compare`, and what costs the round trips with `latpcap analyze`."},
    "defaultConfiguration": {"level": "error"},
}

Json = dict[str, Any]


def render(checked: Checked) -> str:
    """Return one log with one run."""
    rules = {GATE["id"]: GATE} | {each.code: _rule(each) for each in reversed(checked.findings)}
    results = [
        *(_gate(each, checked) for each in checked.gates.failed),
        *(_finding(each, checked) for each in checked.findings),
    ]
    places = {code: place for place, code in enumerate(rules)}
    driver = {"name": "latpcap", "version": checked.version, "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True}],
        "artifacts": [
            {"location": _artifact(name)} | (_contents(file) if file else {})
            for name, file in zip_longest(checked.captures, checked.files)
        ],
        "columnKind": "unicodeCodePoints",
        "results": [{"ruleId": code, "ruleIndex": places[code], **result} for code, result in results],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(finding: FindingResult) -> Json:
    return {
        "id": finding.code,
        "shortDescription": {"text": _text(finding.why)},
        "fullDescription": {"text": _text(f"{finding.why} {finding.fix}".rstrip())},
        "help": {"text": _text(finding.fix) or _text(finding.why)},
        "defaultConfiguration": {"level": LEVELS[finding.severity]},
    }


def _gate(gate: GateResult, checked: Checked) -> tuple[str, Json]:
    result = {
        "level": "error",
        "message": {"text": f"Gate failed: {_text(gate.sentence)}."},
        "locations": [_location(checked)],
        "partialFingerprints": {"condition/v1": _digest(gate.condition)},
        "properties": {
            "figure": _text(gate.figure),
            "value": gate.value,
            "limit": gate.limit,
            "baseline": gate.baseline,
        },
    }
    return "gate", result


def _finding(finding: FindingResult, checked: Checked) -> tuple[str, Json]:
    intervals = [_location(checked, *_logical(finding, each)) for each in finding.frames[:MAX_LOCATIONS]]
    result = {
        "level": LEVELS[finding.severity],
        "message": {"text": " ".join(_sentences(finding))},
        "locations": intervals or [_location(checked, *_logical(finding))],
        "partialFingerprints": {"finding/v1": _digest(finding.code, finding.fingerprint or "")},
        "properties": {
            "severity": finding.severity,
            "exchanges": finding.exchanges,
            "roundTripsSaved": finding.round_trips_saved,
            "displayFilter": finding.display_filter,
        },
    }
    return finding.code, result


def _sentences(finding: FindingResult) -> Iterator[str]:
    yield f"{_text(finding.title)}."
    if finding.round_trips_saved:
        yield f"{finding.round_trips_saved:,} round trips too many."
    if finding.statement:
        yield f"Statement: {_text(finding.statement)}"


def _location(checked: Checked, *logical: Json) -> Json:
    first = {"physicalLocation": {"artifactLocation": _artifact(checked.captures[0]) | {"index": 0}}}
    return first | ({"logicalLocations": list(logical)} if logical else {})


def _logical(finding: FindingResult, interval: Frames | None = None) -> Iterator[Json]:
    if interval is not None:
        frames = f"frames {interval.first}-{interval.last}"
        yield {"name": frames, "fullyQualifiedName": f"tcp.stream {interval.stream}/{frames}", "kind": "frames"}
    if finding.statement:
        yield {"name": _text(finding.statement), "kind": "statement"}


def _artifact(name: str) -> Json:
    return {"uri": quote(_text(name))}


def _contents(file: CaptureFile) -> Json:
    """By which a capture is known again wherever it lies."""
    if file.sha256 is None or file.size_bytes is None:
        return {}
    return {"length": file.size_bytes, "hashes": {"sha-256": file.sha256}}


def _digest(*parts: str) -> str:
    """Return a digest, equal in another run: services tell new results by it."""
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def _text(text: str) -> str:
    return printable(text).encode("utf-8", "replace").decode()
