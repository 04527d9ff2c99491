"""`latpcap wireshark`: the plugin shows in Wireshark what `exchanges` says, and nothing of another capture."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import damage
import numpy as np
import pytest
from conftest import FIXTURES, load_fixture, read_fixture
from test_cli import failed

import latpcap as package
from latpcap.wireshark.facts import COUNTS, TIMES, facts, findings_of
from latpcap.wireshark.folders import WiresharkPlaces, places, program
from latpcap.wireshark.installing import install
from latpcap.wireshark.opening import show, told_of_ports

Run = Callable[..., subprocess.CompletedProcess[bytes]]
FIELDS = ("exchange", "command", *COUNTS[2:], *TIMES, "error", "statement")
JOIN = "\x1f"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder with the plugin."""
    folder = tmp_path_factory.mktemp("home")
    install(places("linux", {"HOME": str(folder)}))
    return folder


def tshark(home: Path, path: Path, facts: Path, *arguments: str) -> list[list[list[str]]]:
    """What Wireshark with the plugin shows of each packet: the values of each field."""
    told = {"HOME": str(home), "LATPCAP_FACTS": str(facts), "XDG_CONFIG_HOME": str(home / ".config")}
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", f"aggregator={JOIN}", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, env=os.environ | told)
    assert b"Lua" not in done.stderr
    assert done.returncode == 0 or b"cut short in the middle of a packet" in done.stderr
    return [
        [cell.split(JOIN) if cell else [] for cell in line.split("\t")] for line in done.stdout.decode().splitlines()
    ]


def fields(*names: str) -> list[str]:
    return [part for name in names for part in ("-e", name if "." in name else f"latpcap.{name}")]


def written(capture: package.Capture, path: Path) -> Path:
    path.write_text("".join(facts(capture, findings_of(capture))), "utf-8")
    return path


def expected(capture: package.Capture) -> dict[int, dict[str, list[Any]]]:
    """What `exchanges` says, by the packet at which the plugin shows it."""
    at: dict[int, dict[str, list[Any]]] = defaultdict(lambda: {name: [] for name in FIELDS})
    for row in capture.exchanges:
        frame = row["request_end_frame"] or row["response_end_frame"]
        for name in FIELDS:
            if frame is not None and row[name] is not None:
                at[frame][name].append(row[name])
    return dict(at)


def linked(capture: package.Capture) -> dict[int, set[int]]:
    """The requests that each packet answers."""
    at: dict[int, set[int]] = defaultdict(set)
    for row in capture.exchanges:
        frame = row["request_end_frame"] or row["response_end_frame"]
        for answer in {row["response_frame"], row["response_end_frame"]} - {None, frame}:
            at[answer].add(frame)
    return dict(at)


def check(capture: package.Capture, path: Path, home: Path, folder: Path) -> int:
    """Hold all fields that Wireshark shows against `exchanges`; return how many exchanges there were."""
    shown = tshark(home, path, written(capture, folder / "facts"), *fields("frame.number", "request_in", *FIELDS))
    told = expected(capture)
    assert {int(frame): {*map(int, asked)} for (frame,), asked, *_ in shown if asked} == linked(capture)
    for (number,), _, *values in shown:
        row = told.pop(int(number), {name_of: [] for name_of in FIELDS})
        for name_of, said in zip(FIELDS, values, strict=True):
            if name_of in TIMES:
                assert np.allclose([*map(float, said)], row[name_of], rtol=0, atol=1e-6), (number, name_of)
            elif name_of in ("error", "statement", "command"):
                assert said == row[name_of], (number, name_of)
            else:
                assert [*map(int, said)] == row[name_of], (number, name_of)
    assert told == {}
    return len(capture.exchanges)


SOME = (
    *(
        "mysql/nplus1-300-client",
        "mysql/all-commands",
        "mysql/jdbc-mariadb-batch-pipelined",
        "postgresql/psycopg2-nplus1-100",
    ),
    *("postgresql/jdbc-batch", "firebird/jaybird6-nplus1", "findings/failing-my", "findings/connects-pg"),
)


