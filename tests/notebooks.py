"""Notebooks run from their first cell to their last, without a network, and what they show.

python tests/notebooks.py [NAME…]      writes the stored outputs anew; look at the difference before you commit it
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from copy import deepcopy
from itertools import groupby
from pathlib import Path
from typing import Any

import nbclient
import nbformat

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))

OFFLINE = """
import socket

def _refused(*where):
    raise OSError(f"a notebook asked the network for {where[-1]}")

_connect = socket.socket.connect
socket.socket.connect = lambda it, where: _connect(it, where) if it.family == socket.AF_UNIX else _refused(where)
socket.getaddrinfo = _refused
"""
"""The kernel itself listens, and connects to nobody."""


def executed(path: Path) -> Any:
    """The notebook as it is after it has run, with outputs as they are stored."""
    notebook = nbformat.read(path, as_version=4)
    metadata = deepcopy(notebook.metadata)
    first = nbformat.v4.new_code_cell(OFFLINE)
    notebook.cells.insert(0, first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Jupyter's own
        folder = {"metadata": {"path": str(path.parent)}}
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=folder).execute()
    notebook.cells.remove(first)
    notebook.metadata = metadata  # without the version of this Python
    for number, cell in enumerate(code_cells(notebook), 1):
        cell.execution_count = number
        cell.metadata.pop("execution", None)  # when it ran
        cell.outputs = list(_joined(cell.outputs))
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    return notebook


def code_cells(notebook: Any) -> list[Any]:
    """Those that have outputs."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _joined(outputs: list[Any]) -> Iterator[Any]:
    """A stream whole, in however many pieces it came."""
    for (kind, _), pieces in groupby(outputs, lambda output: (output.output_type, output.get("name"))):
        if kind != "stream":
            yield from pieces
            continue
        first, *others = pieces
        first.text += "".join(piece.text for piece in others)
        yield first


def shown(notebook: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Each cell with what it shows."""
    for cell in code_cells(notebook):
        yield cell.source, [dict(output.get("data") or {"stream": output.text}) for output in cell.outputs]


if __name__ == "__main__":
    for path in NOTEBOOKS:
        if path.stem in sys.argv[1:] or not sys.argv[1:]:
            nbformat.write(executed(path), path)
