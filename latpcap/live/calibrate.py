"""How far away is a server that can be reached, but not yet run on? TCP handshakes, and the least that it answers to.

```text
connect ─► SYN → SYN/ACK             by the system's own clock (TCP_INFO), and by this program's
ask     ─► question → its ACK        in-stream, by the system's clock; where the server says more than the answer
        ─► question → answer         by this program's clock: a bound, as the server worked for it
end     ─► FIN → FIN, both whole     a bound, too
```

Ten connections at most, half of them after a pause, the others at once. What they say together is judged by the rules
for captures (`core/src/rtt/choice.rs`): a handshake, a clean ACK and a bound are the same things there.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from statistics import median, pstdev

from msgspec import Struct

from latpcap._core import greeting_of, protocol_on, rtt_of_measurements
from latpcap.errors import ServerUnreachable, UsageError
from latpcap.live.host_curve import measure_host
from latpcap.live.server import Address, Server, addresses
from latpcap.live.tcp_info import TcpInfo, latest_rtt_us, tcp_info
from latpcap.protocols import NAMES, Protocol, protocol_called
from latpcap.result.calibration import Calibration, HostRest, Series
from latpcap.result.signoff import PROGRAM
from latpcap.rtt.baselines import METHOD_NAMES, REASON_TEXTS, Method, Reason
from latpcap.units import counted, listed

MAX_CONNECTIONS = 10
"""A server may count each as a mistake of this host, and lock the host out after a hundred (MySQL)."""
SLEEP_PAUSE_S = 0.05
"""Processors sleep after a pause of this length."""
FIRST_TIME_SHARE = 0.5
"""The first connection may take this share of the time of all addresses together."""
MAX_GREETING_S = 0.3
"""A server of an unknown protocol that speaks first has done so within this time, apart from the RTT."""
MAX_CLOSE_S = 0.2
"""The end of a connection is awaited no longer than this."""
MAX_ANSWER_BYTES = 4096
CLOCK_STEP_NS = 1000
"""The system reports microseconds."""
MIN_HANDSHAKES = 3
"""Handshakes of either kind that show what waking up costs."""
UNEVEN_MS, UNEVEN = 0.2, 0.02
"""Hosts alone do not deviate by so much, and so large a part of the RTT."""
DEVIATION_PER_MAD = 1.4826
"""The median deviation of a normal distribution times this is its standard deviation."""
MEDIAN_ERROR_RATIO = 1.25
"""The standard error of a normal distribution's median is this multiple of that of its mean."""


def calibrate(
    server: str,
    *,
    protocol: str | None = None,
    connections: int = MAX_CONNECTIONS,
    timeout_s: float = 15.0,
    say: Callable[[str], object] | None = None,
) -> Calibration:
    """Measure the RTT to `server`, a `HOST:PORT`.

    `protocol`: what it speaks, where its port does not tell; `none` asks for nothing but handshakes. `connections`: ten
    at most. `timeout_s` bounds all of it. `say` is told beforehand what is about to happen.
    """
    if not 1 <= connections <= MAX_CONNECTIONS:
        raise UsageError(f"{connections:,} connections: calibrate opens 1 to {MAX_CONNECTIONS}, to spare the server")
    asked, deadline = Server.of(server), time.monotonic() + timeout_s
    spoken = _spoken(protocol, asked.port)
    if say:
        say(_announced(asked, spoken, connections))
    found = addresses(asked, timeout_s)
    measured, at = _first(found, spoken, deadline, protocol)
    if spoken is None and measured.speaks is not None:
        spoken = protocol_called(measured.speaks)
    probes = [measured, *_others(at, spoken, connections - 1, deadline)]
    return _result(asked, at, len(found), spoken, probes, connections)


def _spoken(protocol: str | None, port: int) -> Protocol | None:
    known = protocol_on(port) if protocol is None else protocol
    if known is None or known == "none":
        return None
    if known not in NAMES:
        raise UsageError(f"`{known}` is not a protocol of calibrate: give {listed(NAMES)}, or none")
    return protocol_called(known)