@pytest.mark.parametrize("name", SOME)
def test_wireshark_shows_what_exchanges_says(name: str, home: Path, tmp_path: Path) -> None:
    assert check(read_fixture(name), load_fixture(name).path, home, tmp_path) > 0


DEFECTS = (
    "step-clock",
    "set-clock-back",
    "reorder",
    "lose",
    "duplicate",
    "cut-packets",
    "truncate-file",
    "lose-on-path",
)


@pytest.mark.parametrize("defect", DEFECTS)
def test_so_it_does_of_a_damaged_capture(defect: str, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.pcapng"
    path.write_bytes(damage.damaged(damage.read(load_fixture("mysql/nplus1-300-client").path), defect))
    assert check(package.read(path), path, home, tmp_path) > 0


def test_a_findings_filter_shows_the_packets_of_its_display_filter(home: Path, tmp_path: Path) -> None:
    for name in ("findings/connects-pg", "findings/failing-my"):
        capture, path = read_fixture(name), load_fixture(name).path
        told = written(capture, tmp_path / "facts")
        for key, found, _ in findings_of(capture):
            both = [
                tshark(home, path, told, "-Y", shown, *fields("frame.number"))
                for shown in (f'latpcap.finding == "{key}"', found.display_filter)
            ]
            assert both[0] == both[1] != []


def test_failed_and_retransmitted_exchanges_can_be_filtered(home: Path, tmp_path: Path) -> None:
    capture, path = read_fixture("findings/failing-my"), load_fixture("findings/failing-my").path
    told = written(capture, tmp_path / "facts")
    wrong = capture.exchanges.filter(np.array([each is not None for each in capture.exchanges["error"]]))
    frames = {*wrong["request_end_frame"], *wrong["response_end_frame"]}
    assert {
        int(row[0][0]) for row in tshark(home, path, told, "-Y", "latpcap.failed", *fields("frame.number"))
    } == frames
    sent_again = told.read_text().replace("\t0\t0.041841\t", "\t2\t0.041841\t", 1)
    told.write_text(sent_again)
    [[[frame], [count]]] = tshark(
        home, path, told, "-Y", "latpcap.retransmitted", *fields("frame.number", "retransmissions")
    )
    assert (frame, count) == ("11", "2")


def test_no_other_capture_is_shown_with_the_facts(home: Path, tmp_path: Path) -> None:
    """Neither one of another time nor a part of the same, from the first packet on that is another."""
    name = "mysql/nplus1-300-client"
    told, part = written(read_fixture(name), tmp_path / "facts"), tmp_path / "part.pcapng"
    other = load_fixture("mysql/nplus1-300-server").path
    assert tshark(home, other, told, "-Y", "latpcap", *fields("frame.number")) == []
    subprocess.run(["editcap", str(load_fixture(name).path), str(part), "20"], check=True, capture_output=True)
    shown = [int(frame) for [[frame]] in tshark(home, part, told, "-Y", "latpcap", *fields("frame.number"))]
    assert min(shown) >= 4
    assert max(shown) <= 20


def test_hostile_texts_are_only_shown(home: Path, tmp_path: Path) -> None:
    name, evil = "mysql/nplus1-300-client", """x'"]]..os.execute("touch BROKEN")..[[ %s %n \\x22 \\n <b> é\u202e"""
    lines = [*facts(read_fixture(name), findings_of(read_fixture(name)))]
    for number, line in enumerate(lines):
        if line.startswith(("text\t", "finding\t")):
            lines[number] = line.rstrip("\n") + evil + "\n"
    told = tmp_path / "facts"
    told.write_text("".join(lines), "utf-8")
    shown = tshark(home, load_fixture(name).path, told, "-Y", "latpcap.statement", *fields("statement"))
    assert len(shown) == 302
    assert all("os.execute" in text for [[text]] in shown)
    assert not (Path.cwd() / "BROKEN").exists()


@pytest.mark.parametrize("line", ["nonsense\t1", "exchange\tx", "range\t9\t9\t9\t9", "", "latpcap-facts\t1"])
def test_damaged_facts_are_refused_whole(home: Path, tmp_path: Path, line: str) -> None:
    name, told = "mysql/nplus1-300-client", tmp_path / "facts"
    text = written(read_fixture(name), told).read_text()
    told.write_text(f"{line}\n" if line.endswith("s\t1") else f"{text}{line}\n")
    assert tshark(home, load_fixture(name).path, told, "-Y", "latpcap", *fields("frame.number")) == []


def test_facts_hold_no_literal_and_no_control_character() -> None:
    capture = package.read(load_fixture("mysql/all-commands").path)
    text = "".join(facts(capture, findings_of(capture)))
    assert {each for each in text if ord(each) < 32} == {"\t", "\n"}
    assert {line.count("\t") for line in text.splitlines() if line.startswith("exchange")} == {len(FIELDS) + 5}
    assert "'" not in text.partition("exchange\t")[2]


# --- where plugin and profile belong ---------------------------------------------------------------------------------

LINUX, MAC = ".local/lib/wireshark/plugins/latpcap.lua", ".config/wireshark/profiles/latpcap"
LAYOUTS = {
    "linux": ("linux", {"HOME": "{}"}, LINUX, MAC),
    "linux-xdg": ("linux", {"HOME": "{}", "XDG_CONFIG_HOME": "{}/xdg"}, LINUX, "xdg/wireshark/profiles/latpcap"),
    "linux-given": ("linux", {"HOME": "{}", "WIRESHARK_CONFIG_DIR": "{}/w"}, LINUX, "w/profiles/latpcap"),
    "macos": ("darwin", {"HOME": "{}"}, LINUX, MAC),
    "windows": (
        *("win32", {"HOME": "{}", "APPDATA": "{}/Roaming"}),
        *("Roaming/Wireshark/plugins/latpcap.lua", "Roaming/Wireshark/profiles/latpcap"),
    ),
    "windows-given": (
        *("win32", {"HOME": "{}", "WIRESHARK_CONFIG_DIR": "{}/w"}),
        *("w/plugins/latpcap.lua", "w/profiles/latpcap"),
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_platform_has_its_folders(layout: str, tmp_path: Path) -> None:
    system, environment, plugin, profile = LAYOUTS[layout]
    there = places(system, {name: value.format(tmp_path) for name, value in environment.items()})
    assert there == WiresharkPlaces(tmp_path / plugin, tmp_path / profile)
    assert install(there) == [f"plugin   {there.plugin}", f"profile  {there.profile}"]
    assert sorted(path.name for path in there.profile.iterdir()) == [
        "colorfilters",
        "dfilter_buttons",
        "preferences",
        "recent",
    ]


def test_an_old_configuration_folder_is_used_where_there_is_no_new_one(tmp_path: Path) -> None:
    (tmp_path / ".wireshark").mkdir()
    assert places("linux", {"HOME": str(tmp_path)}).profile == tmp_path / ".wireshark/profiles/latpcap"


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "WIRESHARK_CONFIG_DIR", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_wireshark_looks_for_plugins_where_they_are_put(at_home: Path, latpcap: Run) -> None:
    done = latpcap("wireshark", "install")
    assert (done.returncode, done.stderr) == (0, b"")
    folders = subprocess.run(["tshark", "-G", "folders"], capture_output=True, check=True, text=True).stdout
    told = dict(line.split(":", 1) for line in folders.splitlines() if ":" in line)
    plugins, configuration = (Path(told[name].strip()) for name in ("Personal Lua Plugins", "Personal configuration"))
    assert (plugins / "latpcap.lua").is_file()
    assert (configuration / "profiles/latpcap/preferences").is_file()
    assert all(str(place) in done.stdout.decode() for place in (plugins, configuration))
    path, told = load_fixture("mysql/nplus1-300-client").path, at_home / "facts"
    written(read_fixture("mysql/nplus1-300-client"), told)
    command = ["tshark", "-C", "latpcap", "-r", str(path), "-c", "9"]
    environment = os.environ | {"LATPCAP_FACTS": str(told)}
    used = subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout
    assert re.search(r"1\s+1.068376\s+0.059183\s+0.096147\s+0\s+set names utf8mb4\s+Request Query", used)


def test_what_the_user_changed_in_the_profile_stays(at_home: Path, latpcap: Run) -> None:
    latpcap("wireshark", "install")
    there = places()
    (there.profile / "preferences").write_text("mine")
    there.plugin.write_text("old")
    done = latpcap("wireshark", "install").stdout.decode()
    assert "(kept as they were: preferences, colorfilters, dfilter_buttons, recent)" in done
    assert (there.profile / "preferences").read_text() == "mine"
    assert "Proto(" in there.plugin.read_text()
    assert latpcap("wireshark", "uninstall").stdout.decode().splitlines() == [
        f"removed  plugin   {there.plugin}",
        f"removed  profile  {there.profile}",
    ]
    assert not there.plugin.exists()
    assert not there.profile.exists()
    assert latpcap("wireshark", "uninstall").stdout == b"nothing was installed\n"


# --- opening a capture -----------------------------------------------------------------------------------------------


@pytest.fixture
def wireshark(at_home: Path, monkeypatch: pytest.MonkeyPatch, latpcap: Run) -> Iterator[Path]:
    """A Wireshark that writes down how it was started."""
    started, fake = at_home / "started", at_home / "bin/wireshark"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$LATPCAP_CAPTURE" "$@" > {started}\ncp "$LATPCAP_FACTS" {started}.facts\n'
        f'echo "$LATPCAP_FACTS" > {started}.path\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    latpcap("wireshark", "install")
    return started


def test_a_capture_is_opened_with_facts_profile_and_buttons(wireshark: Path, latpcap: Run, tmp_path: Path) -> None:
    path, name = load_fixture("findings/failing-my").path, tmp_path / "it's $(touch x).pcapng.zst"
    name.symlink_to(path)
    done = latpcap("wireshark", name, "--decode-as", "3306=mysql")
    assert (done.returncode, done.stdout) == (0, b"")
    words, *arguments = wireshark.read_text().splitlines()
    assert arguments[:2] == ["-C", "latpcap"]
    assert arguments[-2:] == ["-r", str(name)]
    assert "tcp.port==3306,mysql" in arguments
    button = 'uat:dfilter_buttons:"TRUE","failing-statements 1","latpcap.finding == \\x22failing-statements 1\\x22",'
    [title] = [each.removeprefix(button) for each in arguments if each.startswith(button)]
    assert title.startswith('"20 of 42 statements failed')
    shell = subprocess.run(f'printf "%s\\n" {words}', shell=True, capture_output=True, check=True, text=True)
    assert shell.stdout.splitlines() == [str(name), "--decode-as", "3306=mysql"]
    capture = read_fixture("findings/failing-my")
    assert Path(f"{wireshark}.facts").read_text() == "".join(facts(capture, findings_of(capture)))
    assert not Path(Path(f"{wireshark}.path").read_text().strip()).exists()


def test_wireshark_is_told_on_which_ports_a_database_was_found(wireshark: Path, latpcap: Run) -> None:
    path = FIXTURES / "programs/pgx-loop-pg.pcap.zst"
    [server] = {row["server"] for row in package.read(path).connections}
    assert latpcap("wireshark", path).returncode == 0
    assert f"tcp.port=={server.rpartition(':')[2]},pgsql" in wireshark.read_text().splitlines()


def test_ports_are_as_many_as_a_command_line_takes(home: Path, tmp_path: Path) -> None:
    adjacent, apart = set(range(20_000, 22_000)), set(range(30_000, 34_000, 2))
    assert told_of_ports({"postgresql": adjacent}) is None
    assert "too long for 2,001 ports" in (told_of_ports({"mysql": {3306}, "postgresql": apart}) or "")
    checked, path = tmp_path / "wireshark", load_fixture("mysql/nplus1-300-client").path
    checked.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$HOME/said"\nexec tshark -c 1 "$@" >/dev/null\n')
    checked.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        show(str(checked), str(path), [], {}, ports={"postgresql": adjacent | apart}, decode_as={}, keylog=[])
    said = (home / "said").read_text()
    assert "tcp.port==20000-21999,pgsql" in said
    assert len(said) < 20_000


def test_wireshark_takes_the_buttons_and_the_profile(home: Path, tmp_path: Path) -> None:
    """As `tshark` reads them, which knows the same preferences."""
    checked = tmp_path / "wireshark"
    checked.write_text('#!/bin/sh\nexec tshark -c 1 "$@" >/dev/null 2>"$HOME/said"\n')
    checked.chmod(0o755)
    path = load_fixture("mysql/nplus1-300-client").path
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        show(
            str(checked),
            str(path),
            ["latpcap-facts\t1\ncapture\t0\t1\n"],
            {"n+1 2": 'a "b", \\x \\ é'},
            ports={},
            decode_as={},
            keylog=[],
        )
    assert "uat" not in (home / "said").read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["no.pcapng"], 3, "no.pcapng: no such file"),
        (["-"], 2, "name one capture"),
        (["{}", "{}"], 2, "name one capture"),
        (["{}", "--pseudonymise"], 2, "names and all"),
    ],
)
def test_mistakes_are_told(wireshark: Path, latpcap: Run, arguments: list[str], status: int, said: str) -> None:
    path = load_fixture("mysql/nplus1-300-client").path
    got, line = failed(latpcap("wireshark", *(each.format(path) for each in arguments)))
    assert (got, said in line) == (status, True), line
    assert not wireshark.exists()


