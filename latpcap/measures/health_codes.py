"""The effect of each kind of health note on the numbers, and what to do.

When one is seen: `health_rules.py` and docs/health.md.
"""

from __future__ import annotations

from latpcap.measures.timing_only import EXPLAIN_KEYS

ADVICE: dict[str, tuple[str, str]] = {
    # there are no figures, or not of all
    "no-database-traffic": (
        "there is nothing to count",
        "capture where the database's packets pass; name an unusual port with --decode-as PORT=PROTOCOL",
    ),
    "one-direction": (
        "response times are unknown: no exchange has a duration",
        "mirror both directions of the port, or capture on the host itself",
    ),
    "baseline-unknown": (
        "no network share and no projection",
        "measure the RTT with `ping` or `latpcap calibrate`, and give it",
    ),
    "file-unreadable": ("everything after that is missing", "check the disk or the network share"),
    "file-damaged": ("the unreadable part is left out", "copy the file again, or repair it (`pcapfix`)"),
    "file-cut": ("everything after that is missing", "capture or copy the file again, if needed"),
    "too-many-exchanges": (
        "the result covers the packets before that; everything later is missing",
        "raise --memory, or split the capture",
    ),
    "too-many-connections": (
        "further connections are left out",
        "raise --memory, or filter the capture to the database's port",
    ),
    "too-many-unrecognised": (
        "these connections are classified by port, or not counted",
        "raise --memory, or filter the capture to the database's port",
    ),
    "too-many-unfinished": (
        "these exchanges are incomplete, and those within the discarded bytes are not counted",
        "raise --memory, or filter the capture to the database's port",
    ),
    "too-many-unanswered": (
        "these exchanges and the ones after them are incomplete",
        "check that the capture has both directions",
    ),
    "too-many-waiting": (
        "exchanges with missing packets are incomplete",
        "capture less (`port 3306`) into a larger buffer (`-B 64`)",
    ),
    "too-many-fragments": ("the contents of these datagrams are missing", "filter the capture to the database's port"),
    "too-much-inflated": (
        "the contents of these compressed packets are missing: their exchanges are incomplete",
        "split the capture, unless it is a decompression bomb",
    ),
    # times are wrong
    "clock-range": (
        "durations from or to these packets are wrong",
        "correct `if_tsoffset` or `if_tsresol` of the file's interfaces",
    ),
    "clock-step": (
        "exchanges in progress are incomplete; later times are corrected by the senders' TCP timestamps (without "
        "these, to leave no gap), and differ from the file's",
        "capture again with a clock that NTP slews instead of stepping",
    ),
    "coarse-clock": (
        "each time is off by up to the clock's resolution: no RTT below it can be measured",
        "capture with a finer clock, or give the RTT with --rtt-baseline",
    ),
    "files-apart": (
        "the gaps count as think time; runtime and projection include them, rates do not",
        "give files of one recording; compare others with `latpcap compare`, or rank them with `latpcap rank`",
    ),
    # exchanges are missing
    "capture-drops": (
        "exchanges with a dropped packet are incomplete, and some may be missing",
        "capture less (`port 3306`) into a larger buffer (`-B 64`)",
    ),
    "capture-loss": (
        "exchanges with missing packets are incomplete; exchanges lost as a whole are not counted",
        "capture less (`port 3306`) into a larger buffer (`-B 64`)",
    ),
    "unreadable": (
        "round trips in between are counted by direction changes, and their times are not used",
        "capture the connection from its beginning, without loss",
    ),
    "incomplete-exchanges": (
        "these exchanges count as round trips, but their times are not used",
        "see the other notes for the cause",
    ),
    "snap-length": (
        "statements and rows in the cut part are unknown, so findings may be missing; times are correct where the "
        "packets show them",
        "capture whole packets: `-s 0`",
    ),
    # the network's share is less sure
    "proxy-likely": (
        "part of the service time may be network behind the proxy, which a faster server does not reduce; the "
        "projection changes only the path from application to proxy, unless the RTT includes both",
        "also capture at the proxy, on both sides of it (one file is enough), or between proxy and server",
    ),
    "proxy-port": (
        "if a proxy listens there, part of the service time may be network behind it, which the projection keeps",
        "also capture at the proxy, on both sides of it (one file is enough), or between proxy and server",
    ),
    "path-changed": (
        "each round trip counts with the RTT of its time; the overall RTT is the mean over all waits",
        "look for a fail-over, a VPN or congestion at that time; `latpcap table intervals` shows the RTT over time",
    ),
    "baseline-either": (
        "the network's share depends on which RTT is right; its range covers both",
        "give the RTT with --rtt-baseline, as measured by `ping` or `latpcap calibrate`",
    ),
    "baseline-upper-bound": (
        "the network's share and the projection are upper bounds",
        "start the capture before the application, or give the RTT with --rtt-baseline",
    ),
    "baseline-assumed": (
        "if the server adds the same time to each response, that time counts as network",
        "start the capture before the application, or give the RTT with --rtt-baseline",
    ),
    "unknown-time": (
        "this time is assigned to neither network nor service",
        "capture without loss, from the beginning",
    ),
    "one-response": (
        "the response bounds the RTT from above, but does not show how much of it is network",
        "capture more of the job, or give the RTT with --rtt-baseline",
    ),
    "loopback": ("network and service time are hard to separate", "capture between two machines"),
    "near-zero-baseline": (
        "a small error of the RTT becomes a large one in the network's share",
        "give the RTT with --rtt-baseline",
    ),
    "too-many-samples": (
        "the baseline RTT uses the samples before that; counts are correct",
        "raise --memory",
    ),
    # what the network did, which the figures allow for
    "timeouts": (
        "the sender's timer sets these waits, not only the RTT; the projection keeps them",
        "find the cause of packet loss: duplex mismatch, full queue, bad cable",
    ),
    "loss": ("the projection keeps this time unchanged", "find the cause of packet loss"),
    "delayed-ack": (
        "the receiver's ACK timer sets these waits (40 ms or more), not the RTT",
        "set TCP_NODELAY in the driver, or send each request in a single write",
    ),
    "zero-window": (
        "transfers waited for a program to read its data; a faster network does not reduce that",
        "look for a client that fetches slowly, or processes each row while it reads",
    ),
    "retransmissions": (
        "their time is counted as loss",
        "no action needed, unless `loss` or `timeouts` is reported, too",
    ),
    "paced-sender": (
        "at another RTT the transfers take as many round trips; captures below 7.5 ms may not show pacing, so only the "
        "pessimistic end of their projection to a higher RTT includes it",
        "to project to a higher RTT, capture above 7.5 ms, or switch the sender to CUBIC",
    ),
    # something is left out
    "malformed-packets": ("these packets are left out", "capture again, or copy the file again"),
    "encrypted-packets": (
        "these packets are left out",
        "capture behind the access point or switch that decrypts, or decrypt the file first (`airdecap-ng`)",
    ),
    "unknown-interface": ("these packets are left out", "write the file again: `editcap IN OUT`"),
    "unknown-link-type": ("these packets are left out", "capture on an Ethernet, cooked or raw IP interface"),
    "unrecognised": (
        "these connections are not counted",
        "name the protocol with --decode-as, or capture the connections from their beginning",
    ),
    "other-database": (
        "these connections are not counted",
        "with --decode-as PORT=opaque their round trips and times are counted, without statements",
    ),
    "refused": (
        "these connections count as errors only, with the time that clients lost",
        "check address and port, and whether the server is running",
    ),
    "unanswered": (
        "these connections count as errors only, with the time that clients lost",
        "check address, port and firewalls",
    ),
    "no-login": (
        "these connections are no logins, but the figures include their TCP handshakes and greetings",
        "let the health check log in with its own user: MySQL may block its host after `max_connect_errors` (error "
        "1129)",
    ),
    "too-many-statements": ("further statements share one text; times are correct", "split the capture"),
    "too-many-errors": ("further errors share one text; times are correct", "split the capture"),
    "keys-wrong": (
        "from that record on these connections are timing only; everything before it is correct",
        "use the complete key log of the same run; lost or cut packets have the same effect",
    ),
    "keys-missing": (
        "these connections stay timing only",
        "log the keys of all clients, from before they connect; not every driver logs resumed sessions "
        f"({EXPLAIN_KEYS})",
    ),
    "tls-interrupted": (
        "from there on these connections are timing only; everything before it is correct",
        "capture without loss: missing bytes may hide a key change",
    ),
    "tls-suite-unsupported": (
        "these connections stay timing only",
        "let client or server use AES-GCM, ChaCha20-Poly1305 or AES-CBC for the measurement",
    ),
    "key-log-damaged": (
        "connections whose secrets are on these lines stay timing only",
        "copy the key log again after the client has ended; a line is incomplete while it is being written",
    ),
    "too-many-keys": (
        "connections whose secrets were dropped stay timing only",
        "raise --memory, or give a key log of these connections only",
    ),
    "implausible-rows": ("these rows are not counted", "compare with the client's own counts"),
    "estimated-rows": ("row counts may be off", "capture the connection from its beginning"),
    "clock-outlier": (
        "an exchange that begins or ends with this packet has no time",
        "no action needed; if there are many, check the clock of the capturing host",
    ),
    "clock-backwards": (
        "packets are put back in order; where the clock was set, `clock-step` reports it",
        "no action needed; `reordercap IN OUT` sorts the packets",
    ),
    "encrypted": (
        "timing only: no statements, rows or errors; round trips are counted by direction changes, so pipelined "
        "requests may count as one",
        f"give the client's keys with --keylog ({EXPLAIN_KEYS}), capture behind the TLS end point, or switch "
        "encryption off for the test",
    ),
    "missing-handshake": (
        "no handshake RTT, no login, no text of statements prepared earlier",
        "start the capture before the application",
    ),
    # good to know
    "stopped": ("the result covers the packets before that", "read the capture again to the end, if needed"),
    "selection": ("figures cover this part only; notes about files cover whole files", "no action needed"),
    "relayed": (
        "round trips, RTT and times are correct; TCP's windows, losses and pacing on large transfers are not visible, "
        "so the projection's range is wider",
        "no action needed; for jobs that transfer much data, capture packets: `latpcap record` with capture permission",
    ),
    "proxy-header": (
        "the capture measures the path from the proxy to the server, not from the client",
        "capture between client and proxy, too",
    ),
    "proxy-legs": (
        "figures are the application's, over both networks; connections and paths of both sides are listed",
        "no action needed; `--rtt` is the RTT between proxy and server, `--move` changes either path",
    ),
    "replication": ("pushed data is not counted", "no action needed"),
    "offloaded": (
        "none on round trips and times; the capture shows fewer packets and slow-start rounds than the wire",
        "no action needed; for packet counts capture on a mirror port, or `ethtool -K eth0 tso off gro off`",
    ),
    "duplicate-packets": ("none: each packet is counted once", "capture on one interface, or mirror one port"),
    "reordered": ("none: TCP streams are reordered by sequence number", "no action needed, unless there are many"),
    "other-secrets": ("none: they decrypt no database connection", "no action needed"),
}
"""By code: the effect, and the advice. Of two notes as severe, the one whose code is first here comes first."""

ABOUT_NETWORK = frozenset(
    {"timeouts", "loss", "delayed-ack", "zero-window", "retransmissions", "paced-sender"},
)
"""Codes of what the network did: the figures allow for it, so it limits no trust in them."""
