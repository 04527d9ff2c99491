"""`latpcap scan`."""

from __future__ import annotations

from typing import Any

import click

from latpcap.cli.io import read_capture, warn
from latpcap.cli.options import PATH, scanning_options

__all__ = ["scan"]


@click.command(short_help="Read captures once, and keep what they say as a dataset.")
@scanning_options
@click.option("--force", is_flag=True, help="Replace a dataset that is there.")
@click.option("-o", "--output", required=True, type=PATH, metavar="FOLDER", help="The dataset: a new or empty folder.")
def scan(force: bool, output: str, **reading: Any) -> None:
    """Read captures once, and keep what they say as a dataset of Parquet files, a folder for each day and server.

    Every command that takes a CAPTURE takes the dataset, with the same result and without the captures; DuckDB,
    Polars and pandas read the files. There is all of the dataset or nothing.

    \b
    latpcap scan 'ring/*.pcapng' -o nightly/
    latpcap analyze nightly/ --server 10.0.0.5:3306
    latpcap sql nightly/ "from statements order by network_s desc limit 5"
    """
    from latpcap.tables.dataset import manifest
    from latpcap.tables.dataset.writing import check_place

    check_place(output, force=force)
    capture = read_capture({"think": 1000.0, "rtt_baseline": None, **reading}, None)
    warn(capture, reading["quiet"])
    capture.save(output, force=force)
    if not reading["quiet"]:
        click.echo(f"latpcap: {output}: {manifest.of_folder(output).text}", err=True)