def _announced(server: Server, spoken: Protocol | None, connections: int) -> str:
    made = f"{server}: {counted(connections, 'connection')}"
    if spoken is None:
        only = "TCP handshakes only (--protocol PROTOCOL asks the database, too)"
        return f"{made}, {only}; MySQL counts each towards max_connect_errors"
    return f"{made} for {spoken.title}'s {spoken.question.called}, ended without a login: {spoken.question.leaves}"


# --- measuring --------------------------------------------------------------------------------------------------------


class Probe(Struct, frozen=True):
    """Results of one connection; times in ms, `None` where they are unknown."""

    paused: bool
    own_ms: float
    """The handshake by this program's clock."""
    handshake_ms: float | None
    data_ms: float | None = None
    answer_ms: float | None = None
    ending_ms: float | None = None
    answer: bytes = b""
    speaks: str | None = None
    """The protocol that it greets in, where none was known."""
    sent_again: bool = False
    info: TcpInfo | None = None


def _first(
    found: Sequence[Address], spoken: Protocol | None, deadline: float, protocol: str | None
) -> tuple[Probe, Address]:
    """The first connection, to the first address that answers, as clients try them."""
    failures: list[str] = []
    until = time.monotonic() + FIRST_TIME_SHARE * (deadline - time.monotonic())
    for left, address in zip(range(len(found), 0, -1), found, strict=True):
        share_s = max((until - time.monotonic()) / left, 0.05)
        try:
            return _probe(address, spoken, time.monotonic() + share_s, deadline, listens=protocol is None), address
        except OSError as error:
            failures.append(_failed(address, error, share_s))
    raise ServerUnreachable("; ".join(failures))


def _failed(address: Address, error: OSError, waited_s: float) -> str:
    if isinstance(error, TimeoutError):
        return f"{address} did not answer within {waited_s:.2g} s: a firewall may drop it; --timeout 60s waits longer"
    if isinstance(error, ConnectionRefusedError):
        return f"{address} refused the connection: does the server listen there, and on that port?"
    return f"{address} cannot be reached: {error.strerror or error}"


def _others(address: Address, spoken: Protocol | None, wanted: int, deadline: float) -> Iterator[Probe]:
    """Further connections; those that fail, and those for which there is not a time, are missing."""
    for number in range(wanted):
        paused = number % 2 == 0
        if time.monotonic() + SLEEP_PAUSE_S > deadline:
            return
        if paused:
            time.sleep(SLEEP_PAUSE_S)
        try:
            yield _probe(address, spoken, deadline, deadline, paused=paused)
        except OSError:
            continue


def _probe(
    address: Address,
    spoken: Protocol | None,
    connect_by: float,
    deadline: float,
    *,
    paused: bool = True,
    listens: bool = False,
) -> Probe:
    """One connection; raises `OSError` where it cannot be made. What comes after that may be missing."""
    with socket.socket(address.family, socket.SOCK_STREAM) as connection:
        connection.settimeout(_left(connect_by))
        begin = time.perf_counter()
        connection.connect(address.at)
        own_ms = _since(begin)
        opened = tcp_info(connection)
        again = opened is not None and opened.retransmissions > 0
        handshake_ms = None if again else opened.rtt_us / 1000 if opened else own_ms
        probe = Probe(paused, own_ms, handshake_ms, sent_again=again, info=opened)
        try:
            return _asked(connection, probe, spoken, begin, deadline, listens)
        except OSError:
            return probe


def _asked(
    connection: socket.socket, probe: Probe, spoken: Protocol | None, begin: float, deadline: float, listens: bool
) -> Probe:
    """Return the probe with what the question and the end showed."""
    patience_s = _left(deadline) / 2
    if spoken is None:
        patience_s = min(MAX_GREETING_S + 3 * probe.own_ms / 1000, patience_s) if listens else 0.0
    before = tcp_info(connection)
    if spoken is not None and spoken.question.asks:
        begin, known_ms = time.perf_counter(), 0.0
        connection.sendall(spoken.question.asks)
    else:
        known_ms = probe.handshake_ms or probe.own_ms  # it greets when the handshake is over
    answer = _received(connection, patience_s) if patience_s else b""
    answer_ms, after = _since(begin) - known_ms, tcp_info(connection)
    ending_ms = _ended(connection, min(_left(deadline), MAX_CLOSE_S + 3 * probe.own_ms / 1000))
    fits = bool(answer) and (spoken is None or spoken.question.is_answer(answer))
    return Probe(
        probe.paused,
        probe.own_ms,
        probe.handshake_ms,
        _in_stream(before, after) if spoken is not None and spoken.question.asks else None,
        answer_ms if fits else None,
        ending_ms,
        answer,
        greeting_of(answer) if spoken is None else None,
        probe.sent_again,
        after or probe.info,
    )


