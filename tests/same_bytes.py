"""All outputs of all fixtures, to be compared with those of another version or system, or with tests/same_bytes.txt.

    python tests/same_bytes.py FOLDER      write them to FOLDER/KIND/FIXTURES/; `diff -r` compares two such folders
    python tests/same_bytes.py --check     list the kinds and folders of fixtures that differ from tests/same_bytes.txt
    python tests/same_bytes.py --freeze    write tests/same_bytes.txt

FOLDER keeps the outputs of --check and --freeze, too. `--only mysql` takes the fixtures of one folder. `./dev windows`
runs it on Linux and under Wine.

A line of tests/same_bytes.txt: the kind of output, the folder of fixtures, the number of files, how many of these hold
a refusal's message instead, and the hash of all.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import sys
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stdout, suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import latpcap
from latpcap.cli import cli
from latpcap.errors import LatpcapError, NoDatabaseTraffic

ROOT = Path(__file__).parent.parent
LINES = ROOT / "tests" / "same_bytes.txt"
RTTS = "--rtt 1ms,15ms"
FACTS = "select command, wait, count(*), sum(round_trips), max(service_ms) from exchanges group by all order by all"
GATES = "--fail-if 'round_trips > 50' --fail-if 'project(15ms) > 1s' --fail-if 'finding(n+1)'"
TABLES = ("exchanges", "connections", "errors", "tasks", "intervals", "health", "captures")
BY = ("server", "client", "user", "database", "application")

OF_ALL = {
    **{suffix: [(f"analyze {{capture}} {RTTS}", suffix)] for suffix in ("json", "html", "md", "txt")},
    "project": [(f"project {{capture}} {RTTS}", "json")],
    "rank": [("rank {capture}", "json")],
    "statements": [("statements {capture}", "csv")],
    "findings": [("findings {capture}", "csv")],
    **{table: [(f"table {table} {{capture}}", "csv")] for table in TABLES},
    "annotated": [("wireshark {capture}", "pcapng")],
}
"""The commands of each kind of output, each with the suffix of its file; of every fixture."""
OF_SAMPLE = {
    "verbose": [(f"analyze {{capture}} {RTTS} -v", "txt"), ("report {capture} --title T --date 2031-05-06", "md")],
    "settings": [(f"analyze {{capture}} {RTTS} {each}", "json") for each in ("--think 10ms", "--rtt-baseline 0.2ms")],
    "literals": [("analyze {capture} --show-literals", "json"), ("table exchanges {capture} --show-literals", "csv")],
    "keys": [(f"analyze {{capture}} {RTTS} --keylog {{keys}}", "json")],
    "fixes": [("project {capture} --rtt 0,1..50ms --fix all --within 60s", "json")],
    "conditions": [
        (f"project {{capture}} {RTTS} {each}", "json")
        for each in (
            "--bandwidth 34Mbit --loss 0.1% --jitter 1ms --window 64KiB",
            "--service 50% --client-time 80% --compression 30% --rtt-is in-stream",
            "--connections 1,2,8",
            "--move {server}=40ms",
        )
    ],
    "gates": [
        (f"analyze {{capture}} {RTTS} {GATES} --ci {{output}}.xml --ci {{output}}.sarif", "json"),
        ("statements {capture} --fail-if 'round_trips > 5' --ci {output}.xml", "csv"),
    ],
    "rank-by": [(f"rank {{capture}} --by {each}", "json") for each in (*BY, "driver", "route", "task", "connection")],
    "statements-by": [(f"statements {{capture}} --by {each}", "csv") for each in BY],
    "rows": [
        *(("table exchanges {capture}", suffix) for suffix in ("txt", "json", "jsonl", "parquet")),
        ("table connections {capture}", "parquet"),
        ("table tasks {capture} --by route", "csv"),
        ("table tasks {capture} --idle 10ms", "csv"),
        ("table intervals {capture} --every 50ms", "csv"),
    ],
    "sql": [
        ("sql {capture} 'from rtt_samples order by all'", "csv"),
        ("sql {capture} 'from taps order by all'", "csv"),
        (f"sql {{capture}} '{FACTS}'", "csv"),
    ],
    "selections": [
        (f"{command} {selected}", suffix)
        for selected in (
            "--stream {streams}",
            "--server {server}",
            "--client {client}",
            "--from {from} --to {to}",
        )
        for command, suffix in ((f"analyze {{capture}} {RTTS}", "json"), ("table exchanges {capture}", "csv"))
    ],
    "pseudonyms": [
        (f"analyze {{capture}} {RTTS} --pseudonymise", "json"),
        *((f"table {table} {{capture}} --pseudonymise", "csv") for table in ("exchanges", "connections")),
        ("rank {capture} --by server --pseudonymise", "json"),
        ("analyze {capture} --pseudonymise --server {server} --from {from}", "json"),
    ],
    "dataset": [
        ("scan {capture}", "dataset"),
        (f"analyze {{dataset}} {RTTS}", "json"),
        ("table exchanges {dataset}", "csv"),
        ("sql {dataset} 'from rtt_samples order by all'", "csv"),
        (f"analyze {{dataset}} {RTTS} --server {{server}}", "json"),
        (f"analyze {{dataset}} {RTTS} --from {{from}} --to {{to}}", "json"),
        (f"analyze {{dataset}} {RTTS} --pseudonymise", "json"),
    ],
    "parts": [
        ("scan {capture} --parts 3 --workers 1", "dataset"),
        (f"analyze {{dataset}} {RTTS}", "json"),
        ("table exchanges {dataset}", "csv"),
    ],
    "totals": [(f"scan {{capture}} --totals --parts {parts} --workers 1 >", "json") for parts in (1, 3)],
    "several": [(f"analyze {{capture}} {{next}} {RTTS}", "json"), ("table exchanges {capture} {next}", "csv")],
    "compare": [(f"compare {{capture}} {{next}}{how}", "json") for how in ("", " --projected")],
}
"""Of the sample alone (`in_sample`)."""
OF_LARGE = {
    "little-memory": [
        (f"{command} --memory 64MB", suffix)
        for command, suffix in (
            (f"analyze {{capture}} {RTTS}", "json"),
            ("analyze {capture} --from {from} --to {to}", "json"),
            ("project {capture} --rtt 15ms --fix all", "json"),
            ("table tasks {capture} --idle 1ms", "csv"),
            ("statements {capture}", "csv"),
            ("sql {capture} 'select stream, count(*), max(rtt_ms) from rtt_samples group by all order by all'", "csv"),
        )
    ],
}
"""Of `LARGE`."""
LARGE = {
    "nplus1-of-16": {"packets": 800_000, "connections": 16},
    "postgresql": {"packets": 400_000, "acks": False},
    "statements": {"packets": 400_000, "acks": False},
}
"""Captures made by benchmarks/speed/traffic, with more exchanges than 64 MB have room for."""
OF_DATASETS = ("dataset", "parts")
"""Kinds whose outputs must be those of captures, which have the same names in other kinds."""
REFUSAL = ".refusal"
MAX_NAME_CHARACTERS = 80
"""Characters of a command in the name of its output."""


def main() -> int:
    """Write the outputs, and compare or replace the lines of tests/same_bytes.txt."""
    arguments = parse()
    with TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or Path(temporary, "outputs")).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            sys.exit(f"{folder}: is not empty")
        os.chdir(ROOT)  # results and refusals name captures as the command line does
        captures = [*fixtures(), *large_captures(Path(temporary, "large"), arguments.only)]
        write(folder, [each for each in captures if not arguments.only or each.parent.name in arguments.only])
        problems = [f"{each}: differs from the output of the capture" for each in unequal_datasets(folder)]
        expected, found = read_lines(), lines_of(folder)
        others = {key: line for key, line in expected.items() if arguments.only and key[1] not in arguments.only}
        if arguments.check:
            problems += differences(expected, others | found)
        if arguments.freeze:
            lines = sorted((others | found).items())
            LINES.write_text("".join(f"{' '.join((*key, line))}\n" for key, line in lines), "utf-8", newline="\n")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="where the outputs are kept: a new or empty folder")
    parser.add_argument("--check", action="store_true", help="compare them with tests/same_bytes.txt")
    parser.add_argument("--freeze", action="store_true", help="write tests/same_bytes.txt")
    folders = sorted({"large", *(path.parent.name for path in (ROOT / "fixtures").glob("*/*.pcap*"))})
    parser.add_argument("--only", action="append", choices=folders, help="take the fixtures of one folder; repeatable")
    arguments = parser.parse_args()
    if not (arguments.folder or arguments.check or arguments.freeze):
        parser.error("name a FOLDER, or --check, or --freeze")
    return arguments


def fixtures() -> list[Path]:
    return sorted(path for path in Path("fixtures").glob("*/*.pcap*") if path.suffix in (".pcap", ".pcapng", ".zst"))


def large_captures(folder: Path, only: Sequence[str] | None) -> Iterator[Path]:
    """Write the captures of `LARGE` to `folder`."""
    if only and "large" not in only:
        return
    sys.path.insert(0, str(ROOT))
    from benchmarks.speed.traffic.kinds import KINDS, Wish

    folder.mkdir()
    for name, wish in LARGE.items():
        path = folder / f"{name}.pcap"
        with path.open("wb") as file:
            KINDS[name.split("-")[0]](Wish(**wish)).write(file)
        yield path


def in_sample(capture: Path) -> bool:
    """Whether a fixture is in the third that the CRC of its path chooses, in programs/, which are alike, a twelfth."""
    return zlib.crc32(capture.as_posix().encode()) % (12 if capture.parent.name == "programs" else 3) == 0


def write(folder: Path, captures: Sequence[Path]) -> None:
    """Write all outputs of `captures` to `folder`, the largest captures first."""
    successors = {one: other for one, other in pairwise(captures) if one.parent == other.parent}
    by_size = sorted(captures, key=lambda each: -each.stat().st_size)
    with ProcessPoolExecutor() as pool:
        work = [pool.submit(write_capture, folder, each, successors.get(each)) for each in by_size]
        for each in work:
            each.result()


def write_capture(folder: Path, capture: Path, successor: Path | None) -> None:
    """Write all outputs of a capture, together with the next one of its folder where a command takes two."""
    is_large = capture.parent.name == "large"
    kinds = OF_LARGE if is_large else OF_ALL | (OF_SAMPLE if in_sample(capture) else {})
    values = {"capture": capture.as_posix(), **values_of(capture)}
    if successor:
        values["next"] = successor.as_posix()
    for kind, commands in kinds.items():
        for command, suffix in commands:
            output = path_of(folder, kind, capture, command, suffix)
            values["output"] = output.as_posix()
            if set(re.findall(r"\{(\w+)\}", command)) <= values.keys():
                run([word.format(**values) for word in shlex.split(command)], output, values)
            if suffix == "dataset":
                values["dataset"] = output.as_posix()
    if kinds.keys() >= OF_SAMPLE.keys():
        write_python(folder / "python" / capture.parent.name, capture)
        shutil.rmtree(values["dataset"], ignore_errors=True)  # that of parts has hashes with a random key


def values_of(capture: Path) -> dict[str, str]:
    """Values for options: connections of the capture, the middle half of their time, the key log beside it."""
    recording, values = latpcap.read(capture), {}
    with suppress(NoDatabaseTraffic):
        connections, [file] = recording.connections.to_dicts(), recording.captures.to_dicts()
        begin, end = min(each["start"] for each in connections), max(each["end"] for each in connections)
        quarter = (end - begin) / 4
        values = {
            "streams": ",".join(str(each["stream"]) for each in connections[::2]),
            "server": connections[-1]["server"],
            "from": f"+{(begin + quarter - file['first_time']).total_seconds()}s",
            "to": f"+{(end - quarter - file['first_time']).total_seconds()}s",
        }
    keys = capture.with_name(f"{capture.name.partition('.')[0]}.keys")
    return values | ({"keys": keys.as_posix()} if keys.exists() else {})


def path_of(folder: Path, kind: str, capture: Path, command: str, suffix: str) -> Path:
    """The file of an output, named by its capture and command."""
    words = re.sub(r"\W+", "-", re.sub(r"\{(?:capture|dataset)\}", "", command)).strip("-")
    return folder / kind / capture.parent.name / f"{capture.name}.{words[:MAX_NAME_CHARACTERS]}.{suffix}"


def run(words: list[str], output: Path, values: dict[str, str]) -> None:
    """Run a command; a refusal is a result, too, which names the capture in the place of a dataset made of it."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with refusals(output, values.get("dataset"), values["capture"]):
        if words[-1] == ">":
            with output.open("w", encoding="utf-8") as file, redirect_stdout(file):
                cli.main([*words[:-1], "--quiet"], "latpcap", standalone_mode=False)
        else:
            cli.main([*words, "--quiet", "-o", output.as_posix()], "latpcap", standalone_mode=False)


