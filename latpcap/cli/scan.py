"""`latpcap scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from latpcap.cli.shared.command import command
from latpcap.cli.shared.files import OUTPUT_FOLDER
from latpcap.cli.shared.io import teller, warn, warn_of, write
from latpcap.cli.shared.options import DURATION, RTT_LIST, Choice, flat, gathered, scanning_options
from latpcap.cli.shared.status import INTERRUPTED_STATUS
from latpcap.errors import NoDatabaseTraffic, UsageError
from latpcap.units import MIN_MEMORY_BYTES

if TYPE_CHECKING:
    from latpcap.cli.shared.request import Request
    from latpcap.scan import ScanOptions
    from latpcap.tables.columnar.table import Table
    from latpcap.work.engine import Engine

ENGINES = ("threads", "processes", "dask", "ray")

T = TypeVar("T")


class PartsRequest(Struct, frozen=True):
    """The options of a scan's parts, and who computes them."""

    rtt_ms: list[float] | None
    think_s: float
    workers: int | None
    parts: int | None
    engine: str | None
    scheduler: str | None

    @property
    def is_asked_for(self) -> bool:
        """Whether there are to be parts where they are not needed."""
        return any((self.workers, self.parts, self.engine, self.scheduler))


def _parting(rtt: tuple[list[float], ...], think: float, **given: Any) -> PartsRequest:
    return PartsRequest(rtt_ms=flat(rtt), think_s=think / 1000, **given)