def _in_stream(before: TcpInfo | None, after: TcpInfo | None) -> float | None:
    """Question → its ACK, where that came by itself before the answer did."""
    if before is None or after is None or after.segments_in - before.segments_in < 2 or after.retransmissions:
        return None
    return latest_rtt_us(before, after) / 1000


def _ended(connection: socket.socket, seconds: float) -> float | None:
    """Say that nothing more comes, and wait for the server to say so, too: our FIN → what acknowledges it."""
    connection.settimeout(max(seconds, 0.001))
    before, begin = tcp_info(connection), time.perf_counter()
    try:
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(MAX_ANSWER_BYTES):
            pass
    except OSError:
        return None
    own_ms, after = _since(begin), tcp_info(connection)
    if before is None or after is None:
        return own_ms
    return latest_rtt_us(before, after) / 1000 if after.fin_acknowledged and not after.retransmissions else None


def _received(connection: socket.socket, seconds: float) -> bytes:
    """The first bytes that come; none where nothing does."""
    connection.settimeout(seconds)
    try:
        return connection.recv(MAX_ANSWER_BYTES)
    except TimeoutError:
        return b""


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


def _since(begin: float) -> float:
    return (time.perf_counter() - begin) * 1000


# --- what the measurements say ----------------------------------------------------------------------------------------


def _result(
    server: Server, at: Address, known: int, spoken: Protocol | None, probes: Sequence[Probe], wanted: int
) -> Calibration:
    handshakes, acks = _known(probes, "handshake_ms"), _known(probes, "data_ms")
    answers, endings = _known(probes, "answer_ms"), _known(probes, "ending_ms")
    if not handshakes + acks + answers + endings:
        raise ServerUnreachable(
            f"{at}: every handshake was sent again, so none can be timed: packets are lost on the path"
        )
    jitter_ms = _jitter(handshakes + acks)
    judged = _judged(handshakes, acks, answers + endings)
    is_uneven = jitter_ms > max(UNEVEN_MS, UNEVEN * judged.rtt_ms)
    if is_uneven:
        judged = _middle(handshakes, acks, jitter_ms)
    answered = any(probe.answer_ms is not None for probe in probes)
    info = next((probe.info for probe in reversed(probes) if probe.info), None)
    kinds = {
        "TCP handshake": handshakes,
        "data → acknowledgment": acks,
        spoken.question.called if spoken else "greeting": answers,
        "end of the connection": endings,
        "handshake by this program's clock": _known(probes, "own_ms"),
    }
    return Calibration(
        server=str(server),
        address=str(at),
        addresses=known,
        protocol=spoken.name if spoken and answered else None,
        connections=len(probes),
        rtt_ms=judged.rtt_ms,
        low_ms=judged.low_ms,
        high_ms=judged.high_ms,
        rtt_is="handshake" if judged.method == Method.HANDSHAKE else "in-stream",
        jitter_ms=jitter_ms,
        is_uneven=is_uneven,
        method=METHOD_NAMES[judged.method],
        reason=judged.reason,
        series=tuple(_series(name, values) for name, values in kinds.items() if values),
        wake_up_ms=_wake_up(probes),
        pause_ms=SLEEP_PAUSE_S * 1000,
        rests=tuple(_rests()),
        path_mtu=info.path_mtu if info else None,
        mss=info.mss if info else None,
        notes=tuple(_notes(at, known, spoken, probes, wanted)),
        program=PROGRAM,
    )


