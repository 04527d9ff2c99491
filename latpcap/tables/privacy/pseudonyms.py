"""Stable names in the place of real ones: `client-1:40000`, `server-1:3306`, `user-1`, `database-1`, `application-1`.

The core replaces them in a recording before anything else sees it, so no report can forget it. Names are
numbered as they first appear, so the same captures give the same names in every run. Recordings that are read apart
number on their own; give both the same `Pseudonyms` where they are to be compared.

Tables, columns and schemas keep their names. What equals a known name as a whole word is replaced in statements and
messages too, even where it means something else there: rather a table too many than a customer's name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from urllib.parse import unquote

from latpcap import _core
from latpcap.protocols.drivers import is_known
from latpcap.tables.host_curve import HostCurve
from latpcap.tables.part.endpoints import host_of
from latpcap.tables.privacy import principals
from latpcap.tables.reading.sources import shown

NAMES = {
    "client": "client",
    "server": "server",
    "former_databases": "database",
    "database": "database",
    "former_users": "user",
    "user": "user",
    "application": "application",
    "server_name": "host",
    "certificate_subject": "certificate",
}
"""Columns of the connections that hold names (the former ones of a connection line by line) → their kind."""
NAMELESS = frozenset({"", "-", "bytes", "file object", "standard input"})
"""The core's words for captures without a name."""
WORD = re.compile(r"[\w$#]+")
TOKEN = re.compile(r"[\w$#]+|[^\w$#]")
MAX_NAME_TOKENS = 64
"""A longer name is known by its beginning, so that no text takes longer than its length says."""
ROUTE = re.compile(r"(?<=route=')[^']*")
BETWEEN_PARTS = re.compile(r"(/|%2[fF])")
SHOWN_OF_ROUTES = re.compile(r"/|[A-Za-z_^$-]*|v\d+|[:<{\[(*][^@]*")
"""Words of code, versions, and places for values (`:id`, `<int:id>`, `{id}`, `(?P<id>[0-9]+)`)."""
SUFFIX = re.compile(r"(?:\.(?:pcapng|pcap|cap|dmp|ntar))?(?:\.(?:gz|zst|lz4))?$", re.IGNORECASE)


