"""Every notebook runs from its first cell to its last, and what is stored of it names no machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
of_each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@of_each
@pytest.mark.filterwarnings("ignore")  # Jupyter's own
def test_it_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=folder).execute()


@of_each
def test_its_outputs_are_stored_and_name_no_machine(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert all(cell.outputs for cell in cells)
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert not re.search(r"/(home|root|work|tmp|Users)/|[A-Z]:\\\\", path.read_text())
