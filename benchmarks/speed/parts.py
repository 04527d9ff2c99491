"""Where latpcap's time goes: starting, the core, the analysis; and what a second processor brings."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from .captures import capture
from .compare import Met
from .cost import Cost, Runs, in_turn
from .programs import ANALYZE, CORE, LATPCAP, LATPCAP_ITSELF, core_on
from .table import Rows, number, table
from .traffic.kinds import Wish

ROUNDS = 7
PYTHON, HELP, SMALL = "Python alone", "`latpcap --help`", "`analyze` of 12 packets"
ONE, TWO = "one processor", "two processors"


@dataclass(frozen=True)
class Parts:
    """Starting, and the classic in parts."""

    starting: dict[str, Runs]
    processors: dict[str, Runs]
    whole: Cost
    core: Cost

    @property
    def start(self) -> Cost:
        return self.starting[SMALL].median

    @property
    def analysis_cpu_s(self) -> float:
        """What is neither starting nor the core."""
        return max(0.0, self.whole.cpu_s - self.core.cpu_s - self.start.cpu_s)

    @property
    def speed_up(self) -> float:
        return self.processors[ONE].times(self.processors[TWO])


def measured(folder: Path, classic: Met) -> Parts:
    small = capture(folder, "nplus1", Wish(20))
    assert small is not None
    starting = {
        PYTHON: [sys.executable, "-c", ""],
        HELP: [*LATPCAP, "--help"],
        SMALL: [*ANALYZE, str(small.path)],
    }
    path = classic.capture.path
    processors = {ONE: core_on(path, 1), TWO: core_on(path, 2)}
    return Parts(
        in_turn(starting, lambda _: ROUNDS),
        in_turn(processors, lambda _: ROUNDS),
        classic.runs[LATPCAP_ITSELF].median,
        classic.runs[CORE].median,
    )


def starting_shown(parts: Parts) -> str:
    rows: Rows = [("", "wall ms", "CPU ms", "peak MB")]
    for name, runs in parts.starting.items():
        cost = runs.median
        rows.append((name, *(number(value) for value in (1000 * cost.wall_s, 1000 * cost.cpu_s, cost.peak_mb))))
    return table(rows)


def parts_shown(parts: Parts, packets: int) -> str:
    rows: Rows = [("", "CPU s", "of all %", "ns a packet")]
    shares = {
        "starting: `analyze` of next to nothing": parts.start.cpu_s,
        "the core: reading to tables": parts.core.cpu_s,
        "the analysis: measures, findings, projection, JSON": parts.analysis_cpu_s,
        "all": parts.whole.cpu_s,
    }
    for name, cpu_s in shares.items():
        rows.append((name, number(cpu_s), f"{100 * cpu_s / parts.whole.cpu_s:.0f}", number(1e9 * cpu_s / packets)))
    return table(rows)


def processors_shown(parts: Parts) -> str:
    rows: Rows = [("the core", "wall s", "CPU s", "peak MB", "times as fast")]
    for name, runs in parts.processors.items():
        cost = runs.median
        faster = number(parts.processors[ONE].times(runs))
        rows.append((name, *(number(value) for value in (cost.wall_s, cost.cpu_s, cost.peak_mb)), faster))
    return table(rows)
