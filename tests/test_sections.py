"""A recording that is cut while it grows: the sections together are the whole."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from builder import Conn, Ex, build
from conftest import load_fixture

from latpcap.capture import Capture
from latpcap.live.recorder import Recorded
from latpcap.live.sections import SectionContents, Sections, _of
from latpcap.pytest_round_trips import _too_many

SQL = "select salary, from_date from salaries where emp_no = ?"
LATE = 7
"""Bytes of the last packet that are not in the file yet when a section is cut."""


class Growing:
    """A recorder whose file the test writes."""

    def __init__(self, path: Path) -> None:
        self.path, self.where = path, "a test"

    def start(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def stop(self, *, at_once: bool = False) -> Recorded:
        return Recorded((self.path,), self.where)


def blocks(data: bytes) -> list[int]:
    """Where the packets of a pcapng end; its head comes first."""
    at, ends = 0, []
    while at < len(data):
        kind, length = struct.unpack_from("=II", data, at)
        ends += [at] if kind == 6 and not ends else []
        at += length
        ends += [at] if kind == 6 else []
    return ends


def records(data: bytes) -> list[int]:
    """The same of a pcap."""
    ends = [24]
    while ends[-1] < len(data):
        ends.append(ends[-1] + 16 + struct.unpack_from("=I", data, ends[-1] + 8)[0])
    return ends


@pytest.mark.parametrize(("form", "ends_of"), [("pcapng", blocks), ("nsecpcap", records)])
def test_sections_of_whole_exchanges_hold_what_the_recording_holds(
    tmp_path: Path, form: str, ends_of: Callable[[bytes], list[int]]
) -> None:
    whole = tmp_path / "whole"
    subprocess.run(["editcap", "-F", form, load_fixture("mysql/nplus1-300-client").path, whole], check=True)
    data = whole.read_bytes()
    ends = ends_of(data)
    recorder = Growing(tmp_path / "growing")
    recorder.path.write_bytes(data[: ends[0]])
    sections = Sections(recorder)
    counts = [sections.cut()]
    for end in [*ends[20::80], len(data)]:
        recorder.path.write_bytes(data[: end if end == len(data) else end - LATE])
        counts.append(sections.cut())
    assert counts[0] == SectionContents()
    assert sum(each.round_trips for each in counts) == 303
    assert sum(ran.executions for each in counts for ran in each.statements if ran.text == SQL) == 300
    assert all(each.loops == (SQL,) for each in counts[2:-1])


@pytest.mark.parametrize("repeats", [0, 3])
def test_a_loop_goes_on_behind_a_pause_of_its_client(tmp_path: Path, repeats: int) -> None:
    whole = tmp_path / "whole"
    subprocess.run(["editcap", "-F", "nsecpcap", load_fixture("mysql/nplus1-300-client").path, whole], check=True)
    data = bytearray(whole.read_bytes())
    packets = list(pairwise(records(bytes(data))))
    begin = [at for at, end in packets if b"from salaries" in data[at:end].lower()][repeats]
    for at, _ in packets:
        if at >= begin:
            struct.pack_into("=I", data, at, struct.unpack_from("=I", data, at)[0] + 30)
    data = data.replace(b"\1\1\x08\x0a", b"\1\1\xfd\x0a")  # TCP timestamps would tell that a clock was set
    recorder = Growing(tmp_path / "growing")
    recorder.path.write_bytes(data)
    found = Sections(recorder).cut()
    assert (found.round_trips, found.loops) == (303, (SQL,))


def test_looking_at_a_section_does_not_end_it(tmp_path: Path) -> None:
    recorder = Growing(load_fixture("mysql/nplus1-300-client").path)
    sections = Sections(recorder)
    assert sections.so_far() == sections.so_far() == sections.cut()
    assert sections.so_far() == SectionContents()


# --- places in the code -----------------------------------------------------------------------------------------------


def tagged(row: int, tags: str | None) -> Ex:
    return Ex(sql="select * from children where parent = ?", rows=2, parameters=row + 1, tags=tags)


def test_file_and_line_that_comments_name_stand_beside_the_statement_and_its_loop() -> None:
    parents = Ex(sql="select id from parents", rows=40)
    here, there = "file='shop/views.py',line='12'", "file='shop/tasks.py',line='7'"
    asked = [tagged(row, there if row % 4 == 0 else here) for row in range(40)]
    found = _of(Capture(build([Conn(exchanges=[parents, *asked])])))
    [children] = [each for each in found.statements if "children" in each.text]
    assert children.sites == ("shop/views.py:12", "shop/tasks.py:7")
    assert found.loops == (children.text,)
    told = _too_many(found, 5)
    at = "at shop/views.py:12, shop/tasks.py:7"
    assert f"40 × {children.text} {at}" in told
    assert f"N+1, once for each row of another statement: {children.text} {at}" in told


def test_without_comments_no_place_is_named() -> None:
    found = _of(Capture(build([Conn(exchanges=[tagged(row, None) for row in range(9)])])))
    assert [each.sites for each in found.statements] == [()]
    assert "= ? at " not in _too_many(found, 5)
