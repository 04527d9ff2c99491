"""Gates as JUnit XML: a test case each, for the test reports of build servers.

The format has no standard; this keeps to what all of them read, the elements and attributes of Ant's JUnit task:
<https://github.com/testmoapp/junitxml>. A gate that holds is a `failure`, one that cannot be told an `error`.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from latpcap.report.text import printable
from latpcap.result.checks.gate_report import Checked
from latpcap.result.checks.gates import GateResult

MAX_CAPTURES = 3
"""Captures that a suite is called after."""
_NO_XML = re.compile("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters illegal in XML 1.0 (<https://www.w3.org/TR/xml/#charsets>), even escaped; `printable` took line ends."""


def render(checked: Checked) -> str:
    """Return one suite with a test case for each gate."""
    gates = checked.gates.gates
    untold = sum(each.holds is None for each in gates)
    counts = {"tests": len(gates), "failures": len(checked.gates.failed) - untold, "errors": untold}
    counted = {name: str(count) for name, count in counts.items()}
    suites = Element("testsuites", {"name": "latpcap", **counted})
    suite = SubElement(suites, "testsuite", {"name": _text(_named(checked.captures)), **counted, "skipped": "0"})
    for gate in gates:
        _test_case(suite, gate)
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _named(captures: tuple[str, ...]) -> str:
    """The captures, or how many there are beside the first."""
    return ", ".join(captures) if len(captures) <= MAX_CAPTURES else f"{captures[0]} and {len(captures) - 1:,} more"


def _test_case(suite: Element, gate: GateResult) -> None:
    case = SubElement(suite, "testcase", {"classname": "latpcap", "name": _text(gate.condition)})
    if gate.failed:
        kind = "error" if gate.holds is None else "failure"
        told = SubElement(case, kind, {"type": _text(gate.figure), "message": _text(gate.text)})
        told.text = _text(gate.sentence)


def _text(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", printable(text))
