"""The meaning of the exit status: for the help of each command, and for the man page."""

from __future__ import annotations

import click

INTERRUPTED_STATUS = 130
"""The exit status that shells report for Ctrl-C."""
EXIT_STATUS = {
    "0": "done",
    "1": "a condition of --fail-if holds; wireshark --verify: a difference is unexplained",
    "2": "a usage error, or an output that cannot be written",
    "3": "a file cannot be read, or is not a capture",
    "4": "no database traffic in the captures",
    "5": "the disk is full: no space for an output, or for temporary files",
    "6": "packets cannot be recorded here: no permission, no dumpcap or tcpdump, no such interface",
    "7": "a server does not answer",
    "8": "workers of a scan died repeatedly",
    "126": "the command to run exists but is not executable",
    "127": "the command to run does not exist",
    "130": "ended by a second Ctrl-C; the first one stops reading and reports what was read",
    "141": "the reader of the output closed the pipe",
}
_SHORT = {
    "0": "done",
    "2": "usage",
    "3": "unreadable capture",
    "4": "no database traffic",
    "5": "disk full",
    "6": "cannot record",
    "7": "server does not answer",
    "126": "cannot run",
    "127": "no such command",
    "130": "Ctrl-C",
}
_FAILS = {"fail_if": "a condition of --fail-if holds", "verify": "--verify: a difference is unexplained"}
"""The meaning of 1, by an option of the command."""
_READS_NOTHING = ("completion", "explain", "help")
_CONNECTS = ("calibrate",)
_RECORDS = ("6", "7")
_RUNS = (*_RECORDS, "126", "127")
_ALSO = {"record": _RUNS, "rehearse": _RUNS, "watch": _RECORDS}


def exit_status(command: click.Command) -> str:
    """The statuses that a command ends with, in a line below its help; the group's are those of all."""
    if command.name in _READS_NOTHING:
        return _line({status: _SHORT[status] for status in ("0", "2")})
    if command.name in _CONNECTS:
        return _line({status: EXIT_STATUS[status] for status in ("0", "7")} | {"2": _SHORT["2"], "130": _SHORT["130"]})
    known = ("fail_if",) if isinstance(command, click.Group) else tuple(each.name for each in command.params)
    also = _RUNS if isinstance(command, click.Group) else _ALSO.get(command.name or "", ())
    short = {each: exit_status for each, exit_status in _SHORT.items() if each not in _RUNS or each in also}
    fails = [meaning for key, meaning in _FAILS.items() if key in known]
    return _line(short | dict.fromkeys(["1"] * len(fails), " or ".join(fails)))


def _line(meanings: dict[str, str]) -> str:
    return f"Exit status: {', '.join(f'{status} {meanings[status]}' for status in sorted(meanings, key=int))}."
