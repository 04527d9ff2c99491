"""What a report says of itself: of which packets it is, made by what, and nothing that nobody asked for."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import analysed, load_fixture, read_fixture

import latpcap
from latpcap import Progress
from latpcap.errors import UsageError
from latpcap.result.captures import Contents
from latpcap.result.signoff import PROGRAM
from latpcap.tables.dataset import writing

Run = Callable[..., subprocess.CompletedProcess[bytes]]
NPLUS1 = "mysql/nplus1-300-client"
HEAD = "1 connection, MariaDB "
SIZE = "2026-11-21 08:36:22 UTC · 619 packets · 1 database connection · 305 exchanges · runtime 0.393 s"
HOSTILE = "<script>alert(1)</script> | `a` \x1b[31m\N{RIGHT-TO-LEFT OVERRIDE} **b** [c](http://d.example)"


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """A capture in a folder whose name nobody else is to read."""
    folder = tmp_path / "secret-customer" / "2026"
    folder.mkdir(parents=True)
    return Path(shutil.copy(load_fixture(NPLUS1).path, folder / "night.pcapng"))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_result_names_its_files_by_what_they_hold(far: Path) -> None:
    result = latpcap.read(far).analyze()
    [file] = result.captures
    assert (file.path, file.size_bytes, file.sha256) == ("night.pcapng", far.stat().st_size, sha256(far))
    told = result.to_dict()
    assert told["captures"][0]["sha256"] == sha256(far)
    assert told["sign_off"]["program"] == PROGRAM == f"latpcap {latpcap.__version__}"
    assert told["sign_off"]["captured"] == told["captures"][0]["first_time"][:10]


def test_what_passes_once_is_hashed_as_it_passes(process: Run, far: Path) -> None:
    done = process("analyze", "-", "--json", input=far.read_bytes())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["captures"][0]["sha256"] == sha256(far)


def test_a_file_may_be_hashed_while_it_is_read(far: Path) -> None:
    [file] = latpcap.read(far, progress=latpcap.Progress(hashes=True)).files
    assert (file.sha256, file.size_bytes) == (sha256(far), far.stat().st_size)


@pytest.mark.parametrize(
    "arguments",
    [
        "analyze F --json",
        "analyze F --ci OUT/r.sarif",
        "analyze F -o OUT/r.md",
        "compare F F --json",
        "compare F F --ci OUT/r.sarif",
        "compare F F --projected --json",
        "findings F --json",
        "findings F --ci OUT/r.sarif",
        "project F --json",
        "project F --ci OUT/r.sarif",
        "report F -o OUT/r.html",
        "scan F -o OUT/dataset",
        "statements F --json --ci OUT/r.sarif",
        "table captures F --json",
    ],
)
def test_a_command_that_names_hashes_has_them_found_while_it_reads(
    latpcap: Run, far: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    """Else a file that does not fit in memory comes from the disk twice."""
    found_meanwhile: list[bool] = []
    asked: list[object] = []
    read, saved = Contents.__init__, writing._captures

    def progress(*, hashes: bool) -> Progress:
        found_meanwhile.append(hashes)
        return Progress(hashes=hashes)

    def contents(of: Contents, each: Any) -> None:
        def told() -> Any:
            asked.append(of)
            return each()

        read(of, told)

    def captures(of: Any) -> Any:
        asked.append(of)
        return saved(of)

    monkeypatch.setattr("latpcap.cli.shared.progress.Progress", progress)
    monkeypatch.setattr(Contents, "__init__", contents)
    monkeypatch.setattr(writing, "_captures", captures)
    given = [str(far) if word == "F" else word.replace("OUT", str(tmp_path)) for word in arguments.split()]
    done = latpcap(*given, "--quiet")
    assert done.returncode == 0, done.stderr
    assert all(found_meanwhile) == bool(asked)


@pytest.mark.parametrize("hashes", [False, True])
def test_a_file_that_has_changed_since_is_not_hashed(far: Path, hashes: bool) -> None:
    capture = latpcap.read(far, progress=latpcap.Progress(hashes=hashes))
    with far.open("ab") as file:
        file.write(b"more")
    [file] = capture.analyze().captures
    assert (file.sha256, file.size_bytes) == (None, None)


def test_packets_are_decoded_or_of_others_or_skipped() -> None:
    packets = analysed(NPLUS1).sign_off.packets
    [connection] = read_fixture(NPLUS1).connections.to_dicts()
    assert packets.decoded == connection["tcp_client_packets"] + connection["tcp_server_packets"]
    assert packets.read == packets.decoded + packets.other_tcp + packets.skipped
    assert read_fixture(NPLUS1).select(end="+100ms").analyze().sign_off.packets == packets


def test_the_accuracy_is_that_of_its_class_of_work_and_of_an_rtt_alone() -> None:
    capture = read_fixture(NPLUS1)
    accuracy = capture.analyze().sign_off.accuracy
    assert accuracy.work == "stop and wait"
    assert accuracy.longer is not None
    assert accuracy.longer.pairs > 0
    moved = capture.analyze(move={":3306": 15.0}).sign_off
    assert (moved.accuracy.longer, moved.accuracy.shorter) == (None, None)
    assert any("3306 at 15 ms" in each for each in moved.assumptions)


@pytest.mark.parametrize("suffix", ["html", "md", "json", "txt"])
def test_what_a_report_is_given_to_say_stands_in_it_and_else_no_date_of_its_own(
    latpcap: Run, far: Path, tmp_path: Path, suffix: str
) -> None:
    plain, given = tmp_path / f"plain.{suffix}", tmp_path / f"given.{suffix}"
    options = ("--title", "Night job", "--customer", "ACME", "--note", "One.", "--note", "Two.", "--date", "2031-05-06")
    assert latpcap("analyze", far, "-o", plain).returncode == 0
    assert latpcap("report", far, *options, "-o", given).returncode == 0
    told = given.read_text()
    assert all(word in told for word in ("Night job", "ACME", "One.", "Two.", "2031-05-06", sha256(far), PROGRAM))
    assert "2031-05" not in plain.read_text()
    assert not any(
        folder in text for text in (told, plain.read_text()) for folder in ("secret-customer", str(tmp_path))
    )


def test_a_hostile_title_stays_text(latpcap: Run, far: Path, tmp_path: Path) -> None:
    for suffix in ("html", "md", "txt"):
        output = tmp_path / f"r.{suffix}"
        assert latpcap("report", far, "--title", HOSTILE, "--note", HOSTILE, "-o", output).returncode == 0
        told = output.read_text()
        assert "\x1b" not in told
        if suffix != "txt":
            assert "<script>alert" not in told
    assert "](http" not in (tmp_path / "r.md").read_text().replace("&#91;c](`http", "")


def test_a_date_is_today_or_a_day(latpcap: Run, far: Path, tmp_path: Path) -> None:
    done = latpcap("report", far, "--date", "tomorrow", "-o", tmp_path / "r.md")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"`tomorrow` is not a date: today, or for instance 2026-11-22" in done.stderr
    with pytest.raises(UsageError, match="is not a date"):
        read_fixture(NPLUS1).report(tmp_path / "r.md", date="22.11.2026")
    read_fixture(NPLUS1).report(tmp_path / "r.md", title="T", note="N", date="2026-11-22")
    assert (tmp_path / "r.md").read_text().startswith(f"# T\n\n2026-11-22\n\nN\n\n{SIZE}\n\n**{HEAD}")


def test_what_is_empty_is_not_said(tmp_path: Path) -> None:
    read_fixture(NPLUS1).report(tmp_path / "r.md", title="", customer="", note=["", ""])
    assert (tmp_path / "r.md").read_text().startswith(f"# nplus1-300-client.pcapng\n\n{SIZE}\n\n**{HEAD}")
    read_fixture(NPLUS1).report(tmp_path / "r.md", note="N")
    assert (tmp_path / "r.md").read_text().startswith(f"# nplus1-300-client.pcapng\n\nN\n\n{SIZE}\n\n**{HEAD}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("analyze", "--json"),
        ("project", "--json"),
        ("table captures", "--json"),
        ("table health", "--json"),
        ("wireshark --verify", "--json"),
        ("sql", "select * from captures", "--json"),
    ],
)
def test_no_output_names_a_folder(latpcap: Run, far: Path, arguments: tuple[str, ...]) -> None:
    name, *options = arguments
    damaged = far.with_name("cut.pcapng")
    damaged.write_bytes(far.read_bytes()[:-100])
    given = (far, damaged) if name != "sql" else (far,)
    told = latpcap(name, *given, *options).stdout
    assert b"night.pcapng" in told or name == "table health"
    assert b"cut.pcapng" in told or name in ("sql", "project")
    assert b"secret-customer" not in told


def test_pairs_name_both_sides(latpcap: Run, far: Path) -> None:
    for command, sides in (("compare", ("before", "after")), ("compare --projected", ("base", "other"))):
        told = json.loads(latpcap(command, far, far, "--json").stdout)
        assert [told[f"captures_{side}"][0]["sha256"] for side in sides] == [sha256(far)] * 2
        assert told["program"] == PROGRAM


def test_files_of_one_name_keep_what_tells_them_apart(far: Path) -> None:
    other = far.parent.parent / "2027" / far.name
    other.parent.mkdir()
    shutil.copy(far, other)
    assert [file.path for file in latpcap.read([far, other]).files] == ["2026/night.pcapng", "2027/night.pcapng"]
