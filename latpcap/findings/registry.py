"""The patterns, in the order of docs/findings.md; a new one is a file and a line here."""

from __future__ import annotations

from latpcap.findings.finding import Pattern
from latpcap.findings.patterns import (
    bandwidth_bound,
    blob_per_row,
    commit_per_row,
    connect_per_query,
    delayed_ack,
    failing_logins,
    failing_statements,
    healthy,
    n_plus_one,
    prepare_per_execute,
    repeated_query,
    row_by_row,
    serial_reads,
    session_chatter,
    slow_server,
    small_fetch,
    statement_cycle,
    validation_ping,
    window_bound,
)

PATTERNS: tuple[Pattern, ...] = (
    n_plus_one.PATTERN,
    repeated_query.PATTERN,
    small_fetch.PATTERN,
    row_by_row.PATTERN,
    commit_per_row.PATTERN,
    statement_cycle.PATTERN,
    prepare_per_execute.PATTERN,
    connect_per_query.PATTERN,
    validation_ping.PATTERN,
    session_chatter.PATTERN,
    blob_per_row.PATTERN,
    serial_reads.PATTERN,
    delayed_ack.PATTERN,
    slow_server.PATTERN,
    bandwidth_bound.PATTERN,
    window_bound.PATTERN,
    failing_statements.PATTERN,
    failing_logins.PATTERN,
)
HEALTHY = healthy.PATTERN
NO_FINDINGS = (healthy.PATTERN.code, healthy.NETWORK_BOUND.code)
"""The codes that tell that no other pattern was found."""