def test_what_is_missing_is_told(wireshark: Path, latpcap: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = load_fixture("mysql/nplus1-300-client").path
    places().plugin.write_text("that of another latpcap")
    assert failed(latpcap("wireshark", path))[1].endswith("not that of this latpcap: run `latpcap wireshark install`")
    latpcap("wireshark", "uninstall")
    assert failed(latpcap("wireshark", path))[1].endswith("is not installed: run `latpcap wireshark install`")
    monkeypatch.delenv("DISPLAY")
    assert "there is no display" in failed(latpcap("wireshark", path))[1]
    monkeypatch.setenv("PATH", "")
    status, line = failed(latpcap("wireshark", path))
    assert (status, "Wireshark is not installed" in line) == (2, True)
    assert not wireshark.exists()


def test_a_wireshark_that_fails_gives_its_status(wireshark: Path, latpcap: Run, at_home: Path) -> None:
    (at_home / "bin/wireshark").write_text("#!/bin/sh\nexit 7\n")
    path = load_fixture("mysql/nplus1-300-client").path
    assert failed(latpcap("wireshark", path)) == (7, "Wireshark ended with status 7")


def test_a_folder_that_cannot_be_written_is_told(at_home: Path, latpcap: Run) -> None:
    (at_home / ".local").write_text("no folder")
    status, line = failed(latpcap("wireshark", "install"))
    assert (status, "cannot be written" in line) == (2, True)


def test_windows_and_macos_have_wireshark_where_their_installers_put_it(tmp_path: Path) -> None:
    there = tmp_path / "Wireshark/Wireshark.exe"
    there.parent.mkdir()
    there.touch()
    there.chmod(stat.S_IRWXU)
    assert program("win32", {"PATH": "", "ProgramFiles": str(tmp_path)}) == str(there)
