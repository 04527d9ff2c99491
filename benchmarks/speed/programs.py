"""Who reads: latpcap, the peers, and as the limit programs that do next to nothing. One command line each, everywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .cost import Command

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "target" / "release" / "examples"
INSTALLED = Path(os.environ.get("LATPCAP_PEERS", Path.home() / ".cache" / "latpcap" / "peers"))
"""Where install.sh puts what Debian does not have."""
PYTHON = INSTALLED / "venv" / "bin" / "python"
MEMORY = "8GB"
"""The default of 1 GB is for any machine; with it the largest captures here are cut, and say so."""
LATPCAP = [str(Path(sys.executable).with_name("latpcap"))]
ANALYZE = [*LATPCAP, "analyze", "--json", "--quiet", "--memory", MEMORY]
DUMPED = (
    "tcpdump -s 65535 -x -nn -q -tttt -r {} | pt-query-digest --type tcpdump --report-format profile --limit 10000000"
)

MYSQL = ("nplus1", "bulk", "short", "connections", "statements")


@dataclass(frozen=True)
class Program:
    """A command line for a capture, and what is to be known of who is started."""

    command: Callable[[Path], Command]
    needs: str
    version: Command
    does: str
    kinds: tuple[str, ...] | None = None
    """The kinds of traffic that it can say anything of, if not all."""

    @property
    def here(self) -> bool:
        return shutil.which(self.needs) is not None

    def reads(self, kind: str) -> bool:
        return self.here and (self.kinds is None or kind in self.kinds)

    def told_version(self) -> str:
        done = subprocess.run(self.version, capture_output=True, text=True)
        return (done.stdout or done.stderr).strip().splitlines()[0].split(" (Git")[0]


def with_library(name: str, does: str) -> Program:
    script = str(HERE / "peers" / f"with_{name}.py")
    told = f"from importlib.metadata import version; print('{name}', version('{name}'))"
    return Program(lambda path: [str(PYTHON), script, str(path)], str(PYTHON), [str(PYTHON), "-c", told], does, MYSQL)


def example(name: str, *options: str, does: str) -> Program:
    program = str(EXAMPLES / name)
    return Program(lambda path: [program, *options, str(path)], program, ["echo", "as latpcap"], does)


def core_on(path: Path, processors: int) -> Command:
    """The core where it may use so many processors: it starts no more threads than these."""
    return ["taskset", "--cpu-list", f"0-{processors - 1}", str(EXAMPLES / "read"), str(path)]


LATPCAP_ITSELF = "latpcap"
CORE = "latpcap's core"
WALK = "record walk"
GOPACKET = "gopacket"
TSHARK = "tshark"

FAST = {
    LATPCAP_ITSELF: Program(
        lambda path: [*ANALYZE, str(path)],
        LATPCAP[0],
        [*LATPCAP, "--version"],
        "everything: `analyze --json`",
    ),
    CORE: example("read", does="reads, reassembles, decodes, pairs, and makes the tables: all but Python"),
    GOPACKET: Program(
        lambda path: [str(INSTALLED / "gopacket"), str(path)],
        str(INSTALLED / "gopacket"),
        ["sh", "-c", f"go version -m {INSTALLED / 'gopacket'} | awk '/dep.*gopacket/ {{print $2, $3}}'"],
        "reassembles, cuts into messages, pairs, tells statements apart, handshake RTTs",
        MYSQL,
    ),
    TSHARK: Program(
        lambda path: [
            *("tshark", "-T", "fields", "-e", "tcp.stream", "-e", "mysql.query", "-e", "tcp.analysis.initial_rtt"),
            *("-r", str(path)),
        ],
        "tshark",
        ["tshark", "--version"],
        "dissects and prints three fields a packet; pairs nothing",
    ),
    "tcpdump": Program(
        lambda path: ["tcpdump", "--count", "-r", str(path)],
        "tcpdump",
        ["tcpdump", "--version"],
        "counts packets: `tcpdump --count -r`",
    ),
    WALK: example("segments", "--walk", does="goes from record to record and counts them: the limit"),
    "cat": Program(
        lambda path: ["sh", "-c", 'cat "$0" > /dev/null', str(path)], "cat", ["cat", "--version"], "reads the file"
    ),
}

SLOW = {
    "pt-query-digest": Program(
        lambda path: ["sh", "-c", DUMPED.format('"$0"'), str(path)],
        "pt-query-digest",
        ["pt-query-digest", "--version"],
        "statements and their times, from what tcpdump prints; no RTT",
        MYSQL,
    ),
    "dpkt": with_library("dpkt", "packets; cutting and pairing is ours, in Python"),
    "scapy": with_library("scapy", "packets; cutting and pairing is ours, in Python"),
    "pyshark": with_library("pyshark", "what tshark dissects, as Python objects; pairing is ours"),
}
PACKETS = {"pt-query-digest": 25_000, "dpkt": 50_000, "scapy": 10_000, "pyshark": 1_000}
"""How many packets who is slow reads first; then twice and four times as many."""
