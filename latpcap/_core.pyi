"""The Rust core: captures in, columns out. Written in `extension/src/`."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]
_Bools = NDArray[np.bool_]

__version__: str

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _ArrowTable(_ArrowStream, Protocol):
    def __len__(self) -> int: ...

class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...

class CaptureError(Exception):
    """A file cannot be read or is no capture; the message is one line with its path and offset."""

class LiveSum:
    """Sums of what was read so far: of all, or of one statement, whose fingerprint is its `text`."""

    text: str
    exchanges: int
    round_trips: int
    waited_ns: int
    errors: int

class Progress:
    """How far a `read` has come, and if `live` what it has found so far; shared with the thread that reads.

    With `hashes` that also finds the recording's `contents`, as somebody will ask for them.
    """

    def __init__(self, *, live: bool = False, hashes: bool = False) -> None: ...
    @property
    def read_so_far(self) -> tuple[int, int, int]:
        """Packets, connections, and when the last request was sent (ns)."""

    @property
    def total(self) -> LiveSum: ...
    def worst(self, most: int) -> list[LiveSum]:
        """The statements that waited longest; what had no room of its own is without a text."""

    @property
    def bytes_read(self) -> int: ...
    @property
    def total_bytes(self) -> int | None:
        """`None` when a source does not know its length: a pipe."""

    def stop(self) -> None:
        """Read no further than what is there: that is the result, with a note (`stopped`)."""

    def leave(self) -> bool:
        """Whether whoever waits for more of a file elsewhere is to leave it, which a note then says."""

    def cancel(self) -> None:
        """Stop at once: nobody wants the result."""

class KeyLog:
    """Secrets of TLS sessions; `len()` says of how many."""

    def __init__(self, sources: list[tuple[str, str | bytes]], *, memory: int = 1_000_000_000) -> None:
        """Read key logs, each with the name that messages call it by: a path, `-`, or its content.

        `ValueError` where one cannot be read, or holds no secret.
        """

    def __len__(self) -> int: ...

def read(
    sources: list[str | bytes | _Readable],
    *,
    names: list[str] | None = None,
    show_literals: bool = False,
    decode_as: dict[int, str] = ...,
    memory: int = 1_000_000_000,
    disk: tuple[str, int] | None = None,
    in_memory: int | None = None,
    threads: int | None = None,
    keylog: KeyLog | None = None,
    part: tuple[int | Sequence[int], int] | None = None,
    progress: Progress | None = None,
) -> Recording:
    """Read captures as one recording; releases the GIL. A `str` is a path or `-`, `bytes` are a file's content.

    `disk`: a folder, and how many bytes may go to temporary files there; `in_memory`: beyond how many bytes rows do,
    where they need not. `names`: what results call each source. `part`: part k (from 0) of n of the client groups
    (all connections between two hosts) alone, or several of these parts; connections and frames keep the numbers that
    they have in the whole.
    """

def client_groups(
    sources: list[str | bytes | _Readable],
    *,
    names: list[str] | None = None,
    memory: int = 1_000_000_000,
    progress: Progress | None = None,
) -> _ArrowStream:
    """Return the client groups of captures, the largest first, from the packets' headers alone.

    `hash` modulo n is the part of n that holds the group.
    """

def annotate(
    sources: list[str],
    comments: Iterable[list[tuple[int, list[str]]]],
    output: str,
    *,
    embed_keys: bool = False,
    keylog: KeyLog | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
) -> tuple[int, int, int]:
    """Write captures again as pcapng with comments, which come in batches of a frame and its texts, by frame.

    Returns how many frames got theirs.

    The second number is that of the blocks of decryption secrets: dropped unless `embed_keys`, which also adds the
    secrets of `keylog` that are of sessions in `recording`; of how many, is the third.
    """

def protocols() -> list[str]:
    """The names that `decode_as` takes."""

def driver_table() -> str:
    """Return the table of drivers and frameworks as JSON: `latpcap.protocols.drivers.DriverTable`."""

def protocol_on(port: int) -> str | None:
    """Return the protocol whose usual server port this is."""

def pcapng_of(packets: Iterable[tuple[int, int, bytes, int]]) -> bytes:
    """Write packets as a pcapng file: each a link type, ns since 1970, its bytes, its length on the wire."""

def pcapng_statistics(time_ns: int, dropped: int) -> bytes:
    """Return what ends a pcapng file: how many packets the operating system has dropped."""

def measure_rests() -> tuple[list[float], list[float]]:
    """Measure how much later this host answers after a rest: rests, and what a round trip takes longer, in ms.

    It takes 0.7 s, most of which is rest; raises `OSError` where this host has no loopback.
    """

def pcapng_host_curve(rests_ms: Sequence[float], extra_ms: Sequence[float], addresses: Sequence[str]) -> bytes:
    """Return what ends a pcapng file: how much later the host with these addresses answers after a rest."""

def whole_part(head: bytes, data: bytes) -> tuple[bytes, int]:
    """Return the head that later packets of a growing file need, and how much of `data` is whole.

    `head` is that of what came before, empty at the beginning of the file.
    """

def greeting_of(server: bytes) -> str | None:
    """Return the protocol of a server that says this before its client has said anything."""

def ordered(keys: list[_Ints]) -> _Ints: ...
def grouped(keys: list[_Ints]) -> tuple[_Ints, _Ints]: ...
def numbered(keys: list[_Ints]) -> _Ints: ...
def counted(values: _Ints) -> tuple[_Ints, _Ints]: ...
def distinct(numbers: _Ints, count: int, starts: _Ints) -> _Ints: ...
def first_alike(values: _Ints) -> _Ints: ...
def lanes(start: _Ints, end: _Ints) -> _Ints: ...
def last_known(values: _Ints, key: _Ints) -> _Ints: ...
def running_maximum(values: _Ints, key: _Ints) -> _Ints: ...
def holding(starts: _Ints, data: NDArray[np.uint8], words: list[str]) -> _Bools: ...
def first_like(starts: _Ints, data: NDArray[np.uint8]) -> _Ints: ...
def quantile(values: _Ints, starts: _Ints, fraction: float) -> NDArray[np.float64]: ...
def serving(order: _Ints, starts: _Ints, executes: _Bools, prepares: _Bools) -> _Ints: ...
def ascending(groups: _Ints | None, values: _Ints, count: int, known: _Bools | None = None) -> tuple[_Ints, _Ints]: ...
def sums(group: _Ints, values: _Ints, count: int, known: _Bools | None = None) -> tuple[_Ints, _Bools]:
    """Passes over whole columns: what each does stands in `latpcap.tables.columnar.passes`."""

class Job:
    """A recording's job: all that is told of its time comes from here (`core/src/job`)."""

    def __new__(cls, recording: Recording, rtts: Rtts, *, whole: Recording | None = None, scarce: bool = False) -> Job:
        """Read what all exchanges tell together, and decide what is known of each connection.

        A window has the `whole` recording that it is one of. Where memory is `scarce`, exchanges are read anew each
        time.
        """

    def beginnings(self) -> tuple[_Ints, _Ints, _Bools]:
        """When each connection was opened, when its TCP handshake was over, and whether its server speaks first.

        Such a handshake ends with the greeting. Times that were not captured are `MISSING`.
        """

    def awaited_fins(self) -> _Ints:
        """When the server's FIN passed for which each connection's client waited; `MISSING` where it did not."""

    def narrow_windows(self) -> tuple[_Floats, _Floats]:
        """The largest window of each client, and of each server, that takes little at once; infinite for all others."""

    @property
    def moved(self) -> tuple[int, int, int]:
        """Bytes of all requests and of all responses, and how long clients waited for acknowledgments (ns)."""

    @property
    def paced(self) -> tuple[int, int]:
        """How many large messages show that their senders pace, of so many that these sent."""

    def timeline(self, think_ns: float, worker: _Ints | None = None) -> dict[str, Any]:
        """Give each instant to its part: `parts` in ns, and columns, empty where there is nothing of the kind.

        Where each connection has a `worker`, only what one does shares instants.
        """

    def overlapping_workers(self, worker: _Ints) -> _Bools:
        """Whether each connection works beside others of its `worker`."""

