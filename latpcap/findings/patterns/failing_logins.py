"""Failing logins: connections are set up only to be refused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import NOTHING, Candidate, Pattern, effect_of
from latpcap.measures.errors import LOGIN

MIN_LOGINS = 3

FIXES = {
    "login": "Check user, password, database and the access rules of the server (`pg_hba.conf`, `user`@`host`).",
    "permission": "Grant the user the right to connect to this database.",
    "limit": "Open fewer connections at once (a pool for all processes), or raise the server's limit.",
    "ended": "Check the server's log for the cause: start-up, shutdown, a time-out, a health check without a login.",
}
"""By class of error."""
OTHERWISE = "Check the server's log for the reason."
PAUSE = "Wait before retrying a refused login."


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a class of error."""
    failures, exchanges = evidence.failures, evidence.exchanges
    for category, mine in failures.by_category(LOGIN):
        if len(mine) < MIN_LOGINS:
            continue
        rows, every = failures.rows[mine], int(failures.of[LOGIN])
        cost = failures.cost[np.isin(failures.cost_of, mine)]
        yield Candidate(
            shown=cost,
            effect=effect_of(evidence, NOTHING, rows[:0]),
            facts={
                "failures": len(rows),
                "logins": every,
                "category": category,
                "codes": failures.codes(mine),
                "round_trips": int(exchanges.round_trips[cost].sum()),
            },
            fix=f"{failures.server_says(mine)} {FIXES.get(category, OTHERWISE)} {PAUSE}".lstrip(),
            share=len(rows) / every,
        )


PATTERN = Pattern(
    code="failing-logins",
    fix="",
    title="{failures:,} of {logins:,} logins failed: {codes}",
    why="Each costs a TCP handshake, TLS and a login, and ends in a refusal.",
    find=find,
    rule="3 or more logins failed",
    example="A monitor logs in every 10 s with an old password.",
    is_not="connections refused at TCP level: `latpcap table errors` lists them.",
    fixes={**FIXES, "other": OTHERWISE},
)
