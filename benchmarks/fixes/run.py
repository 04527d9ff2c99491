#!/usr/bin/env python3
"""Fix programs for real and compare with what `latpcap project --fix` says of their captures.

    benchmarks/fixes/run.py                        # in a lab that is up, MariaDB and PostgreSQL loaded
    benchmarks/fixes/run.py --only '8|pgjdbc'      # some of the programs
    benchmarks/fixes/run.py --again LAB/fixes      # what another latpcap says of captures that were kept

Each program runs in its wasteful and in its fixed form at 5 and 15 ms, seven times each and in turn; the quickest run
counts, as a busy machine only ever adds. From one capture of the wasteful form at 1 ms latpcap says what the fix saves
at the RTT that the link really had (a further capture tells that: asked 5 ms are 5.1). Captures and `truth.jsonl`, a
line for each form at each RTT, stay in the folder `fixes` of the lab. The Python that runs this has latpcap installed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from programs import PROGRAMS, Program

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab

FOLDER = lab.LAB / "fixes"
FROM_MS, TO_MS = 1, (5, 15)
RUNS, RUNS_WORKING = 7, 4
BESIDE = 3
"""Programs that work between their calls run so many at a time: that they start disturbs the others."""
WITHIN = 0.10
"""A prediction is right that misses the measured saving by no more."""
HEAD = """\
| program | fix | RTT ms | round trips saved | wasteful s | fixed s | measured saving s | predicted s | range s | error |
|---|---|--:|--:|--:|--:|--:|--:|---|--:|
"""


@dataclass(frozen=True)
class Timed:
    """One form of a program at one RTT, as it was asked for and as a capture of the wasteful form shows it."""

    workload: str
    n: int
    target_rtt_ms: float
    rtt_ms: float
    seconds: tuple[float, ...]

    @property
    def key(self) -> tuple[str, int, float]:
        return self.workload, self.n, self.target_rtt_ms


def main() -> None:
    arguments = parse()
    programs = [program for program in PROGRAMS if re.search(arguments.only, program.title)]
    if not arguments.again:
        record(programs)
    folder = arguments.again or FOLDER
    truth = {timed.key: timed for timed in read_truth(folder)}
    rows = [row for program in programs for row in compare(program, folder, truth)]
    table = HEAD + "".join(line for line, _ in rows) + f"\n{summary([each for _, each in rows])}\n"
    sys.stdout.write(table)
    if arguments.output:
        arguments.output.write_text(table)


def summary(found: list[Compared]) -> str:
    """Sum up the errors and ranges of the predictions."""
    errors = [each.saved_s / each.measured_s - 1 for each in found]
    widths = [(each.most_s - each.least_s) / 2 / each.saved_s for each in found if each.saved_s]
    inside = sum(each.least_s <= each.measured_s <= each.most_s for each in found)
    return (
        f"{sum(abs(error) <= WITHIN for error in errors)} of {len(errors)} within {WITHIN:.0%}, "
        f"median {median(map(abs, errors)):.1%}; {sum(error > WITHIN for error in errors)} promised more than {WITHIN:.0%} too "
        f"much; {inside} inside the range, which is ± {median(widths):.0%} (median)."
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=".", help="programs whose title matches this regular expression")
    parser.add_argument("--again", type=Path, metavar="FOLDER", help="record nothing: compare what is in this folder")
    parser.add_argument("-o", "--output", type=Path, help="write the table to this file too")
    return parser.parse_args()


# --- the truth ------------------------------------------------------------------------------------------------------


def record(programs: list[Program]) -> None:
    """Capture and time what is not in the folder yet."""
    FOLDER.mkdir(exist_ok=True)
    known = {timed.key for timed in read_truth(FOLDER)}
    for program in programs:
        if not capture(program, FROM_MS).exists():
            captured_rtt(program, FROM_MS)
    for target_rtt_ms in TO_MS:
        new = [
            program
            for program in programs
            if any((form, program.n, target_rtt_ms) not in known for form in (program.wasteful, *program.fixed))
        ]
        for program in new:
            if not program.kind:
                lab.set_link(target_rtt_ms)
                keep(time_in_turn(program, target_rtt_ms, captured_rtt(program, target_rtt_ms)))
        time_working([program for program in new if program.kind], target_rtt_ms)
    lab.set_link()


def time_working(programs: list[Program], target_rtt_ms: float) -> None:
    """Time the programs that mostly sleep beside each other; those of one kind may share locks, so one after the
    other."""
    if not programs:
        return
    rtt_ms = captured_rtt(PROGRAMS[0], target_rtt_ms)
    lab.set_link(target_rtt_ms)
    kinds = dict.fromkeys(program.kind for program in programs)
    with ThreadPoolExecutor(BESIDE) as pool:

        def time_kind(kind: str) -> None:
            for program in programs:
                if program.kind == kind:
                    keep(time_in_turn(program, target_rtt_ms, rtt_ms))

        list(pool.map(time_kind, kinds))


def time_in_turn(program: Program, target_rtt_ms: float, rtt_ms: float) -> list[Timed]:
    seconds: dict[str, list[float]] = {form: [] for form in (program.wasteful, *program.fixed)}
    for _ in range(RUNS_WORKING if program.kind else RUNS):
        for form, times in seconds.items():
            times.append(run_working(form, program.n) if program.kind else run(form, program.n, target_rtt_ms))
    return [Timed(form, program.n, target_rtt_ms, rtt_ms, tuple(times)) for form, times in seconds.items()]


def run_working(workload: str, n: int) -> float:
    """Seconds of all pieces of work, over the link as it is."""
    with lab.workload(workload, n) as process:
        seconds: float = lab.go(process)["seconds"]
    return seconds


def captured_rtt(program: Program, target_rtt_ms: float) -> float:
    """Run the wasteful form once with a capture; the RTT that it shows."""
    path = capture(program, target_rtt_ms)
    run(program.wasteful, program.n, target_rtt_ms, path)
    rtt_ms: float = latpcap("analyze", str(path))["summary"]["baseline_rtt_ms"]
    return rtt_ms


def run(workload: str, n: int, target_rtt_ms: float, path: Path | None = None) -> float:
    """Seconds that the application counts, connecting and all, after a warm-up over the bare link."""
    lab.set_link()
    with lab.workload(workload, n) as process:
        lab.set_link(target_rtt_ms)
        with lab.capturing(lab.CLIENT, path, "tcp port 3306 or tcp port 5432") if path else nullcontext():
            seconds: float = lab.go(process)["total"]
    return seconds


def capture(program: Program, target_rtt_ms: float, folder: Path = FOLDER) -> Path:
    return folder / f"{program.wasteful.replace(':', '_')}__n{program.n}__rtt{target_rtt_ms:g}.pcapng"


def keep(forms: list[Timed]) -> None:
    with (FOLDER / "truth.jsonl").open("a") as file:
        for timed in forms:
            file.write(json.dumps(asdict(timed)) + "\n")
            print(
                f"{timed.target_rtt_ms:5g} ms {timed.workload:32} {min(timed.seconds):8.3f} s",
                file=sys.stderr,
                flush=True,
            )


def read_truth(folder: Path) -> list[Timed]:
    path = folder / "truth.jsonl"
    return [Timed(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


# --- the prediction -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """The measured saving of a fix beside the predicted one."""

    measured_s: float
    round_trips: int
    saved_s: float
    least_s: float
    most_s: float


def compare(
    program: Program, folder: Path, truth: dict[tuple[str, int, float], Timed]
) -> Iterator[tuple[str, Compared]]:
    """A row of the table for each fix at each RTT."""
    for (form, fixes), target_rtt_ms in product(program.fixed.items(), TO_MS):
        before, after = (truth[workload, program.n, target_rtt_ms] for workload in (program.wasteful, form))
        wasteful_s, fixed_s = min(before.seconds), min(after.seconds)
        found = predicted(program, fixes, before.rtt_ms, folder, wasteful_s - fixed_s)
        names = " ".join(f"`{fix}`" for fix in fixes)
        yield (
            f"| {program.title} | {names} | {before.rtt_ms:.2f} | {found.round_trips} | {wasteful_s:.3f} | {fixed_s:.3f} "
            f"| {found.measured_s:.3f} | {found.saved_s:.3f} | {found.least_s:.3f} to {found.most_s:.3f} "
            f"| {found.saved_s / found.measured_s - 1:+.1%} |\n",
            found,
        )


def predicted(program: Program, fixes: tuple[str, ...], rtt_ms: float, folder: Path, measured_s: float) -> Compared:
    """Round trips and seconds that the fixes save together, from the capture at 1 ms alone."""
    options = [option for fix in fixes for option in ("--fix", fix)]
    path = capture(program, FROM_MS, folder)
    fixed = latpcap("project", str(path), "--rtt", f"{rtt_ms:.3f}ms", *options)["what_if"]["all_fixes"]
    saved_s, least_s, most_s = (next(iter(fixed[f"saved_{end}s"].values())) for end in ("", "least_", "most_"))
    return Compared(measured_s, fixed["round_trips_saved"], saved_s, least_s, most_s)


def latpcap(command: str, *arguments: str) -> Any:
    argv = [sys.executable, "-P", "-m", "latpcap", command, *arguments, "--json", "--quiet"]
    return json.loads(subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
