"""What several files say together: whose frame it is, what is wrong; and what --decode-as must not say of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import load_fixture

import latpcap


def duplicates(*names: str) -> str:
    notes = latpcap.read([load_fixture(name).path for name in names]).health.to_dicts()
    [note] = [each for each in notes if each["code"] == "duplicate-packets"]
    return str(note["message"])


def test_a_note_names_the_frame_of_its_file() -> None:
    alone, both = duplicates("mysql/doubled"), duplicates("mysql/churn-20", "mysql/doubled")
    assert alone.endswith(")")
    assert both == f"{alone[:-1]} of doubled.pcapng.zst)"


@pytest.mark.parametrize(("name", "said"), [("mysql/churn-20", "mysql"), ("clients/node-pg", "postgresql")])
def test_decode_as_that_contradicts_what_a_connection_begins_with_is_refused(name: str, said: str) -> None:
    port = 3306 if said == "mysql" else 5432
    with pytest.raises(latpcap.UsageError, match=f"{port}=firebird contradicts the capture: .* of {said}"):
        latpcap.read(load_fixture(name).path, decode_as={port: "firebird"})
    assert len(latpcap.read(load_fixture(name).path, decode_as={port: said}).connections)
    assert len(latpcap.read(load_fixture(name).path, decode_as={port: "opaque"}).connections)


def test_where_no_beginning_was_captured_decode_as_is_obeyed() -> None:
    forced = latpcap.read(load_fixture("mysql/mid-prepared").path, decode_as={3306: "postgresql"})
    assert set(forced.connections.column("protocol")) == {"postgresql"}


def test_what_is_wrong_with_many_files_is_told_once(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.pcapng" for number in range(5)]
    for file in files:
        file.write_bytes(bytes(300))
    files[0].write_bytes(load_fixture("mysql/churn-20").path.read_bytes()[:300])
    with pytest.raises(latpcap.NoDatabaseTraffic) as error:
        latpcap.read(files).analyze()
    assert str(error.value).count("is not a capture file but all zeros") == 1
    assert "; 1.pcapng: is not a capture file but all zeros" in str(error.value)
    assert str(error.value).endswith("(and in 3 more)")


def test_files_that_do_not_adjoin_are_told_and_rates_are_of_what_was_recorded() -> None:
    paths = [load_fixture(name).path for name in ("mysql/churn-20", "mysql/nplus1-300-loss2")]
    alone = [latpcap.read(path).analyze() for path in paths]
    both = latpcap.read(paths).analyze()
    [note] = [note for note in both.health if note.code == "files-apart"]
    assert note.message.startswith("gaps between files: nothing was recorded for 165 s between nplus1-300-loss2.pcapng")
    recorded_s = sum(each.summary.runtime_s for each in alone)
    assert both.summary.runtime_s > 165
    assert both.chattiness.recorded_s == pytest.approx(recorded_s, abs=0.01)
    assert both.chattiness.round_trips_per_s == pytest.approx(both.summary.round_trips / recorded_s, rel=0.01)
    assert both.projection.now is not None
    assert both.projection.now.throughput_per_s == pytest.approx(341 / recorded_s, rel=0.01)
    assert not [note for each in alone for note in each.health if note.code == "files-apart"]
