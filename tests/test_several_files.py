"""What several files say together: whose frame it is, and what one of them must not say."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import load_fixture

import latpcap


def halves(path: Path, folder: Path) -> list[Path]:
    """A pcap file in two of equal length, as a ring buffer would have written them."""
    import dpkt

    whole = list(dpkt.pcapng.Reader(path.open("rb")))
    parts = [folder / "first.pcap", folder / "second.pcap"]
    for part, packets in zip(parts, (whole[: len(whole) // 2], whole[len(whole) // 2 :]), strict=True):
        with part.open("wb") as file:
            writer = dpkt.pcap.Writer(file, nano=True)
            for time, packet in packets:
                writer.writepkt(packet, time)
    return parts


def test_a_note_names_the_frame_of_its_file(tmp_path: Path) -> None:
    """The first duplicate of the second file is a frame of the second file, whatever the first one holds."""
    parts = halves(load_fixture("mysql/churn-20").path, tmp_path)
    before = len(list(__import__("dpkt").pcap.Reader(parts[0].open("rb"))))
    content = parts[1].read_bytes()
    header, record = content[:24], content[24:]
    length = int.from_bytes(record[8:12], "little") + 16
    parts[1].write_bytes(header + record[:length] * 2 + record[length:])
    alone = latpcap.read(parts[1]).health.to_dicts()
    both = latpcap.read(parts).health.to_dicts()
    [note] = [str(each["message"]) for each in both if each["code"] == "duplicate-packets"]
    assert "(first: frame 2 of second.pcap)" in note, (note, alone, before)


@pytest.mark.parametrize("name, said", [("mysql/churn-20", "mysql"), ("clients/node-pg", "postgresql")])
def test_decode_as_that_contradicts_what_a_connection_begins_with_is_refused(name: str, said: str) -> None:
    port = 3306 if said == "mysql" else 5432
    with pytest.raises(latpcap.UsageError, match=f"{port}=firebird contradicts the capture: .* of {said}"):
        latpcap.read(load_fixture(name).path, decode_as={port: "firebird"})
    assert len(latpcap.read(load_fixture(name).path, decode_as={port: said}).connections)
    assert len(latpcap.read(load_fixture(name).path, decode_as={port: "opaque"}).connections)


def test_where_no_beginning_was_captured_decode_as_is_obeyed() -> None:
    forced = latpcap.read(load_fixture("mysql/mid-prepared").path, decode_as={3306: "postgresql"})
    assert set(forced.connections.column("protocol")) == {"postgresql"}
