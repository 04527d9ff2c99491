"""What is written: never over what is read, whole or not at all, and for nobody else where it holds secrets."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from conftest import FIXTURES

import latpcap as package
from latpcap.cli import cli
from latpcap.cli.shared.files import CI_OUTPUT, FOLDER, OUTPUT, OUTPUT_FOLDER, _Input
from latpcap.errors import UsageError
from latpcap.tables.dataset.writing import new_folder
from latpcap.tables.writing import outputs

Run = Callable[..., subprocess.CompletedProcess[bytes]]

CAPTURE = FIXTURES / "mysql/prepared-each.pcapng"
GATE = ("--fail-if", "round_trips > 5000")
COMPARED = ("--fail-if", "round_trips > baseline + 10%")
KEYS = f"CLIENT_RANDOM {'a' * 64} {'b' * 96}\n"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- never over what is read -----------------------------------------------------------------------------------------


def test_every_file_that_a_command_names_is_known_as_read_or_written() -> None:
    unknown = [
        (command.name, param.name)
        for command in cli.commands.values()
        for param in command.params
        if isinstance(param.type, click.Path)
        and not (isinstance(param.type, _Input) or param.type in (OUTPUT, CI_OUTPUT, OUTPUT_FOLDER, FOLDER))
    ]
    assert unknown == []


def read_and_write() -> set[str]:
    """The commands that read a capture and write a file; `record` reads a baseline and nothing else."""
    kinds = {str(command.name): {param.type for param in command.params} for command in cli.commands.values()}
    both = {
        name
        for name, types in kinds.items()
        if types & {OUTPUT, CI_OUTPUT} and any(isinstance(each, _Input) for each in types)
    }
    return both - {"record"}


UNUSUAL = {
    "rank": (".", "-o", "{out}"),
    "findings": ("{}", "--ci", "{out}"),
    "compare": ("{}", "{}", *GATE, "--ci", "{out}"),
    "table": ("connections", "*.pcapng", "-o", "{out}"),
    "statements": ("{}", *GATE, "--ci", "{out}"),
    "sql": ("{}", "select 1", "-o", "{out}"),
    "wireshark": ("{}", "-o", "{out}", "--force"),
    "watch": ("{}", "--report", "{out}"),
    "rehearse": ("--rtt", "1ms", "--from", "{}", *GATE, "--ci", "{out}", "--", "true"),
}
"""How some of them are asked to; the others as a command usually is."""
READS = {name: UNUSUAL.get(name, ("{}", "-o", "{out}")) for name in sorted(read_and_write())}


def test_a_command_that_is_asked_unusually_is_one() -> None:
    assert set(UNUSUAL) <= set(READS)


@pytest.mark.parametrize("way", ["same", "relative", "symlink", "hard link"])
@pytest.mark.parametrize("command", READS)
def test_no_output_is_written_over_a_capture(
    latpcap: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    capture, other = tmp_path / "x.pcapng", tmp_path / "other.pcapng"
    shutil.copy(CAPTURE, capture)
    if way == "symlink":
        other.symlink_to(capture)
    elif way == "hard link":
        other.hardlink_to(capture)
    out = {"same": str(capture), "relative": "./x.pcapng"}.get(way, str(other))
    done = latpcap(command, *(word.format(capture, out=out) for word in READS[command]))
    told = f"latpcap: {out}: is one of the captures, and a capture is never overwritten\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", told)
    assert capture.read_bytes() == CAPTURE.read_bytes()


def test_no_output_is_written_over_a_key_log_or_a_baseline(latpcap: Run, tmp_path: Path) -> None:
    keys, baseline = tmp_path / "keys.txt", tmp_path / "baseline.json"
    keys.write_text(KEYS)
    assert latpcap("analyze", CAPTURE, "-o", baseline, "--quiet").returncode == 0
    before = baseline.read_bytes()
    done = latpcap("analyze", CAPTURE, "--keylog", keys, "-o", keys)
    assert (done.returncode, keys.read_text()) == (2, KEYS)
    assert b"a key log is never overwritten" in done.stderr
    done = latpcap("analyze", CAPTURE, "--baseline", baseline, *COMPARED, "--ci", baseline)
    assert (done.returncode, baseline.read_bytes()) == (2, before)
    assert b"a baseline is never overwritten" in done.stderr


def test_standard_input_is_a_capture_like_others(process: Run, tmp_path: Path) -> None:
    capture = tmp_path / "x.csv"
    shutil.copy(CAPTURE, capture)
    with capture.open("rb") as file:
        done = process("table", "exchanges", "-", "-o", capture, stdin=file)
    assert (done.returncode, capture.read_bytes()) == (2, CAPTURE.read_bytes())


def test_no_file_of_a_dataset_that_is_read_is_overwritten(latpcap: Run, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    package.read(CAPTURE).save(saved)
    before = (saved / "dataset.json").read_bytes()
    done = latpcap("analyze", saved, "-o", saved / "dataset.json")
    assert (done.returncode, (saved / "dataset.json").read_bytes()) == (2, before)
    assert latpcap("scan", saved, "-o", saved, "--force").returncode == 2
    with pytest.raises(UsageError, match="never overwritten"):
        package.read(saved).save(saved, force=True)


def test_python_overwrites_nothing_that_it_has_read(tmp_path: Path) -> None:
    first, second, keys = tmp_path / "a.md", tmp_path / "b.md", tmp_path / "keys.md"
    for path in (first, second):
        shutil.copy(CAPTURE, path)
    keys.write_text(KEYS)
    for output in (first, keys):
        with pytest.raises(UsageError, match="never overwritten"):
            package.read(first, keylog=keys).report(output)
    with pytest.raises(UsageError, match="never overwritten"):
        package.compare(first, second, report=second)
    assert first.read_bytes() == second.read_bytes() == CAPTURE.read_bytes()


def test_an_output_is_no_other_output(latpcap: Run, tmp_path: Path) -> None:
    same = os.path.join(tmp_path, ".", "x.json")
    done = latpcap("analyze", CAPTURE, *GATE, "-o", tmp_path / "x.json", "--ci", same)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert done.stderr.endswith(b"x.json: each output needs a file of its own\n")


# --- whole or not at all ---------------------------------------------------------------------------------------------


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("old")

    def fails() -> object:
        yield "half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outputs.write(path, fails())  # type: ignore[arg-type]
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("x.txt", "old")]


def test_whoever_reads_the_old_file_goes_on_with_it(tmp_path: Path) -> None:
    path, other = tmp_path / "x.txt", tmp_path / "y.txt"
    path.write_text("old")
    other.hardlink_to(path)
    with path.open() as reader:
        outputs.write(path, ["new"])
        assert reader.read() == "old"
    assert (path.read_text(), other.read_text()) == ("new", "old")


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    path, precious = tmp_path / "x.txt", tmp_path / "precious"
    precious.write_text("mine")
    path.symlink_to(precious)
    outputs.write(path, ["new"])
    assert (path.read_text(), path.is_symlink(), precious.read_text()) == ("new", False, "mine")


def test_a_result_keeps_the_mode_of_the_one_before(tmp_path: Path) -> None:
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.touch()
    old.chmod(0o640)
    before = os.umask(0o027)
    try:
        for path in (old, new):
            outputs.write(path, ["text"])
        with outputs.written(old, private=True) as file:
            assert mode(Path(file.name)) == 0o600
    finally:
        os.umask(before)
    assert (mode(old), mode(new)) == (0o600, 0o640)


def test_pipes_and_what_the_shell_has_opened_are_written_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    command = [sys.executable, "-m", "latpcap", "table", "captures", str(CAPTURE), "--quiet", "-o"]
    with path.open("wb") as file:
        subprocess.run([*command, f"/dev/fd/{file.fileno()}"], check=True, pass_fds=[file.fileno()])
    piped = subprocess.run([*command, "/dev/stdout"], check=True, capture_output=True)
    assert path.read_bytes() == piped.stdout != b""
    assert Path("/dev/stdout").is_symlink()


def test_what_killed_processes_left_goes_with_the_next_output(tmp_path: Path) -> None:
    left, held = (tmp_path / f".latpcap-{digit * 16}.part" for digit in "ab")
    others = [tmp_path / name for name in (".latpcap-mine.part", f".latpcap-{'c' * 16}.part.txt", "notes.part")]
    link = tmp_path / f".latpcap-{'d' * 16}.part"
    for path in (left, held, *others):
        path.write_text("half")
    link.symlink_to(others[0])
    with held.open() as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        outputs.write(tmp_path / "x.txt", ["new"])
        assert [path.exists() for path in (left, held, *others, link)] == [False, True, True, True, True, True]
    outputs.write(tmp_path / "x.txt", ["new"])
    assert not held.exists()


def test_nobody_takes_a_file_for_one_that_was_left_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def meanwhile(fresh: str, path: Path) -> None:
        if Path(path).name == "one":
            outputs.write(tmp_path / "other", ["other"])
        replace(fresh, path)

    monkeypatch.setattr(outputs.os, "replace", meanwhile)
    outputs.write(tmp_path / "one", ["one"])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"one": "one", "other": "other"}


def test_outputs_of_one_folder_leave_each_other_alone(tmp_path: Path) -> None:
    with outputs.written(tmp_path / "x.txt") as first:
        outputs.write(tmp_path / "y.txt", ["y"])
        first.write(b"x")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.txt", "y.txt"]


WRITES = """
import sys, time
from latpcap.cli.shared.progress import watch
from latpcap.tables.dataset.writing import new_folder
from latpcap.tables.writing.outputs import written

