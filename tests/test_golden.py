"""Every fixture says today what a person has read once: a change shows as a difference to look at."""

from __future__ import annotations

import golden
import pytest


@pytest.mark.parametrize("name", golden.fixtures())
def test_a_fixture_says_what_its_golden_file_says(name: str) -> None:
    difference = golden.difference(golden.path_of(name).read_text("utf-8"), golden.golden(name))
    assert not difference, f"is it meant? Then: python tests/golden.py {name}\n{difference}"


def test_a_computed_number_has_a_tolerance_and_a_counted_one_has_none() -> None:
    assert golden.difference("a 10.0000 7\nb\n", "a 10.0090 7\nb\n") == ""
    assert "+a 10.0110 7" in golden.difference("a 10.0000 7\nb\n", "a 10.0110 7\nb\n")
    assert "+a 10.0000 8" in golden.difference("a 10.0000 7\nb\n", "a 10.0000 8\nb\n")
    assert "-b" in golden.difference("a 10.0000 7\nb\n", "a 10.0000 7\n")


@pytest.mark.parametrize("names", [[], ["--all"], ["mysql"], ["mysql/no-such-fixture"]])
def test_a_golden_file_is_written_by_its_name_only(names: list[str]) -> None:
    with pytest.raises(SystemExit, match="fixture"):
        golden.main(names)
