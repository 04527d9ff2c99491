"""`latpcap scan`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from latpcap.cli.files import OUTPUT_FOLDER
from latpcap.cli.io import INTERRUPTED, flat, read_capture, teller, warn, warn_of, write
from latpcap.cli.options import Duration, RttList, json_option, scanning_options
from latpcap.errors import NoDatabaseTraffic, UsageError
from latpcap.units import LEAST_MEMORY

if TYPE_CHECKING:
    from latpcap.scan import Asked
    from latpcap.tables.table import Table
    from latpcap.work.engine import Engine

__all__ = ["scan"]

ENGINES = ("threads", "processes", "dask", "ray")

T = TypeVar("T")


@click.command(short_help="Read captures once: keep what they say as a dataset, or analyse them in parts.")
@scanning_options
@click.option("--force", is_flag=True, help="Replace a dataset that is there.")
@click.option("-o", "--output", type=OUTPUT_FOLDER, metavar="FOLDER", help="Keep a dataset: a new or empty folder.")
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
    help="Number of workers. Those of this machine share --memory, each one of a --scheduler has all of it. By default "
    "with --json one for each processor.",
)
@click.option(
    "--parts",
    type=click.IntRange(1),
    metavar="N",
    help="Number of parts, by default one for each worker; each part reads all files.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help="What computes the parts, threads by default; if a process dies, another one does its part again.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="With --engine dask or ray, a cluster that is running (tcp://host:8786, host:6379); by default --workers of "
    "this machine.",
)
def scan(force: bool, output: str | None, as_json: bool, **given: Any) -> None:
    """Read captures once, and keep what they say as a dataset of Parquet files, a folder for each day and server.

    Every command that takes a CAPTURE takes the dataset, with the same result and without the captures; DuckDB,
    Polars and pandas read the files. A dataset is written as a whole or not at all.

    With --json, captures are analysed in parts by several workers, and one result is printed: totals, an entry for each
    client host and server host, one for each statement; the same bytes however many parts there are. With --workers,
    --parts or --engine, a dataset is written in parts, too, each with the memory that it needs itself.

    \b
    latpcap scan 'ring/*.pcapng' -o nightly/
    latpcap scan 'ring/*.pcapng' -o nightly/ --workers 4 --parts 16 --engine processes
    latpcap analyze nightly/ --server 10.0.0.5:3306
    latpcap sql nightly/ "from statements order by network_s desc limit 5"
    latpcap scan 'ring/*.pcapng' --json --workers 4 > scan.json
    """  # fmt: skip
    from latpcap.tables.dataset.writing import check_place

    if as_json == (output is not None):
        raise UsageError("ask for one of them: a dataset (-o FOLDER), or the analysis of all parts (--json)")
    if output is None:
        _analyse(given)
        return
    if given["rtt"]:
        raise UsageError("--rtt is for --json: a dataset is asked for RTTs later")
    check_place(output, force=force)
    if any(given[name] for name in ("workers", "parts", "engine", "scheduler")):
        _keep_in_parts(output, force, given)
    else:
        _keep(output, force, given)


def _keep(output: str, force: bool, reading: dict[str, Any]) -> None:
    capture = read_capture({"rtt_baseline": None, **reading}, may_stop=False)
    warn(capture, reading["quiet"])
    capture.save(output, force=force)
    _tell_what_it_is(output, reading["quiet"])


def _keep_in_parts(output: str, force: bool, given: dict[str, Any]) -> None:
    from latpcap.capture import read
    from latpcap.measures.health import core_notes
    from latpcap.result.tables import health_table
    from latpcap.work.saving import saved

    if given["pseudonymise"]:
        raise UsageError(
            "parts cannot agree on pseudonyms: scan without --pseudonymise, then scan that dataset with it, in one part"
        )
    work = _Work(given)
    work.done(saved, output, force=force)
    warn_of(health_table(core_notes(read(output).recording)), given["quiet"])
    _tell_what_it_is(output, given["quiet"])


def _analyse(given: dict[str, Any]) -> None:
    from latpcap.work.scanning import scanned

    if given["pseudonymise"]:
        raise UsageError("--pseudonymise is for -o FOLDER: scan the dataset that it makes with --json")
    found = _Work(given).done(scanned)
    if not len(found.groups):
        raise NoDatabaseTraffic(f"{_told_files(found.captures)}: no database traffic; `latpcap analyze` says why")
    warn_of(found.health, given["quiet"])
    write([found.json()], None)


def _told_files(captures: Table) -> str:
    return str(captures.column("path")[0]) if len(captures) == 1 else f"{len(captures):,} files"


class _Work:
    """What is done in parts, by whom."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        from latpcap.work.local import processors
        from latpcap.work.parts import files_of, named_by

        if given["scheduler"] is not None and given["engine"] not in ("dask", "ray"):
            raise UsageError("--scheduler is that of Dask or Ray: say --engine dask or ray, too")
        if "-" in given["captures"] or "-" in given["keylog"]:
            raise UsageError("standard input can be read only once, and each part reads all files: name files")
        is_here = given["scheduler"] is None
        most = min(processors(), max(1, given["memory"] // LEAST_MEMORY)) if is_here else processors()
        at_once = given["workers"] or min(given["parts"] or most, most)
        self.parts = given["parts"] or at_once
        self.asked = _asked(given, at_once, at_once if is_here else 1)
        self.engine = _engine(given["engine"] or "threads", at_once, given["scheduler"])
        self.files = named_by(given["captures"]) if is_here else files_of(given["captures"], self.engine)
        self.quiet = given["quiet"]

    def done(self, work: Callable[..., T], *more: Any, **named: Any) -> T:
        """What `work` gives for all parts."""
        try:
            return work(self.files, self.asked, self.engine, self.parts, *more, tell=teller(self.quiet), **named)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None


def _tell_what_it_is(output: str, quiet: bool) -> None:
    from latpcap.tables.dataset import manifest

    if not quiet:
        click.echo(f"latpcap: {output}: {manifest.of_folder(output).text}", err=True)


def _asked(options: Mapping[str, Any], at_once: int, sharing: int) -> Asked:
    """What is asked of each worker, so that those of one machine together keep no more than --memory and --disk."""
    from latpcap.scan import RTTS_MS, Asked
    from latpcap.work.local import processors

    if sharing > 1 and options["memory"] < sharing * LEAST_MEMORY:
        raise UsageError(
            f"--memory is shared by {sharing} workers, and each needs {LEAST_MEMORY // 1_000_000} MB: "
            "give more, or name fewer --workers"
        )
    return Asked(
        rtt_ms=tuple(flat(options["rtt"]) or RTTS_MS),
        think_s=options["think"] / 1000,
        show_literals=options["show_literals"],
        decode_as=tuple(options["decode_as"]),
        keylog=tuple(options["keylog"]),
        memory=options["memory"] // sharing,
        disk=options["disk"] // sharing,
        temp_folder=options["temp_folder"],
        threads=max(1, processors() // at_once),
    )


def _engine(name: str, at_once: int, scheduler: str | None) -> Engine:
    from latpcap.work.local import Processes, Threads
    from latpcap.work.on_dask import Dask
    from latpcap.work.on_ray import Ray

    if name == "ray":
        return Ray(at_once, scheduler)
    if name == "dask":
        return Dask(at_once, scheduler)
    return Threads(at_once) if name == "threads" else Processes(at_once)
