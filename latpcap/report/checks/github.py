"""Gates and findings as annotations of a GitHub workflow: `::error title=…::…`, a line each.

<https://docs.github.com/actions/reference/workflow-commands-for-github-actions>; what is escaped, and how:
<https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts>.
"""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.report.text import printable
from latpcap.result.checks.gate_report import Checked

MAX_ANNOTATIONS = 10
"""Annotations of one level that GitHub shows for a step."""

_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


def render(checked: Checked) -> str:
    """Return an error for each gate that failed, and warnings or notices of what was found."""
    return "".join(f"{line}\n" for line in _lines(checked))


def _lines(checked: Checked) -> Iterator[str]:
    for gate in checked.gates.failed:
        yield _command("error", f"latpcap: {gate.condition}", gate.text)
    for finding in checked.findings[:MAX_ANNOTATIONS]:
        level = "notice" if finding.severity == "info" else "warning"
        yield _command(level, f"latpcap: {finding.code}", f"{finding.title}. {finding.fix}")


def _command(level: str, title: str, message: str) -> str:
    return f"::{level} title={_escaped(title, _PROPERTY)}::{_escaped(message, _MESSAGE)}"


def _escaped(text: str, escapes: dict[int, str]) -> str:
    r"""Return `text` as one line of a workflow command has it.

    >>> _escaped("100%: a,b", _PROPERTY)
    '100%25%3A a%2Cb'
    """
    return printable(text).translate(escapes)
