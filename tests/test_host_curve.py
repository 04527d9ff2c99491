"""How much later the host that recorded answers after a rest: written into captures, and read from them."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import load_fixture

import latpcap
from latpcap import _core
from latpcap.errors import CaptureError
from latpcap.live import host_curve
from latpcap.live.host_curve import CurveRecorder, measure_host, own_addresses
from latpcap.live.recorder import Recorded
from latpcap.live.server import Address
from latpcap.tables.host_curve import HostCurve
from latpcap.tables.part.groups import arranged, names_of
from latpcap.tables.recording import Recording
from latpcap.wireshark.annotate import annotate

CLIENT, SERVER = "10.77.0.1", "10.77.0.2"
RESTS, EXTRA = (0.2, 1.0, 5.0), (0.04, 0.05, 0.47)

Made = Callable[..., Path]


@pytest.fixture
def plain() -> Path:
    return load_fixture("postgresql/psycopg2-nplus1-100").path


@pytest.fixture
def with_curve(plain: Path, tmp_path: Path) -> Made:
    """A capture with the curve of the host that has these addresses."""

    def made(*addresses: str, name: str = "curve.pcapng", extra: tuple[float, ...] = EXTRA) -> Path:
        path = tmp_path / name
        path.write_bytes(plain.read_bytes() + _core.pcapng_host_curve(RESTS, extra, addresses))
        return path

    return made


def read(*paths: Path, **options: bool) -> Recording:
    return latpcap.read([str(path) for path in paths], **options).measures.recording


def test_a_capture_of_a_host_that_was_not_measured_has_no_curve(plain: Path) -> None:
    assert (read(plain).host_curve, read(plain).curve_hosts) == (None, (False, False))


@pytest.mark.parametrize(
    ("addresses", "hosts"),
    [
        ((CLIENT, "127.0.0.1"), (True, False)),
        ((SERVER, "::1"), (False, True)),
        ((CLIENT, SERVER), (True, True)),
        (("127.0.0.1",), (False, False)),
    ],
)
def test_a_curve_holds_for_the_hosts_of_its_addresses(
    with_curve: Made, addresses: tuple[str, ...], hosts: tuple[bool, bool]
) -> None:
    recording = read(with_curve(*addresses))
    curve = recording.host_curve
    assert curve is not None
    assert (curve.rests_ms, curve.extra_ms, curve.addresses) == (RESTS, EXTRA, frozenset(addresses))
    assert recording.curve_hosts == hosts


def test_pseudonyms_stand_for_the_addresses_of_hosts_in_the_capture(with_curve: Made) -> None:
    recording = read(with_curve(CLIENT, "10.99.0.9"), pseudonymise=True)
    assert recording.host_curve is not None
    assert recording.host_curve.addresses == {"client-1"}
    assert recording.curve_hosts == (True, False)


def test_of_several_captures_the_first_that_has_a_curve_counts(plain: Path, with_curve: Made) -> None:
    first, second = with_curve(CLIENT), with_curve(SERVER, name="later.pcapng", extra=(0.1, 0.2, 0.3))
    curve = read(plain, first, second).host_curve
    assert curve is not None
    assert curve.extra_ms == EXTRA


def test_parts_and_groups_have_the_curve_of_the_whole(with_curve: Made) -> None:
    path = with_curve(CLIENT)
    selected = latpcap.read(path).select(server=SERVER).measures.recording
    groups = [group.recording for some in arranged(read(path), names_of(read(path), "server")) for group in some]
    assert len(groups) == 1
    for part in (selected, *groups):
        assert (part.host_curve, part.curve_hosts) == (read(path).host_curve, (True, False))


def test_a_dataset_keeps_the_curve(with_curve: Made, tmp_path: Path) -> None:
    path, folder = with_curve(CLIENT), tmp_path / "saved"
    latpcap.read(path).save(folder)
    assert (read(folder).host_curve, read(folder).curve_hosts) == (read(path).host_curve, (True, False))
    assert read(folder, pseudonymise=True).curve_hosts == (True, False)


def test_a_dataset_whose_curve_is_none_is_damaged(with_curve: Made, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    latpcap.read(with_curve(CLIENT)).save(folder)
    manifest = folder / "dataset.json"
    text = manifest.read_text()
    for odd in (text.replace("0.47", "-0.47"), text.replace("0.47", "0.47, 1"), re.sub(r"\b5\.0\b", "0.5", text)):
        assert odd != text
        manifest.write_text(odd)
        with pytest.raises(CaptureError, match="is damaged"):
            read(folder)


def test_a_copy_with_comments_keeps_the_curve(plain: Path, with_curve: Made, tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    for paths in ([with_curve(CLIENT)], [plain, with_curve(CLIENT)]):
        capture = latpcap.read(paths)
        annotate(paths, out, capture.analyze(), capture.exchanges, force=True)
        assert read(out).host_curve == read(with_curve(CLIENT)).host_curve


def test_wireshark_sees_the_same_packets_and_shows_the_curve_as_a_comment(plain: Path, with_curve: Made) -> None:
    fields = ("frame.number", "frame.time_epoch", "frame.len", "frame.interface_name", "frame.md5_hash")
    shown = [part for field in fields for part in ("-e", field)]

    def said(*command: str) -> bytes:
        return subprocess.run(command, capture_output=True, check=True).stdout

    def frames(path: Path) -> bytes:
        return said("tshark", "-n", "-r", str(path), "-o", "frame.generate_md5_hash:TRUE", "-T", "fields", *shown)

    path = with_curve(CLIENT, "::1")
    merged = path.with_name("merged.pcapng")
    said("mergecap", "-w", str(merged), str(path))
    assert frames(path) == frames(merged) == frames(plain)
    assert b"latpcap: rests 0.2,1,5 ms: +0.04,0.05,0.47 ms; hosts 10.77.0.1,::1" in said("capinfos", str(path))


@pytest.mark.parametrize(
    ("rests", "extra", "addresses"),
    [((1.0,), (-0.1,), (CLIENT,)), ((2.0, 1.0), (0.1, 0.1), (CLIENT,)), ((1.0,), (0.1,), ("db.example",))],
)
def test_what_is_no_curve_is_not_written(
    rests: tuple[float, ...], extra: tuple[float, ...], addresses: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=r"address|curve"):
        _core.pcapng_host_curve(rests, extra, addresses)


class Copied:
    """A recorder that copies a capture, and says what went wrong."""

    where = "a copy"

    def __init__(self, capture: Path, path: Path, trouble: str | None = None) -> None:
        self.path = path
        self._capture, self._trouble = capture, trouble

    def start(self) -> None:
        self.path.write_bytes(self._capture.read_bytes())

    def flush(self) -> None:
        pass

    def stop(self, *, at_once: bool = False) -> Recorded:
        return Recorded((self.path,), self.where, trouble=self._trouble)


def test_a_recording_ends_with_the_curve_of_this_host_once(plain: Path, tmp_path: Path) -> None:
    recorder = CurveRecorder(Copied(plain, tmp_path / "out.pcapng"), lambda: measure_host(CLIENT))
    recorder.start()
    assert (recorder.stop(), recorder.stop(at_once=True).problems) == (recorder.stop(), ())
    curve = read(recorder.path).host_curve
    assert curve is not None
    assert {CLIENT, "127.0.0.1", "::1"} <= curve.addresses
    assert sorted(curve.rests_ms) == [0.2, 0.5, 1, 2, 3, 5, 10, 20, 50]
    assert sorted(curve.extra_ms) == [*curve.extra_ms]
    assert curve.extra_ms[0] >= 0
    assert recorder.path.read_bytes().count(b"latpcap: rests ") == 1


@pytest.mark.parametrize("trouble", ["it ended too soon", None])
def test_a_recording_that_broke_off_or_that_nobody_measured_stays_as_it_is(
    plain: Path, tmp_path: Path, trouble: str | None
) -> None:
    curve = None if trouble is None else HostCurve(RESTS, EXTRA, frozenset({CLIENT}))
    recorder = CurveRecorder(Copied(plain, tmp_path / "out.pcapng", trouble), lambda: curve)
    recorder.start()
    recorder.stop()
    assert recorder.path.read_bytes() == plain.read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere not all are known")
def test_every_address_of_this_host_is_one_that_a_socket_can_have() -> None:
    families = {True: socket.AF_INET6, False: socket.AF_INET}
    found = [Address(families[":" in each], (each, 0)) for each in own_addresses()]
    assert all(address.is_here for address in found if not address.ip.is_link_local)


def test_an_address_of_a_route_says_nothing_of_its_link(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class OfLink:
        def __init__(self, *_: object) -> None:
            pass

        def __enter__(self) -> OfLink:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def connect(self, _: object) -> None:
            pass

        def getsockname(self) -> tuple[str, int, int, int]:
            return "fe80::1%en0", 9, 0, 4

    monkeypatch.setattr(host_curve, "OF_LINUX_V4", tmp_path / "none")
    monkeypatch.setattr(host_curve, "_of_name", lambda: ())
    monkeypatch.setattr(socket, "socket", OfLink)
    assert own_addresses() == {"127.0.0.1", "::1", "fe80::1"}