def json_rows(columns: list[tuple[str, dict[str, Any]]], start: int, stop: int, separator: str) -> bytes:
    """The rows from `start` to `stop` as JSON objects, as `json` writes them with fractions rounded to nine digits.

    A column is `{"truths": …, "known": …}`, `{"numbers": …, "known": …}`, `{"fractions": …}`, `{"times": …}` (ns since
    1970), `{"starts": …, "bytes": …, "rows": …}` (texts, and which of them each row has) or `{"object": columns}`.
    """

class Counts:
    """What one direction of a link has done, in packets; `bytes` are those of whole packets that went out."""

    received: int
    sent: int
    bytes: int
    lost: int
    """Lost as it was asked for."""
    queue_full: int
    """Dropped, since too much waited at the bottleneck."""
    refused: int
    """Not taken by the other device: it was down."""
    mean_late_ms: float
    """How much later than due they went out."""
    latest_ms: float
    most_in_flight: int

class Legs:
    """Which exchanges of an application in a recording go on to a server behind a proxy."""

    @property
    def round_trips(self) -> tuple[int, int, int]:
        """Of both sides, of those behind the proxies, and of the proxies' own statements."""

    @property
    def own_statements(self) -> list[int]:
        """The most frequent statements that no application has sent, by number."""

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """Of the proxies, and of the servers behind them."""

    def is_inner(self) -> _Bools:
        """Whether each connection is one of a proxy with a server."""

    def application(self, rtts: Rtts, of_ours: Rtts) -> Rtts:
        """The RTTs `of_ours`, the application's connections alone, where all of the recording have these `rtts`.

        Where a proxy passes round trips on, they take both networks.
        """

