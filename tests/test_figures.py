"""Figures are written alike in every report: three significant digits, one function for each kind."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import latpcap
from latpcap.units import format_given_ms, format_ms, format_s, percent, significant

FORMAT_JS = Path(latpcap.__file__).parent / "report" / "assets" / "format.js"
VALUES = (0, 0.00001, 0.0004, 0.0321, 0.0421, 0.05, 0.364, 0.5, 9.996, 15, 99.96, 152.85, 1500, 7890.1, 200_000)
CHOSEN = (0, 0.05, 0.5, 1.25, 15, 1500)
WRITERS = {
    "significant": (significant, VALUES),
    "formatMs": (format_ms, VALUES),
    "formatGivenMs": (format_given_ms, CHOSEN),
    "formatS": (format_s, VALUES),
    "percent": (percent, [value for value in VALUES if value <= 1]),
}


@pytest.mark.skipif(shutil.which("node") is None, reason="not installed: node")
def test_the_page_writes_figures_as_the_terminal_does(tmp_path: Path) -> None:
    (tmp_path / "format.mjs").write_text(FORMAT_JS.read_text())
    asked = ", ".join(
        f"{name}: {json.dumps(values)}.map((value) => format.{name}(value))" for name, (_, values) in WRITERS.items()
    )
    script = f'import * as format from "./format.mjs"; console.log(JSON.stringify({{{asked}}}));'
    (tmp_path / "ask.mjs").write_text(script)
    told = json.loads(subprocess.run(["node", "ask.mjs"], cwd=tmp_path, capture_output=True, check=True).stdout)
    for name, (write, values) in WRITERS.items():
        assert told[name] == [write(value) for value in values]


def test_trailing_zeros_are_kept_where_they_were_measured() -> None:
    assert [format_ms(15), format_s(15), format_ms(0.5)] == ["15.0 ms", "15.0 s", "0.500 ms"]


def test_an_rtt_that_was_chosen_stays_as_it_was_written() -> None:
    assert [format_given_ms(15), format_given_ms(0.5), format_given_ms(1.25)] == ["15 ms", "0.5 ms", "1.25 ms"]


def test_rounding_up_keeps_three_digits() -> None:
    assert [significant(9.996), significant(99.96), significant(999.6)] == ["10.0", "100", "1,000"]