def write_python(folder: Path, capture: Path) -> None:
    """Write the results of a capture that Python reads from a pipe, from bytes, and in parts."""
    folder.mkdir(parents=True, exist_ok=True)
    with capture.open("rb") as file:
        ways = {
            "pipe": (SimpleNamespace(read=file.read), {}),
            "bytes": (capture.read_bytes(), {}),
            **{f"part-{part}-of-3": (capture, {"part": (part, 3)}) for part in range(3)},
        }
        for way, (source, options) in ways.items():
            output = folder / f"{capture.name}.{way}.json"
            with refusals(output):
                result = latpcap.read(source, **options).analyze([1, 15]).to_dict()
                output.write_text(json.dumps(result, indent=1), "utf-8", newline="\n")


@contextmanager
def refusals(output: Path, dataset: str | None = None, capture: str = "") -> Iterator[None]:
    """Write a refusal's message, or which exception was a crash, beside `output`."""
    try:
        yield
    except Exception as error:
        message = str(error) if isinstance(error, LatpcapError) else f"crashed: {type(error).__name__}"
        message = message.replace(dataset, capture) if dataset else message
        output.with_name(f"{output.name}{REFUSAL}").write_text(f"{message}\n", "utf-8", newline="\n")


def unequal_datasets(folder: Path) -> Iterator[str]:
    """Outputs of datasets that differ from those of their captures."""
    captures = {path.parts[-2:]: path for path in folder.glob("*/*/*") if path.parts[-3] not in OF_DATASETS}
    datasets = [path for kind in OF_DATASETS for path in folder.glob(f"{kind}/*/*") if path.is_file()]
    for path in sorted(datasets):
        other = captures.get(path.parts[-2:])
        if other and path.read_bytes() != other.read_bytes():
            yield path.relative_to(folder).as_posix()


def lines_of(folder: Path) -> dict[tuple[str, str], str]:
    """The lines of tests/same_bytes.txt for what `folder` has, by kind and folder of fixtures."""
    return {(each.parent.name, each.name): line_of(each) for each in folder.glob("*/*")}


def line_of(folder: Path) -> str:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    names = [f"{name} {sha256(files[name].read_bytes()).hexdigest()}\n" for name in sorted(files)]
    refused = sum(name.endswith(REFUSAL) for name in files)
    return f"{len(files)} {refused} {sha256(''.join(names).encode()).hexdigest()[:16]}"


def read_lines() -> dict[tuple[str, str], str]:
    lines = [line.split(" ", 2) for line in LINES.read_text("utf-8").splitlines()] if LINES.exists() else []
    return {(kind, folder): line for kind, folder, line in lines}


def differences(expected: dict[tuple[str, str], str], found: dict[tuple[str, str], str]) -> Iterator[str]:
    for key in sorted(expected.keys() | found.keys()):
        if expected.get(key) != found.get(key):
            yield f"{' '.join(key)}: {found.get(key, 'nothing')}, expected {expected.get(key, 'nothing')}"


if __name__ == "__main__":
    sys.exit(main())