class Link:
    """A link between two TUN devices that it makes; it runs until `stop`, or until this object is gone.

    A device has the path of its network namespace and a name; it is down at first, and has no address. `OSError` where
    it cannot be made: no Linux, no right to, no such namespace.
    """

    def __init__(self, first: tuple[str, str], second: tuple[str, str], *, keep_awake: bool = False) -> None:
        """`keep_awake` lets no processor sleep meanwhile: steadier times, and a busy machine."""

    def set(
        self,
        *,
        rtt_ms: float = 0.0,
        jitter_ms: float = 0.0,
        loss: float = 0.0,
        bits_per_second: int = 0,
        queue_bytes: int | None = None,
        seed: int = 0,
        spin_ms: float = 0.25,
    ) -> None:
        """What the link does with packets from now on; those under way keep their time.

        RTT and jitter are those of both ways together; loss (0 to 1), bottleneck (0 for none) and its queue those of
        each. The random numbers of loss and jitter begin anew where the `seed` changes. `spin_ms` is how long before
        a packet is due the clock may be watched, where a sleeping thread wakes up late.
        """

    def counts(self) -> tuple[Counts, Counts]:
        """From the first device to the second, and back."""

    def reset_counts(self) -> None: ...
    @property
    def failure(self) -> str | None:
        """Why it moves nothing any more: somebody has removed a device."""

    def stop(self) -> None:
        """End it; the devices go with it."""

