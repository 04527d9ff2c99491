"""Every notebook runs without a network and shows what is stored of it, which names no machine and fetches nothing."""

from __future__ import annotations

import base64
import re
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from alike import alike

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
notebooks = pytest.importorskip("notebooks")

of_each = pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
ADDRESSES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
"""Names of SVG's parts: nobody fetches them."""


def texts_of(outputs: list[dict[str, Any]]) -> list[str]:
    """What they say, images as the text that they are."""
    texts = (str(text) for output in outputs for _, text in sorted(output.items()))
    return [re.sub(r"base64,([\w+/=]+)", lambda found: base64.b64decode(found[1]).decode(), text) for text in texts]


@cache
def stored(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def test_there_are_notebooks() -> None:
    assert notebooks.NOTEBOOKS


@of_each
def test_it_runs_without_a_network_and_shows_what_is_stored(path: Path) -> None:
    now = notebooks.executed(path)
    for (source, outputs), (_, told) in zip_longest(notebooks.shown(now), notebooks.shown(stored(path))):
        kinds, known = ([sorted(output) for output in each] for each in (outputs, told))
        same = kinds == known and all(map(alike, texts_of(told), texts_of(outputs)))
        assert same, f"{path.name} shows something else: python tests/notebooks.py {path.stem}\n{source}"


@of_each
def test_its_outputs_are_stored_and_name_no_machine(path: Path) -> None:
    cells = notebooks.code_cells(stored(path))
    assert all(cell.outputs for cell in cells)
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert not re.search(r"/(home|root|work|tmp|Users)/|[A-Z]:\\\\", path.read_text())


@of_each
def test_what_it_shows_needs_no_network(path: Path) -> None:
    for source, outputs in notebooks.shown(stored(path)):
        for text in texts_of(outputs):
            assert "<script" not in text, source
            assert set(re.findall(r"""https?://[^\s"'<>]+""", text)) <= ADDRESSES, source


def test_each_chart_is_stored_as_an_image() -> None:
    kinds = {
        kind for path in notebooks.NOTEBOOKS for _, outputs in notebooks.shown(stored(path)) for kind in outputs[0]
    }
    assert "image/svg+xml" in kinds
