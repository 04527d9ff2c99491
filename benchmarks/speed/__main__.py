"""Measures latpcap beside its peers, by its parts and as captures grow, and writes benchmarks/results/speed.md.

    python -m benchmarks.speed                 # all of it: see benchmarks/README.md for how long, and for the space
    python -m benchmarks.speed --quick         # a tenth of the packets, no pipe: does everything work? Writes nothing

Captures are generated into --folder, where they stay for the next time. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from . import answers, compare, curves, goals, machine, page, parts, samples
from .programs import CORE, FAST, LATPCAP_ITSELF, WALK

QUICK = 0.1


def main() -> None:
    arguments = parse()
    share = QUICK if arguments.quick else 1.0
    written = measured(arguments.folder, share, arguments.quick)
    if arguments.quick:
        print(page.in_order(written))
    else:
        page.write(written)


def measured(folder: Path, share: float, quick: bool) -> dict[str, str]:
    """The generated parts of the page, by their names there."""
    told = {"machine": machine.machine(), "readers": machine.readers()}
    say("the answers")
    told["answers"] = answers.asked(folder)
    say("the contests")
    contests = compare.compared(folder, share)
    classic = contests[compare.ONE]
    told["peers"] = compare.shown(list(contests.values()))
    say("peers that are slow")
    sampled = samples.sampled(folder, share)
    ours_s = classic.runs[LATPCAP_ITSELF].median.wall_s
    told["slow"] = samples.shown(sampled, classic.capture.packets, ours_s)
    say("the parts")
    split = parts.measured(folder, classic)
    told["starting"], told["parts"] = parts.starting_shown(split), parts.parts_shown(split, classic.capture.packets)
    told["processors"] = parts.processors_shown(split)
    say("the curves")
    grown = curves.measured(folder, share, split.start, pipe=not quick)
    told["curves"] = curves.shown(grown)
    told["goals"] = goals.shown(contests, split, grown)
    return told


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="speed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "latpcap-speed", help="of captures"
    )
    if not (FAST[CORE].here and FAST[WALK].here):
        parser.error("the core's examples are not built: run benchmarks/speed/install.sh")
    return parser.parse_args()


if __name__ == "__main__":
    main()