class Relay:
    """A TCP relay that records what passes; it runs until `stop`, or until this object is gone.

    `OSError`, with one line that says it all, where it cannot listen, find a server or write the file.
    """

    def __init__(
        self,
        routes: list[tuple[tuple[str, int], tuple[str, int]]],
        path: str | None = None,
        *,
        snap_length: int = 0,
        rtt_ms: float | None = None,
        jitter_ms: float = 0.0,
        bits_per_second: int = 0,
        seed: int = 0,
    ) -> None:
        """Each route is the address to listen on (port 0: any) and the server's; without a path nothing is recorded.

        Where an RTT is given, so much is added to the way to the servers.
        """

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where it listens, route by route."""

    def flush(self) -> None:
        """Return when all that passed so far is in the file."""

    def stop(self, *, at_once: bool = False) -> Relayed:
        """Let in nobody else, and end when all is quiet, or `at_once`. Connections that are still open are cut."""

class Relayed:
    """What a relay did."""

    connections: int
    to_clients: int
    """Bytes that were handed to the applications."""
    to_servers: int
    packets: int
    """Packets in the file."""
    dropped: int
    """Packets that are not: the disk was too slow, or full."""
    ended: str | None
    """Why the file ends before the traffic did."""
    problems: dict[str, int]
    """What went wrong, one line each, and how often."""

class JobNetwork:
    """What moves the packets of a rehearsed job from its namespaces to this machine's own network, until `end`.

    There, and in the two functions below, only on Linux. `OSError` where it cannot be: one line says why.
    """

    def __init__(self, keeper: int) -> None:
        """`keeper`: a socket (SOCK_SEQPACKET), taken over, at whose other end is `keep_namespaces`."""

    def set(
        self,
        *,
        rtt_ms: float = 0.0,
        jitter_ms: float = 0.0,
        loss: float = 0.0,
        bits_per_second: int = 0,
        queue_bytes: int | None = None,
        seed: int = 0,
    ) -> None:
        """As `Link.set`."""

    def counts(self) -> tuple[Counts, Counts]:
        """From the job to its servers, and back."""

    @property
    def failure(self) -> str | None: ...
    @property
    def namespaces(self) -> tuple[int, int | None]:
        """Files: the job's network namespace, and the user namespace where one was needed."""

    def end(self) -> int:
        """End what still runs in the job's namespace, then the network; return how many processes there were."""

def keep_namespaces(socket: int, servers: list[str], congestion_control: str) -> None:
    """Make the namespaces for a job with these servers (ADDRESS:PORT), and keep them until `socket` has no other end.

    For a process of its own with a single thread.
    """

def enter_namespaces(network: str, user: str | None = None, *, may_capture: bool = False) -> None:
    """Bring this process into the namespaces at these paths; `may_capture`: with the right to capture there."""