def waits(progress=None):
    print("begun", flush=True)
    while progress is None or not progress.leave():
        time.sleep(0.01)
    raise RuntimeError("cancelled")

def watched(progress):
    with written(sys.argv[2]):
        waits(progress)

def a_file():
    with written(sys.argv[2]) as file:
        file.write(b"half")
        waits()

def a_folder():
    with new_folder(sys.argv[2]):
        waits()

{"file": a_file, "folder": a_folder, "watched": lambda: watch(watched)}[sys.argv[1]]()
"""


@pytest.mark.parametrize("kind", ["file", "folder", "watched"])
def test_sigterm_leaves_nothing_and_ends_as_it_does(tmp_path: Path, kind: str) -> None:
    command = [sys.executable, "-c", WRITES, kind, str(tmp_path / "made")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.terminate()
        assert process.communicate() == (b"", b"")
    assert (process.returncode, list(tmp_path.iterdir())) == (-signal.SIGTERM, [])


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_sigkill_left_goes_with_the_next_run(tmp_path: Path, kind: str) -> None:
    command = [sys.executable, "-c", WRITES, kind, str(tmp_path / "made")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    assert len(list(tmp_path.iterdir())) == 1
    if kind == "file":
        outputs.write(tmp_path / "made", ["x"])
    else:
        package.read(CAPTURE).save(tmp_path / "made")
    assert [each.name for each in tmp_path.iterdir()] == ["made"]


# --- a dataset in the place of another --------------------------------------------------------------------------------


def test_a_folder_is_no_dataset_because_a_file_is_called_so(latpcap: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "dataset.json").write_text('{"rows": 1}')
    (mine / "letter.txt").write_text("mine")
    done = latpcap("scan", CAPTURE, "-o", mine, "--force")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"--force replaces datasets only" in done.stderr
    assert sorted(each.name for each in mine.iterdir()) == ["dataset.json", "letter.txt"]


@pytest.mark.parametrize("inside", ["", "exchanges"])
@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_dataset_with_other_files_in_it_is_not_replaced(latpcap: Run, tmp_path: Path, inside: str, kind: str) -> None:
    saved, elsewhere = tmp_path / "saved", tmp_path / "elsewhere"
    package.read(CAPTURE).save(saved)
    elsewhere.mkdir()
    other = saved / inside / "other"
    if kind == "file":
        other.write_text("mine")
    else:
        other.symlink_to(elsewhere)
    done = latpcap("scan", CAPTURE, "-o", saved, "--force")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"other, which is none of the dataset's files" in done.stderr
    assert other.exists()
    other.unlink()
    assert latpcap("scan", CAPTURE, "-o", saved, "--force").returncode == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["elsewhere", "saved"]


def test_a_link_to_a_dataset_stays_one(latpcap: Run, tmp_path: Path) -> None:
    saved, link = tmp_path / "saved", tmp_path / "current"
    package.read(CAPTURE).save(saved)
    link.symlink_to(saved)
    assert latpcap("scan", CAPTURE, "-o", link, "--force").returncode == 0
    assert link.is_symlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["current", "saved"]


def test_of_hidden_folders_a_scan_removes_only_its_own(tmp_path: Path) -> None:
    others = [tmp_path / name for name in (".saved.my-notes.part", ".saved.part", ".saved.x.part")]
    for each in others:
        each.mkdir()
    (left := tmp_path / ".saved.abcd_123.part").mkdir()
    package.read(CAPTURE).save(tmp_path / "saved")
    assert [each.exists() for each in (*others, left)] == [True, True, True, False]


def test_a_dataset_that_is_being_written_is_written_by_nobody_else(latpcap: Run, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    with new_folder(saved) as making:
        done = latpcap("scan", CAPTURE, "-o", saved, "--force")
        said = f"latpcap: {saved}: another latpcap is writing it: wait for its end, or name another folder\n"
        assert (done.returncode, done.stderr.decode()) == (2, said)
        with pytest.raises(UsageError, match="another latpcap is writing it"):
            package.read(CAPTURE).save(saved)
        assert [making] == list(tmp_path.iterdir())
        assert latpcap("scan", CAPTURE, "-o", tmp_path / "other", "--quiet").returncode == 0


def test_programs_that_write_a_dataset_at_once_leave_one_that_is_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "latpcap", "scan", str(CAPTURE), "-o", str(tmp_path / "saved"), "--force"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    said = [process.communicate()[1] for process in running]
    ended = [process.returncode for process in running]
    assert 0 in ended
    assert {*ended} <= {0, 2}
    assert [text for status, text in zip(ended, said, strict=True) if status and b"another latpcap" not in text] == []
    assert [each.name for each in tmp_path.iterdir()] == ["saved"]
    assert package.read(tmp_path / "saved").exchanges.columns == package.read(CAPTURE).exchanges.columns


# --- for nobody else -------------------------------------------------------------------------------------------------


def test_a_capture_with_keys_in_it_is_its_owners_alone(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    path.touch(0o666)
    assert latpcap("wireshark", CAPTURE, "-o", path, "--embed-keys", "--force", "--quiet").returncode == 0
    assert mode(path) == 0o600


@pytest.mark.parametrize(("captures", "made"), [((0o600,), 0o600), ((0o444,), 0o644), ((0o640, 0o604), 0o600)])
def test_what_stands_for_captures_is_read_by_nobody_else(
    latpcap: Run, tmp_path: Path, captures: tuple[int, ...], made: int
) -> None:
    paths = [tmp_path / f"{number}.pcapng" for number in range(len(captures))]
    for path, bits in zip(paths, captures, strict=True):
        shutil.copy(CAPTURE, path)
        path.chmod(bits)
    before = os.umask(0o022)
    try:
        copy, saved, report = tmp_path / "copy.pcapng", tmp_path / "saved", tmp_path / "report.md"
        for _ in range(2):
            assert latpcap("wireshark", *paths, "-o", copy, "--quiet", "--force").returncode == 0
            assert mode(copy) == made
            copy.chmod(0o644)  # which is no leave to show more
        assert latpcap("scan", *paths, "-o", saved, "--quiet").returncode == 0
        assert latpcap("analyze", *paths, "-o", report, "--quiet").returncode == 0
    finally:
        os.umask(before)
    assert (mode(saved) & 0o666, mode(report)) == (made, 0o644)


def test_a_recording_follows_no_link_and_takes_over_no_mode(tmp_path: Path) -> None:
    precious, path = tmp_path / "precious", tmp_path / "x.pcapng"
    for make in (path.symlink_to, path.hardlink_to):
        precious.write_text("")
        precious.chmod(0o666)
        make(precious)
        with socket.create_server(("127.0.0.1", 0)) as server:
            route = f"0:127.0.0.1:{server.getsockname()[1]}"
            with package.record(relay=route, output=path):
                assert (mode(path), path.is_symlink()) == (0o600, False)
        assert (precious.read_text(), mode(path)) == ("", 0o600)
        path.unlink()


def test_what_cannot_be_recorded_leaves_the_recording_before(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    path.write_text("the one before")
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(package.LatpcapError):
        package.record(relay=f"{taken.getsockname()[1]}:127.0.0.2:1", output=path, force=True).__enter__()
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("x.pcapng", "the one before")]


def test_a_recording_replaces_no_file_unless_it_is_asked_to(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    shutil.copy(CAPTURE, path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        route = f"0:127.0.0.1:{server.getsockname()[1]}"
        for command in (
            ("record", "--relay", route, "-o", path, "--", "true"),
            ("watch", "--relay", route, "-o", path),
        ):
            done = latpcap(*command)
            said = f"latpcap: {path}: already exists: name another file, or remove it\n"
            assert (done.returncode, done.stderr.decode()) == (2, said)
        with pytest.raises(UsageError, match=r"x\.pcapng: already exists: name another file, or remove it"):
            package.record(relay=route, output=path)
        assert path.read_bytes() == CAPTURE.read_bytes()
        with package.record(relay=route, output=path, force=True):
            assert path.read_bytes() != CAPTURE.read_bytes()


def test_a_recording_of_nothing_is_not_kept(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    with socket.create_server(("127.0.0.1", 0)) as server:
        route = f"0:127.0.0.1:{server.getsockname()[1]}"
        done = latpcap("record", "--relay", route, "-o", path, "--", "true")
    assert (done.returncode, list(tmp_path.iterdir())) == (4, [])
    assert f"latpcap: no packet was recorded, and {path} is removed\n" in done.stderr.decode()
