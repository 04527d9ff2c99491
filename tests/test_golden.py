"""Every fixture says today what a person has read once: a change shows as a difference to look at."""

from __future__ import annotations

import golden
import pytest

import latpcap

FIXTURES = golden.fixtures()


@pytest.mark.parametrize("name", FIXTURES)
def test_a_fixture_says_what_its_golden_file_says(name: str) -> None:
    assert golden.golden(latpcap.read(FIXTURES[name])) == golden.path_of(name).read_text()
