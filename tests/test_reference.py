"""What pages say of codes, statuses and measured runs is what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest
import reference

from latpcap.measures.health_codes import ADVICE
from latpcap.measures.health_rules import RULES


@pytest.mark.parametrize("path", reference.PAGES, ids=lambda path: path.stem)
def test_the_tables_of_a_page_are_made_of_the_code(path: Path) -> None:
    """After a change of the code: `python tests/reference.py`."""
    assert path.read_text("utf-8") == reference.page(path)


def test_each_table_stands_in_one_page() -> None:
    text = "".join(path.read_text("utf-8") for path in reference.PAGES)
    assert {name: text.count(f"<!-- made of code: {name} -->") for name in reference.TABLES} == dict.fromkeys(
        reference.TABLES, 1
    )


def test_each_health_note_has_its_rule_and_stands_in_one_table() -> None:
    assert RULES.keys() == ADVICE.keys()
    notes = (make() for name, make in reference.TABLES.items() if name.startswith("health notes"))
    codes = [line.split("`")[1] for rows in notes for line in rows.splitlines()[2:]]
    assert sorted(codes) == sorted(RULES)