class Pseudonyms:
    """Real names and what stands for them.

    >>> names = Pseudonyms()
    >>> names.address("10.0.0.9:40000", "client"), names.address("[fd00::7]:3306", "server")
    ('client-1:40000', 'server-1:3306')
    >>> names.of("user", "ann"), names.of("user", "bob"), names.of("user", "ann")
    ('user-1', 'user-2', 'user-1')
    >>> names.in_text("grant select on ann.orders to `BOB`, hannah")
    'grant select on user-1.orders to `user-2`, hannah'
    """

    def __init__(self) -> None:
        """Begin without any name."""
        self._pseudonyms: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self._of_captures: set[str] = set()
        self._in_texts = _NameNode()
        """The names that texts are searched for, in lower case."""

    def of(self, kind: str, name: str) -> str:
        """Return the pseudonym of a `user`, `database`, `application` or `host`."""
        return self._pseudonyms.get((kind, name)) or self._invent((kind, name), kind, name)

    def address(self, address: str, role: str) -> str:
        """Return an address with its host replaced and its port kept; a host that is client and server has one name."""
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        return f"{self._pseudonyms.get(('host', host)) or self._invent(('host', host), role, host)}:{port}"

    def capture(self, path: str) -> str:
        """Return the pseudonym of a file, with its suffixes: folders often name a customer. A pseudonym stays."""
        path = shown(path)
        if path in NAMELESS or path in self._of_captures:
            return path
        found = SUFFIX.search(path)
        suffix = found[0].lower() if found else ""
        pseudonym = self._pseudonyms.get(("capture", path)) or self._invent(("capture", path), "capture", path, suffix)
        self._of_captures.add(pseudonym)
        return pseudonym

    def in_text(self, text: str) -> str:
        """Return a statement or a message with the known names replaced, whatever their case."""
        parts, at = [], 0
        for start, end, pseudonym in self._found(text):
            parts += [text[at:start], pseudonym]
            at = end
        return "".join((*parts, text[at:])) if parts else text

    def _invent(self, key: tuple[str, str], kind: str, name: str, suffix: str = "") -> str:
        self._numbers[kind] += 1
        pseudonym = self._pseudonyms[key] = f"{kind}-{self._numbers[kind]}{suffix}"
        if WORD.search(name):
            self._in_texts.learn(TOKEN.findall(name.lower())[:MAX_NAME_TOKENS], pseudonym)
        return pseudonym

    def _found(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the start, end and pseudonym of known names that are whole words, the longest that begins there."""
        found = list(TOKEN.finditer(text))
        tokens = [token[0].lower() for token in found]
        at = 0
        while at < len(tokens):
            end, pseudonym = self._in_texts.longest(tokens, at)
            if pseudonym:
                yield found[at].start(), found[end - 1].end(), pseudonym
            at = max(end, at + 1)


class _NameNode:
    """Names by their tokens: what is known after those that led here, and the name that ends here."""

    __slots__ = ("after", "pseudonym")

    def __init__(self) -> None:
        self.after: dict[str, _NameNode] = {}
        self.pseudonym = ""

    def learn(self, tokens: Iterable[str], pseudonym: str) -> None:
        """Add a name; one that differs by its case alone stays what it was."""
        node = self
        for token in tokens:
            node = node.after.setdefault(token, _NameNode())
        node.pseudonym = node.pseudonym or pseudonym

    def longest(self, tokens: Sequence[str], at: int) -> tuple[int, str]:
        """The longest name that begins at token `at`: before which token it ends, and its pseudonym."""
        node, end, pseudonym = self, at, ""
        for index in range(at, len(tokens)):
            if tokens[index] not in node.after:
                break
            node = node.after[tokens[index]]
            if node.pseudonym:
                end, pseudonym = index + 1, node.pseudonym
        return end, pseudonym


Rename = Callable[[_core.Recording], _core.Recording]


def renaming(recording: _core.Recording, names: Pseudonyms) -> Rename:
    """Learn the names in a recording, and return a function that puts pseudonyms in their place.

    A name that `names` knows already keeps its pseudonym.
    """
    for path in filter(None, recording.texts("captures", "path")):
        names.capture(path)
    for column, text in recording.names_met([*NAMES]):
        if column in ("client", "server"):
            names.address(text, column)
        else:
            names.of(NAMES[column], text)
    statements, errors = recording.texts_met()
    for named, texts in ((principals.named_in_statement, statements), (principals.named_in_message, errors)):
        for kind, name in chain.from_iterable(map(named, texts)):
            if names.in_text(name) == name:
                names.of(kind, name)
    return lambda recording: _renamed(recording, names)


def _renamed(recording: _core.Recording, names: Pseudonyms) -> _core.Recording:
    hosts = _curve_hosts(recording, names)
    words = {
        table: {column: [*map(change, recording.texts(table, column))] for column, change in changes.items()}
        for table, changes in _changes(recording, names).items()
    }
    return recording.renamed(words, hosts)


def _changes(recording: _core.Recording, names: Pseudonyms) -> dict[str, dict[str, Callable[[str], str]]]:
    """Say what becomes of each text, by table and column; connections first, since texts may name their drivers."""
    paths = recording.texts("captures", "path")

    def pathless(text: str) -> str:
        return without_paths(text, filter(None, paths), names)

    return {
        "connections": {
            "client": lambda text: names.address(text, "client"),
            "server": lambda text: names.address(text, "server"),
            "server_version": lambda text: principals.banner(names.in_text(text)),
            "user": lambda text: names.of("user", text),
            "database": lambda text: names.of("database", text),
            "application": lambda text: names.of("application", text),
            "driver": lambda text: text if is_known(text) else names.of("driver", text),
            "driver_version": lambda text: principals.banner(names.in_text(text)),
            "server_name": lambda text: names.of("host", text),
            "certificate_subject": lambda text: names.of("certificate", text),
            "former_users": lambda text: "",
            "former_databases": lambda text: "",
        },
        "captures": {"path": names.capture},
        "notes": {"message": pathless},
        "cases": {"place": pathless, "text": pathless},
        "exchanges": {"error": names.in_text},
        "statements": {"text": names.in_text},
        "tags": {"text": lambda text: names.in_text(without_values(text))},
        "taps": {
            "client": lambda text: host_of(names.address(f"{text}:0", "client")),
            "server": lambda text: names.address(text, "server"),
            "client_tap": pathless,
            "server_tap": pathless,
        },
    }


def _curve_hosts(recording: _core.Recording, names: Pseudonyms) -> list[str] | None:
    """Return the pseudonyms of the connections' hosts that the curve holds for: no other address has one."""
    curve = HostCurve.of(recording.host_curve())
    if curve is None:
        return None
    addresses = ((role, text) for role in ("client", "server") for text in recording.texts("connections", role))
    here = [(role, text) for role, text in addresses if text and curve.holds_for(host_of(text))]
    return sorted({host_of(names.address(text, role)) for role, text in here})


def without_values(tags: str) -> str:
    """Return the tags of a statement with `?` for the parts of a route that are neither words nor places for values.

    >>> without_values("action='show',route='/u/anna@corp.example/v2'")
    "action='show',route='/u/?/v2'"
    >>> without_values("route='%2Fu%2Fanna%40corp.example%2F%3Cint:id%3E'")
    "route='%2Fu%2F?%2F%3Cint:id%3E'"
    """

    def shown(part: str) -> str:
        return part if SHOWN_OF_ROUTES.fullmatch(unquote(part)) else "?"

    return ROUTE.sub(lambda route: "".join(map(shown, BETWEEN_PARTS.split(route[0]))), tags)


def without_paths(message: str, paths: Iterable[str], names: Pseudonyms) -> str:
    """Return `message` with the paths of captures replaced, and their names where a frame is said to be of them.

    >>> names = Pseudonyms()
    >>> without_paths("/acme/live.pcap: cut", ["/acme/live.pcap"], names)
    'capture-1.pcap: cut'
    >>> without_paths("the clock was set (first: frame 3 of live.pcap)", ["/acme/live.pcap"], names)
    'the clock was set (first: frame 3 of capture-1.pcap)'
    >>> without_paths("11.pcap: cut", ["1.pcap", "11.pcap"], names)
    'capture-3.pcap: cut'
    """
    called = {path: names.capture(path) for path in map(shown, paths) if path not in NAMELESS}
    of_name = {re.split(r"[/\\]", path)[-1] or path: pseudonym for path, pseudonym in called.items()}
    if not called:
        return shown(message)
    found = rf"{_one_of(called)}|(?<= of )(?:{_one_of(of_name)})(?=[\s):;,]|$)"
    return re.sub(found, lambda found: called.get(found[0]) or of_name[found[0]], shown(message))


def _one_of(texts: Iterable[str]) -> str:
    """A pattern of any of them, the longest that is there."""
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))