def _known(probes: Sequence[Probe], name: str) -> list[float]:
    return [value for probe in probes if (value := getattr(probe, name)) is not None]


class JudgedRtt(Struct, frozen=True):
    """The RTT by all measurements."""

    rtt_ms: float
    low_ms: float
    high_ms: float
    method: Method
    """A handshake alone may have been answered on the way; all else is the RTT of data."""
    reason: str


def _judged(handshakes: Sequence[float], acks: Sequence[float], bounds: Sequence[float]) -> JudgedRtt:
    """One path, by the rules for captures; the fastest bound is what TCP proves."""
    measured = _ns(handshakes), _ns(acks), _ns(bounds)
    ns, low_ns, high_ns, method, reason = rtt_of_measurements(*measured, CLOCK_STEP_NS)
    return JudgedRtt(ns / 1e6, low_ns / 1e6, high_ns / 1e6, Method(method), REASON_TEXTS[Reason(reason)])


def _middle(handshakes: Sequence[float], acks: Sequence[float], jitter_ms: float) -> JudgedRtt:
    """The median, and twice its standard error: where the path itself varies, none of a few is typical."""
    method = Method.BOTH if acks else Method.HANDSHAKE
    what = "TCP handshakes and data ACKs" if acks else "TCP handshakes"
    rtt_ms = median([*handshakes, *acks])
    error_ms = 2 * MEDIAN_ERROR_RATIO * jitter_ms / sqrt(len(handshakes) + len(acks))
    return JudgedRtt(
        rtt_ms, max(rtt_ms - error_ms, 0.0), rtt_ms + error_ms, method, f"the RTT varies: median of {what}"
    )


def _ns(milliseconds: Sequence[float]) -> list[int]:
    return [int(value * 1e6) for value in milliseconds]


def _jitter(values: Sequence[float]) -> float:
    """The deviation without the few that hosts delayed."""
    if not values:
        return 0.0
    middle = median(values)
    return DEVIATION_PER_MAD * median(abs(value - middle) for value in values)


def _wake_up(probes: Sequence[Probe]) -> float | None:
    paused, at_once = (
        [probe.handshake_ms for probe in probes[1:] if probe.paused is paused and probe.handshake_ms is not None]
        for paused in (True, False)
    )
    if min(len(paused), len(at_once)) < MIN_HANDSHAKES:
        return None
    return median(paused) - median(at_once)


def _rests() -> Iterator[HostRest]:
    if curve := measure_host():
        yield from map(HostRest, curve.rests_ms, curve.extra_ms)


def _series(name: str, values: Sequence[float]) -> Series:
    return Series(name, len(values), min(values), median(values), max(values), pstdev(values))


def _notes(at: Address, known: int, spoken: Protocol | None, probes: Sequence[Probe], wanted: int) -> Iterator[str]:
    """Yield unusual facts."""
    if known > 1:
        yield f"The name has {known} addresses; {at.host} responded first and was measured."
    if at.ip.is_loopback:
        yield "The server is on this machine: no network was measured."
    if len(probes) < wanted:
        yield f"{counted(wanted - len(probes), 'connection')} of {wanted} failed, or did not finish in time."
    if again := sum(probe.sent_again for probe in probes):
        yield f"{counted(again, 'handshake')} of {len(probes)} had to be sent again: packets are lost, or refused."
    if not probes[0].info:
        yield "This system does not expose TCP's own timing: times measured by this program include its wake-up."
    if spoken is None:
        yield "TCP handshakes only: a host on the path (firewall, load balancer) may answer them for the server."
    else:
        yield from _about_answers(spoken, probes)


def _about_answers(spoken: Protocol, probes: Sequence[Probe]) -> Iterator[str]:
    answers = [probe.answer for probe in probes]
    if refusal := next((text for answer in answers if (text := spoken.question.refusal(answer))), None):
        yield f"The server refuses connections from this host: {refusal}"
    elif strange := sum(bool(answer) and not spoken.question.is_answer(answer) for answer in answers):
        yield f"{strange} of {len(probes)} responses were not from {spoken.title} and do not count."
    if silent := sum(not answer for answer in answers):
        yield f"{silent} of {len(probes)} connections got no response."