class Recording:
    """The tables of one recording; each method returns an Arrow stream."""

    @staticmethod
    def of(
        tables: dict[str, Iterable[Any]],
        exchanges: Iterable[tuple[int, Any]],
        rtt_samples: Iterable[Any],
        *,
        parts: list[tuple[int, dict[str, list[str]]]] = [],
        chosen: _Ints | None = None,
        host_curve: tuple[Sequence[float], Sequence[float], Sequence[str]] | None = None,
        contents: list[tuple[int, str] | None] = [],
        memory: int = ...,
        disk: tuple[str, int] | None = None,
        in_memory: int | None = None,
    ) -> Recording:
        """The recording of Arrow tables in the core's columns; raises `CaptureError` where no capture gives such.

        `tables`: by name, each an iterable of pieces; of `statements`, `tags` and `notes` a piece a part. `exchanges`:
        batches, each with its part; `parts`: the number of each part's scan, and known words by column. Of the `chosen`
        connections alone rows are kept. `memory`, `disk` and `in_memory` are those of `read`.
        """

    @staticmethod
    def exchange_names() -> list[str]:
        """What the columns of the exchanges are called."""

    @staticmethod
    def would_be_large(exchanges: int, memory: int) -> bool:
        """What is computed from so many exchanges does not fit in `memory` bytes."""

    @property
    def is_large(self) -> bool:
        """What is computed from it does not fit in the memory that reading may take."""

    def captures(self) -> _ArrowStream: ...
    def notes(self) -> _ArrowStream: ...
    def cases(self) -> _ArrowStream: ...
    def connections(self) -> _ArrowTable: ...
    def exchanges(self, columns: list[str] | None = None, rows: tuple[int, int] | None = None) -> _ArrowStream: ...
    def statements(self) -> _ArrowStream: ...
    def tags(self) -> _ArrowStream: ...
    def rtt_samples(self) -> _ArrowStream: ...
    def clock_readings(self) -> _ArrowStream: ...
    def segments(self) -> _ArrowStream: ...
    def taps(self) -> _ArrowStream: ...
    def host_curve(self) -> tuple[list[float], list[float], list[str]] | None:
        """How much later the host that recorded answers after a rest: rests, extra times in ms, its addresses."""

    def groups(self, group_of: _Ints, most: int) -> list[tuple[Recording, list[Recording]]]:
        """Groups of connections by the number of each stream's, negative for none: some together, and each alone.

        As many are together as have no more than `most` exchanges, or one alone.
        """

    def rtts(self, given_ms: float | None = None, groups: _Ints | None = None) -> Rtts:
        """The RTTs of its paths and connections, where `given_ms` does not overrule them.

        Connections of several `groups` share no path.
        """

    @property
    def is_renamed(self) -> bool:
        """Other names stand in the tables than those that were read."""

    def database_rows(self) -> _Ints:
        """The rows of the connections that are database traffic."""

    def texts(self, table: str, column: str) -> list[str]:
        """The distinct texts of a column, in the order of its rows; of the exchanges those of their errors."""

    def names_met(self, columns: list[str]) -> list[tuple[str, str]]:
        """Names of connections, each once behind its column, in the order in which they are met: databases' first."""

    def texts_met(self) -> tuple[list[str], list[str]]:
        """The texts of statements, and those of errors, in the order of the exchanges that have them."""

    def renamed(self, words: dict[str, dict[str, list[str]]], hosts: list[str] | None = None) -> Recording:
        """The same rows with other words, by table and column in the order of `texts`; `hosts` of its curve."""

    @property
    def exchange_count(self) -> int: ...
    def all_connections(self) -> _ArrowStream:
        """All connections that were read, whatever is selected."""

    def select(self, streams: _Ints) -> Recording:
        """The recording with some of its connections in it."""

    def within(
        self, first: tuple[int, int | None], last: tuple[int, int | None], period: tuple[int, int]
    ) -> Recording | None:
        """The recording from one edge to another, each a time (ns since 1970) and the frame that was asked for.

        Its connections are open from the begin of `period` to its end. `None` where no exchange begins then.
        """

    def holds_all_time(self, whole: Recording | None = None) -> bool:
        """Whether no time of its connections is left out; `whole`: the recording that it is a window of."""

    def reach(self) -> tuple[int, int]:
        """From the first packet to the last data of the database connections, in ns since 1970."""

    def passed(self, frame: int) -> int | None:
        """When what begins or ends at `frame` or behind it first passed, in ns since 1970."""

    @property
    def period(self) -> tuple[int, int] | None:
        """When it begins and ends, in ns since 1970, where it is a window."""

    @property
    def start_ns(self) -> int:
        """When it began, in ns since 1970: its window, or the first packet of a database connection."""

    @property
    def runtime_ns(self) -> int:
        """From then to the last data of one, or to the end of its window."""

    def during(self, begin_ns: int, end_ns: int) -> Recording:
        """The window with another begin and end."""

    def begins(self) -> _Ints:
        """When each exchange begins, in ns since 1970."""

    def legs(self, whole: Recording | None = None) -> Legs | None:
        """Both sides of its proxies, where some are certain; `whole` is the recording that it is a window of."""

    def contents(self) -> list[tuple[int, str] | None]:
        """Length and SHA-256 of each source, files read once more; `None`: it has changed, or was not read whole."""

