"""`latpcap scan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from latpcap.cli.io import INTERRUPTED, flat, read_capture, warn, write
from latpcap.cli.options import PATH, Duration, RttList, json_option, scanning_options
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.scan import Asked
    from latpcap.work.engine import Engine

__all__ = ["scan"]

ENGINES = ("threads", "processes", "dask")


@click.command(short_help="Read captures once: keep what they say as a dataset, or analyse them in parts.")
@scanning_options
@click.option("--force", is_flag=True, help="Replace a dataset that is there.")
@click.option("-o", "--output", type=PATH, metavar="FOLDER", help="Keep a dataset: a new or empty folder.")
@json_option
@click.option(
    "--rtt",
    type=RttList(),
    multiple=True,
    metavar="LIST",
    help="With --json, the RTTs to project onto; by default 1, 5, 15 and 50 ms; repeatable.",
)
@click.option(
    "--think",
    type=Duration(),
    default="1s",
    metavar="DURATION",
    show_default=True,
    help="With --json, client time above this is think time.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    help="With --json, so many compute at once, each with --memory; by default as many as there are processors.",
)
@click.option(
    "--parts",
    type=click.IntRange(1),
    metavar="N",
    help="With --json, divide the work by N, by default a part for each worker; each reads all files.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="threads",
    show_default=True,
    help="With --json, who computes the parts; where a process dies, another one does its part again.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="With --engine dask, whose workers are asked (tcp://host:8786); by default --workers of this machine.",
)
def scan(force: bool, output: str | None, as_json: bool, **asked: Any) -> None:
    """Read captures once, and keep what they say as a dataset of Parquet files, a folder for each day and server.

    Every command that takes a CAPTURE takes the dataset, with the same result and without the captures; DuckDB,
    Polars and pandas read the files. There is all of the dataset or nothing.

    With --json captures are analysed in parts by several workers, and what they found is printed together: sums, a
    line for each client host and server host, one for each statement; the same bytes however many parts there are.

    \b
    latpcap scan 'ring/*.pcapng' -o nightly/
    latpcap analyze nightly/ --server 10.0.0.5:3306
    latpcap sql nightly/ "from statements order by network_s desc limit 5"
    latpcap scan 'ring/*.pcapng' --json --workers 4 > scan.json
    """  # fmt: skip
    if as_json == (output is not None):
        raise UsageError("ask for one of them: a dataset (-o FOLDER), or the analysis of all parts (--json)")
    if output is None:
        _analyse(**asked)
    else:
        _keep(output, force, asked)


def _keep(output: str, force: bool, reading: dict[str, Any]) -> None:
    from latpcap.tables.dataset import manifest
    from latpcap.tables.dataset.writing import check_place

    given = {
        "rtt": reading["rtt"],
        "workers": reading["workers"],
        "parts": reading["parts"],
        "scheduler": reading["scheduler"],
    }
    for name, value in given.items():
        if value:
            raise UsageError(f"--{name} is for --json: a dataset is written by one reader, and asked for RTTs later")
    check_place(output, force=force)
    capture = read_capture({"rtt_baseline": None, **reading}, None)
    warn(capture, reading["quiet"])
    capture.save(output, force=force)
    if not reading["quiet"]:
        click.echo(f"latpcap: {output}: {manifest.of_folder(output).text}", err=True)


def _analyse(
    captures: tuple[str, ...],
    engine: str,
    scheduler: str | None,
    workers: int | None,
    parts: int | None,
    quiet: bool,
    **asked: Any,
) -> None:
    from latpcap.report.text import printable
    from latpcap.tables import sources
    from latpcap.work.local import processors
    from latpcap.work.scanning import scanned

    if asked["pseudonymise"]:
        raise UsageError("--pseudonymise is for -o FOLDER: scan the dataset that it makes with --json")
    if scheduler is not None and engine != "dask":
        raise UsageError("--scheduler is that of Dask: say --engine dask, too")
    files = [path for given in captures for path in sources.paths(given)]
    if "-" in files or "-" in asked["keylog"]:
        raise UsageError("standard input can be read only once, and each part reads all files: name files")
    at_once = workers or parts or processors()

    def tell(line: str) -> None:
        if not quiet:
            click.echo(f"latpcap: {printable(line)}", err=True)

    try:
        found = scanned(files, _asked(asked, at_once), _engine(engine, at_once, scheduler), parts or at_once, tell)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None
    write([found.json()], None)


def _asked(options: dict[str, Any], at_once: int) -> Asked:
    from latpcap.scan import RTTS_MS, Asked
    from latpcap.work.local import processors

    return Asked(
        rtt_ms=tuple(flat(options["rtt"]) or RTTS_MS),
        think_s=options["think"] / 1000,
        show_literals=options["show_literals"],
        decode_as=tuple(options["decode_as"]),
        keylog=tuple(options["keylog"]),
        memory=options["memory"],
        disk=options["disk"],
        temp_folder=options["temp_folder"],
        threads=max(1, processors() // at_once),
    )


def _engine(name: str, at_once: int, scheduler: str | None) -> Engine:
    from latpcap.work.local import Processes, Threads
    from latpcap.work.on_dask import Dask

    if name == "dask":
        return Dask(at_once, scheduler)
    return Threads(at_once) if name == "threads" else Processes(at_once)