@command(short_help="Read captures once: store them as a dataset, or analyse them in parts.")
@scanning_options
@click.option("--force", is_flag=True, help="Replace an existing dataset.")
@click.option(
    "-o", "--output", type=OUTPUT_FOLDER, metavar="FOLDER", help="Store a dataset in this new or empty folder."
)
@click.option(
    "--totals", is_flag=True, help="Analyse the captures in parts instead, and print their totals as one JSON object."
)
@gathered(
    "parting",
    _parting,
    click.option(
        "--rtt",
        type=RTT_LIST,
        multiple=True,
        metavar="LIST",
        help="With --totals, the RTTs to project onto; by default 1, 5, 15 and 50 ms; repeatable.",
    ),
    click.option(
        "--think",
        type=DURATION,
        default="1s",
        metavar="DURATION",
        show_default=True,
        help="With --totals, client time above this is think time.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        metavar="N",
        help="Number of workers, by default with --totals one for each processor. Workers of this machine share "
        "--memory; each worker of a --scheduler has all of it.",
    ),
    click.option(
        "--parts",
        type=click.IntRange(1),
        metavar="N",
        help="Number of parts, by default one for each worker; each part reads all files.",
    ),
    click.option(
        "--engine",
        type=Choice(ENGINES),
        help="What computes the parts, by default threads; if a process dies, its part is computed again.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="With --engine dask or ray, the address of a running cluster (tcp://host:8786, host:6379); by default "
        "--workers of this machine.",
    ),
)
def scan(request: Request, force: bool, output: str | None, totals: bool, parting: PartsRequest) -> None:
    """Read captures once and store them as a dataset of Parquet files, one folder for each day and server.

    Every command that takes a CAPTURE takes the dataset, too, with the same result; DuckDB, Polars and pandas read
    the files. A dataset is written as a whole or not at all.

    With --totals, several workers analyse the captures in parts, and one result is printed: totals, and an entry for
    each pair of client and server host and for each statement. The result does not depend on the number of parts. With
    --workers, --parts or --engine, a dataset is written in parts, too, which takes less memory.

    \b
    latpcap scan 'ring/*.pcapng' -o nightly/
    latpcap scan 'ring/*.pcapng' -o nightly/ --workers 4 --parts 16 --engine processes
    latpcap analyze nightly/ --server 10.0.0.5:3306
    latpcap sql nightly/ "from statements order by network_s desc limit 5"
    latpcap scan 'ring/*.pcapng' --totals --workers 4 > scan.json
    """  # fmt: skip
    from latpcap.tables.dataset.writing import check_free

    if totals == (output is not None):
        raise UsageError("ask for one of them: a dataset (-o FOLDER), or the analysis of all parts (--totals)")
    if output is None:
        _analyse(request, parting)
        return
    if parting.rtt_ms:
        raise UsageError("--rtt is for --totals: a dataset is asked for RTTs later")
    check_free(output, force=force)
    if parting.is_asked_for:
        _keep_in_parts(output, force, request, parting)
    else:
        _keep(output, force, request)


def _keep(output: str, force: bool, request: Request) -> None:
    capture = request.read(may_stop=False, hashes=True)
    warn(capture, request.quiet)
    capture.save(output, force=force)
    _tell_what_it_is(output, request.quiet)


def _keep_in_parts(output: str, force: bool, request: Request, parting: PartsRequest) -> None:
    from latpcap.measures.health import core_notes
    from latpcap.reading import read
    from latpcap.result.tables import health_table
    from latpcap.work.dataset_parts import saved

    if request.reading.pseudonymise:
        raise UsageError(
            "parts cannot agree on pseudonyms: scan without --pseudonymise, then scan that dataset with it, in one part"
        )
    work = _Work(request, parting)
    work.done(saved, output, force=force)
    warn_of(health_table(core_notes(read(output).recording)), request.quiet)
    _tell_what_it_is(output, request.quiet)


def _analyse(request: Request, parting: PartsRequest) -> None:
    from latpcap.work.scanning import scanned

    if request.reading.pseudonymise:
        raise UsageError("--pseudonymise is for -o FOLDER: scan the dataset that it makes with --totals")
    found = _Work(request, parting).done(scanned)
    if not len(found.groups):
        raise NoDatabaseTraffic(f"{_told_files(found.captures)}: no database traffic; `latpcap analyze` says why")
    warn_of(found.health, request.quiet)
    write([found.json()], None)


def _told_files(captures: Table) -> str:
    return str(captures.column("path")[0]) if len(captures) == 1 else f"{len(captures):,} files"


class _Work:
    """The work done in parts, and by whom."""

    def __init__(self, request: Request, parting: PartsRequest) -> None:
        from latpcap.work.local import processors
        from latpcap.work.parts import files_of, named_by

        if parting.scheduler is not None and parting.engine not in ("dask", "ray"):
            raise UsageError("--scheduler is that of Dask or Ray: say --engine dask or ray, too")
        if "-" in request.captures or "-" in request.reading.keylog:
            raise UsageError("standard input can be read only once, and each part reads all files: name files")
        is_here = parting.scheduler is None
        most = min(processors(), max(1, request.reading.memory // MIN_MEMORY_BYTES)) if is_here else processors()
        at_once = parting.workers or min(parting.parts or most, most)
        self.parts = parting.parts or at_once
        self.asked = _asked(request, parting, at_once, at_once if is_here else 1)
        self.engine = _engine(parting.engine or "threads", at_once, parting.scheduler)
        self.files = named_by(request.captures) if is_here else files_of(request.captures, self.engine)
        self.quiet = request.quiet

    def done(self, work: Callable[..., T], *more: Any, **named: Any) -> T:
        """Run `work` for all parts."""
        try:
            return work(self.files, self.asked, self.engine, self.parts, *more, tell=teller(self.quiet), **named)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED_STATUS) from None


def _tell_what_it_is(output: str, quiet: bool) -> None:
    from latpcap.tables.dataset import manifest

    if not quiet:
        click.echo(f"latpcap: {output}: {manifest.of_folder(output).text}", err=True)


def _asked(request: Request, parting: PartsRequest, at_once: int, sharing: int) -> ScanOptions:
    """Return each worker's options, so that those of one machine together keep to --memory and --disk."""
    from latpcap.scan import RTTS_MS, ScanOptions
    from latpcap.work.local import processors

    reading = request.reading
    if sharing > 1 and reading.memory < sharing * MIN_MEMORY_BYTES:
        raise UsageError(
            f"--memory is shared by {sharing} workers, and each needs {MIN_MEMORY_BYTES // 1_000_000} MB: "
            "give more, or name fewer --workers"
        )
    return ScanOptions(
        rtt_ms=tuple(parting.rtt_ms or RTTS_MS),
        think_s=parting.think_s,
        show_literals=reading.show_literals,
        decode_as=tuple(reading.decode_as.items()),
        keylog=tuple(reading.keylog),
        memory=reading.memory // sharing,
        disk=reading.disk // sharing,
        temp_folder=reading.temp_folder,
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