class Replay:
    """A job that can be replayed on other networks; see `core/src/job` and `latpcap.projection`."""

    def __new__(cls, job: Job, usual_ns: float, network: object, waiting: str) -> Replay:
        """Make the replay of a job; connections of which no RTT is known have the usual one."""

    @property
    def ticks(self) -> bool:
        """Some of its turns begin by a clock."""

    @property
    def timer(self) -> tuple[int, float]:
        """How many turns begin by a timer of their program, and how long after each other at the median (ns)."""

    @property
    def queues(self) -> bool:
        """Some of its lanes share a queue."""

    @property
    def may_tick(self) -> bool:
        """Some of its turns may begin by a clock, though nothing tells."""

    @property
    def waits_for_locks(self) -> bool:
        """Some of its turns wait for locks."""

    @property
    def segments(self) -> float:
        """How many all requests and responses have."""

    def otherwise(self, network: object, ways: Sequence[str]) -> list[Replay | None]:
        """Return the same where its turns wait for each other in each way; `None` where that leads to the same."""

    def changed(self, changes: object) -> Replay:
        """Return the job with fixes made: a `latpcap.projection.job.FixEffects`."""

    def scoped(
        self, rtts_ns: NDArray[Any], asked: NDArray[Any], client: float, service: float, think_ns: float
    ) -> Replay:
        """Return the job where only a part is different: the RTT of each phase, or the hosts' own times.

        The RTT of a phase is its own and `asked` times that which `run` is asked for; NaN stays as it was. A client's
        pause beyond `think_ns` is think time.
        """

    def meetings(self) -> tuple[float, Any, Any, Any, Any]:
        """How long requests were outstanding (s), and the fields of what `latpcap.projection.capacity` has.

        Those of hosts, server, both and locks; `None` for none.
        """

    def run(self, rtts_ns: Sequence[tuple[float | None, float]], network: object) -> list[float]:
        """When the job is over at each RTT and so much more, in ns since it began; `None`: the RTTs as they were."""

    def parts(
        self, rtts_ns: list[float | None], network: object, think_ns: float
    ) -> list[tuple[dict[str, float], dict[str, float]]]:
        """Where that time goes at each RTT, in ns by part; a longer pause of the client is think time.

        Beside it, what clients and servers took themselves, whoever else was busy meanwhile.
        """

    def weigh(self) -> None:
        """Read how large the messages are, which networks with a bottleneck or compression ask for."""

def run_each(
    wanted: Sequence[
        tuple[Replay, object | None, object | None, Sequence[tuple[object, Sequence[tuple[float | None, float]]]]]
    ],
) -> list[tuple[Replay, list[list[float]]]]:
    """Return each replay, and when it is over on the networks.

    With senders like those of a network if one is named, and with fixes made if there are any.
    """

def ways_of_waiting() -> list[str]:
    """Who may wait for whom, in words: see `core/src/job/lanes.rs`."""

class Rtts:
    """The RTTs of a recording: of its paths, connections, phases and periods (`core/src/rtt`)."""

    def baselines(self, of: str) -> tuple[Any, ...]:
        """Of `paths`, `connections`, `phases` or `periods`: the columns of `latpcap.rtt.baselines.Baselines`."""

    def paths(self) -> tuple[_Ints, list[str], list[str]]:
        """The path of each connection, and the client's host and the server of each path."""

    def phases(self) -> tuple[_Ints, _Ints, _Ints, _Ints]:
        """The first and the last phase of each connection; the period and the connection of each phase."""

    def changes(self, unseen: int) -> tuple[_Ints, _Ints, _Ints, _Ints, _Ints]:
        """The path of each change, its time (ns since the recording began) and what shows it.

        Then the first period of each path with the number of all; when each period begins, `unseen` for the first.
        """

    def of_exchanges(self) -> _Ints:
        """The phase of each exchange."""

    def beyond(self) -> tuple[Any, ...] | None:
        """Networks behind a proxy: the columns of `latpcap.rtt.BehindProxy`, the server as numbers and names."""

    def intervals(
        self, recording: Recording, first_ns: int, width_ns: int, count: int
    ) -> tuple[_Ints, _Floats, _Floats]:
        """How many RTTs were measured directly in each interval, the least and the middle one.

        The first interval begins at `first_ns`, in ns since 1970.
        """

    def within(self, whole: Recording, window: Recording) -> Rtts:
        """What is true of a `window` of the `whole` recording that these are of."""

    def part(self, begin: int, end: int, recording: Recording) -> Rtts:
        """Those of the connections from one place to another, which `recording` has alone."""

def rtt_of_measurements(
    handshakes_ns: list[int], acks_ns: list[int], bounds_ns: list[int], tick_ns: int
) -> tuple[float, float, float, int, int]:
    """The RTT of a path that no capture shows, from what was measured on it.

    Bounds are those of anything that was answered. Returns ns, both ends of its range, the method and the reason.
    """
