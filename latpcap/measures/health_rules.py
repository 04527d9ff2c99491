"""How each kind of health note is recognised, as Markdown: docs/health.md is made of it (tests/reference.py)."""

from __future__ import annotations

RULES = {
    "file-cut": (
        "the file ends inside a packet or block; of several files also: it is empty, or ends inside its header"
    ),
    "file-damaged": "its structure contradicts itself; the unreadable part is left out",
    "file-unreadable": (
        "the operating system failed while it was read; of several files also: it cannot be decompressed"
    ),
    "stopped": (
        "reading was stopped before the end (Ctrl-C, `Progress.stop()`): figures cover the packets read. A pipe "
        "whose writer ends within two seconds is read to its end, without a note"
    ),
    "unknown-interface": "a packet names an interface that the file does not describe",
    "unknown-link-type": "packets of a link layer that latpcap does not read ([what it reads](layers.md))",
    "encrypted-packets": "packets encrypted by Wi-Fi or MACsec: addresses and ports are unknown",
    "other-secrets": (
        "the file holds decryption secrets (pcapng Decryption Secrets Blocks) that are not for TLS (SSH, WireGuard, …)"
    ),
    "malformed-packets": "packets whose headers contradict themselves",
    "snap-length": "a part of the IP datagram of some packets is missing",
    "capture-drops": "the file's counters (pcapng interface statistics) report dropped packets",
    "capture-loss": "bytes were acknowledged that no captured packet carried",
    "one-direction": "one side sent data, and not one packet of the other side was captured",
    "duplicate-packets": (
        "a packet was captured twice: a mirror port that shows both ports, or an interface and its bridge. Same "
        "sequence and acknowledgment numbers, flags, length and IP identification within 100 ms (a retransmission"
        " has an identification of its own); where there is none (IPv6, or 0), within 1 ms. Or several taps saw "
        "it ([long-recordings.md](long-recordings.md#two-taps)). Copies are left out; they are not "
        "retransmissions"
    ),
    "reordered": (
        "a segment came after a later one of its stream, sooner than a retransmission could: within the "
        "handshake's RTT, else 3 ms"
    ),
    "offloaded": (
        "segments longer than the receiver's MSS: the network card cuts or joins them, so the wire saw several packets"
    ),
    "missing-handshake": "the capture began in the middle of a connection",
    "proxy-likely": (
        "none of 20 or more responses came soon after the RTT, and all are late by about the same time: probably "
        "a proxy, with a network behind it that looks like service time ([proxies.md](proxies.md))"
    ),
    "proxy-port": (
        "a database connection goes to the usual port of ProxySQL, MaxScale, MySQL Router, PgBouncer or Pgpool-II"
    ),
    "proxy-legs": (
        "both sides of a proxy were captured: each request is there twice, and counts once ([proxies.md](proxies.md))"
    ),
    "relayed": (
        "the file's interface is a relay's (`latpcap record --relay`): packets show which data it forwarded, and "
        "when; headers and windows are synthetic ([record.md](record.md#without-root-the-relay))"
    ),
    "proxy-header": "a PROXY protocol header (v1 or v2) precedes the first message; it is skipped",
    "clock-backwards": "a packet of a file is earlier than the one before it; the order is corrected",
    "clock-step": (
        "the clock was set: a connection's packets go back by more than 1 ms, or their TCP timestamps and the "
        "capture's times disagree by more than a second. Exchanges in progress are marked incomplete, and later "
        "times are corrected by the senders' TCP timestamps (without these, to leave no gap). Other files "
        "captured in parallel keep their times"
    ),
    "clock-outlier": (
        "the time of a single packet differs from its neighbours' by more than a second: it gets theirs, and "
        "exchanges that begin or end with it have no time"
    ),
    "files-apart": (
        "nothing was recorded between two files for longer than a minute and than either file lasts. The gap is "
        "think time in the runtime; rates (`round_trips_per_s`, statements a second) refer to the recorded time"
    ),
    "clock-range": "a packet's time is before 1824 or after 2115",
    "coarse-clock": "all times of a file are multiples of 1 ms or more",
    "path-changed": (
        "the RTT of a path changed permanently during the capture ([the rule](baseline.md#a-path-that-changes)). "
        "Each round trip counts with the RTT of its time"
    ),
    "retransmissions": (
        "data was sent again. Spurious retransmissions are counted separately: the receiver reports one (D-SACK, "
        "RFC 2883), or echoes the timestamp of the first copy (RFC 3522), or had acknowledged it in the capture. "
        "The others were lost: a lower bound, since lost acknowledgments and losses before the capture point are "
        "not visible. The share is that of packets with data"
    ),
    "timeouts": (
        "data (or a SYN) was sent again after at least 200 ms of silence of its sender: a retransmission time-"
        "out. Where both sides waited for the same loss, it counts once"
    ),
    "loss": (
        "lost packets took more than 1 % of the runtime ([model.md](model.md#c3-the-time-budget)). Part of it may"
        " be *probable*: a wait as long as other time-outs, without a retransmission in the capture"
    ),
    "paced-sender": (
        "more than a quarter of a sender's large messages (above the initial window) leave evenly over a tenth to"
        " nine tenths of the RTT, in bursts 0.2 ms and more apart, before any acknowledgment can have come, as "
        "BBR and fair queues do; below 2 ms of RTT it does not show ([model.md](model.md#c4-projection-the-job-"
        "again-on-another-network))"
    ),
    "zero-window": "a receiver stopped its sender, because its program did not read",
    "delayed-ack": (
        "a side waited for a delayed acknowledgment (at least 30 ms) before it sent the rest: Nagle's algorithm "
        "against delayed ACKs. `stalled_ms` of an exchange is the wait; the budget's part *stall* adds the round "
        "trip of each acknowledgment. `info` below 3 packets or 1 % of the runtime"
    ),
    "no-database-traffic": "no connection talks to a database, with the reason",
    "no-login": (
        "connections closed without a login, after a greeting or none, like health checks of load balancers: no errors"
    ),
    "refused": "the server of a database's port answered the SYN with a RST",
    "unanswered": "the SYN to a database's port was not answered",
    "unrecognised": (
        "traffic on a database's usual port that latpcap does not recognise; the message names the `--decode-as` to try"
    ),
    "other-database": (
        "a database that latpcap can name but not read yet: Sybase ASE, SQL Server before 7.0, MongoDB, Redis, "
        "Memcached, Couchbase, Cassandra, DB2 and other DRDA servers, ClickHouse, MySQL's X Protocol, Neo4j, SAP "
        "HANA, Informix, Tarantool, HBase, Elasticsearch and OpenSearch, CouchDB, ArangoDB, InfluxDB. The name "
        "comes from the first bytes of both sides, never from the port; `--decode-as PORT=opaque` counts the "
        "round trips"
    ),
    "selection": ("a part of the captures was selected ([tables.md](tables.md)); notes about files cover whole files"),
    "encrypted": (
        "connections are timing only: TLS (versions are counted) or the protocol's own encryption hides their "
        "contents, and no key decrypted it"
    ),
    "keys-missing": "keys were given (`--keylog`, or inside the capture), but have no secret for some TLS connections",
    "keys-wrong": (
        "a record failed authentication with the given secret: the secret or the record is damaged, or packets "
        "are missing. Nothing after it is read"
    ),
    "tls-interrupted": (
        "a connection could be decrypted only up to a point: a hole in the capture is too large, or the session "
        "was renegotiated"
    ),
    "tls-suite-unsupported": "a secret was given, but latpcap does not support the cipher suite",
    "key-log-damaged": "lines of a key log that are cut or hold no secret are left out",
    "replication": "the server pushes data, and the client does not wait for it",
    "unreadable": "a part of a connection could not be decoded",
    "estimated-rows": "rows were counted without their format",
    "implausible-rows": "the server's count of rows (Oracle) matches neither request nor response; it is left out",
    "incomplete-exchanges": "exchanges were captured only in part; a warning from 1 % on",
    "unknown-time": "more than 1 % of the runtime belongs to incomplete exchanges",
    "one-response": (
        "more than 1 % of the runtime is the wait for the only response that was captured, so the network's part "
        "of it is unknown"
    ),
    "too-many-connections": "further TCP connections are left out",
    "too-many-exchanges": "reading ended before the capture did, as there was no room for more exchanges",
    "too-many-samples": "further RTT samples are left out",
    "too-many-unrecognised": "streams were discarded before they could be recognised",
    "too-many-unfinished": "partly received messages were discarded",
    "too-many-statements": "further statements share one text",
    "too-many-unanswered": "unanswered requests were discarded; they and the exchanges after them are incomplete",
    "too-many-errors": "further errors share one text",
    "too-many-waiting": "bytes behind missing packets were discarded early",
    "too-many-keys": "TLS secrets of key logs were left out",
    "too-much-inflated": "compressed packets expanded to 200 times the size of the files: further ones are not read",
    "too-many-fragments": "IP fragments were discarded",
    "baseline-unknown": "the capture does not show the RTT",
    "baseline-upper-bound": "only the fastest responses bound it",
    "baseline-assumed": "only responses are known, 20 or more, and the faster quarter of them takes the same time",
    "baseline-either": (
        "TCP handshake and data ACKs differ, or all responses took clearly longer than a lone handshake (those to "
        "several statements: than handshake and ACKs), and the capture does not show which is the path's RTT"
    ),
    "loopback": "client and server run on one host",
    "near-zero-baseline": "the RTT is below 0.1 ms",
}
"""By code."""
