"""tests/same_bytes.py finds an output that changed, and its lines are of the fixtures and commands that there are."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import same_bytes
from conftest import FIXTURES, ROOT

TOOL = [sys.executable, str(ROOT / "tests" / "same_bytes.py")]
CAPTURE = Path("fixtures/proxies/socks.pcapng")


def test_every_fixture_has_its_lines() -> None:
    lines = same_bytes.read_lines()
    folders = Counter(path.parent.name for path in FIXTURES.glob("*/*.pcap*"))
    files = {
        kind: {folder: int(line.split()[0]) for (of, folder), line in lines.items() if of == kind} for kind, _ in lines
    }
    for kind in same_bytes.OF_ALL:
        assert files[kind] == folders, f"python tests/same_bytes.py --freeze --only FOLDER, for {kind}"
    assert files.keys() == {"python", *same_bytes.OF_ALL, *same_bytes.OF_SAMPLE, *same_bytes.OF_LARGE}
    assert files["dataset"].keys() == files["python"].keys() == folders.keys()


def test_no_two_commands_write_one_file() -> None:
    for commands in (same_bytes.OF_ALL | same_bytes.OF_SAMPLE | same_bytes.OF_LARGE).values():
        paths = [same_bytes.path_of(Path(), "kind", CAPTURE, *each) for each in commands]
        assert len({*paths}) == len(paths)


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    for name in ("one", "other"):
        subprocess.run([*TOOL, str(tmp_path / name), "--only", "tcp"], check=True, timeout=600, cwd=tmp_path)
    before, after = (same_bytes.lines_of(tmp_path / name) for name in ("one", "other"))
    assert [*same_bytes.differences(before, after)] == []
    assert {kind for kind, _ in before} >= same_bytes.OF_ALL.keys() | {"dataset", "python"}
    changed = tmp_path / "other/dataset/tcp/failed-connections.pcapng.analyze-rtt-1ms-15ms.json"
    changed.write_bytes(changed.read_bytes()[:-1])
    [line] = same_bytes.differences(before, same_bytes.lines_of(tmp_path / "other"))
    assert line.startswith("dataset tcp: ")
    assert [*same_bytes.unequal_datasets(tmp_path / "other")] == [changed.relative_to(tmp_path / "other").as_posix()]
