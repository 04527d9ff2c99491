"""`pytest --latpcap-…`: the example's tests against a PostgreSQL of their own, by capture and through the relay."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import ROOT
from mariadb_server import free_port
from postgresql_server import is_installed, postgresql

import latpcap

pytest.importorskip("psycopg")
pytest.importorskip("sqlalchemy.orm")  # whole, and before: what a pytest in this process imports, it forgets again
pytest.importorskip("sqlalchemy.dialects.postgresql.psycopg")

EXAMPLE = ROOT / "examples" / "pytest"
PLANTED, FIXED = "select(Author).order_by", "select(Author).options(joinedload(Author.books)).order_by"
BOOKS = "select books.id, books.title, books.author_id from books where"

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a database."""
    if not is_installed():
        pytest.skip("not installed: postgresql")
    with postgresql(free_port()) as url:
        yield url


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """`run(…)`: pytest in the test's own folder, and in this process, which has imported all it needs."""
    return lambda *arguments: pytester.runpytest_inprocess("-p", "no:cacheprovider", *map(str, arguments))


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """The example where it may be changed: the test's own folder."""
    return Path(shutil.copytree(EXAMPLE, pytester.path, dirs_exist_ok=True))


@pytest.fixture(params=["capture", "relay"])
def counted(request: pytest.FixtureRequest, run: Run, server: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`counted(…)`: pytest, and what passes to the server recorded in one of the two ways."""
    port = re.search(r":(\d+)/", server)[1]  # type: ignore[index]
    if request.param == "capture":
        if os.geteuid() != 0:
            pytest.skip("capturing packets needs root")
        monkeypatch.setenv("DATABASE_URL", server)
        return lambda *more: run("--latpcap-port", port, *more)
    here = free_port()
    monkeypatch.setenv("DATABASE_URL", server.replace(f":{port}/", f":{here}/"))
    return lambda *more: run("--latpcap-relay", f"{here}:127.0.0.1:{port}", *more)


def test_a_planted_n_plus_one_fails_its_test_by_name_count_and_limit(counted: Run, project: Path) -> None:
    done = counted("--junitxml", project / "junit.xml", "--latpcap-output", project / "tests.pcapng")
    assert done.ret == 1, done.stdout.str() + done.stderr.str()
    assert "1 failed, 2 passed" in done.stdout.str()
    failure = done.stdout.str().partition("___ test_catalogue ___")[2]
    assert "23 database round trips, limit 5" in failure
    assert re.search(rf"  20 × {re.escape(BOOKS)}", failure)
    assert "N+1 in 1 test" in done.stdout.str()

    cases = ElementTree.parse(project / "junit.xml").iter("testcase")
    told = {case.get("name"): {each.get("name"): each.get("value") for each in case.iter("property")} for case in cases}
    assert told["test_catalogue"]["latpcap_round_trips"] == "23"
    assert told["test_catalogue"]["latpcap_n_plus_one"] == "1"
    assert told["test_count"]["latpcap_round_trips"] == "2"

    whole = sum(row["round_trips"] for row in latpcap.read(project / "tests.pcapng").connections)
    parts = ("latpcap_round_trips", "latpcap_fixture_round_trips")
    assert sum(int(case[part] or "") for case in told.values() for part in parts) == whole


def test_it_is_green_after_the_fix(counted: Run, project: Path) -> None:
    library = project / "library.py"
    text = library.read_text()
    assert text.count(PLANTED) == 1
    library.write_text(text.replace(PLANTED, FIXED))
    done = counted()
    assert done.ret == 0, done.stdout.str() + done.stderr.str()
    assert "3 passed" in done.stdout.str()
    assert "N+1 in 0 tests" in done.stdout.str()


def test_a_test_may_ask_what_it_has_cost_so_far(counted: Run, project: Path) -> None:
    (project / "test_library.py").write_text(
        "from sqlalchemy import text\n"
        "def test_asks(session, latpcap_session):\n"
        "    assert latpcap_session.round_trips == 0\n"
        "    session.execute(text('select 1'))\n"
        "    assert [ran.text for ran in latpcap_session.statements] == ['begin', 'select ?']\n"
        "    assert (latpcap_session.round_trips, latpcap_session.loops) == (2, ())\n"
        "def test_fails(session, latpcap_session):\n"
        "    try:\n"
        "        session.execute(text('selekt 1'))\n"
        "    except Exception:\n"
        "        session.rollback()\n"
        "    assert latpcap_session.failures[0].code == '42601'\n"
    )
    done = counted()
    assert "2 passed" in done.stdout.str(), done.stdout.str() + done.stderr.str()
    assert "1 error of the database" in done.stdout.str()
    assert 'error 42601: syntax error at or near "selekt"' in done.stdout.str()


def test_the_limit_of_all_tests_gives_way_to_the_marker_of_one(counted: Run, project: Path) -> None:
    (project / "test_library.py").write_text(
        "import pytest\n"
        "from sqlalchemy import text\n"
        "def asks(session, times):\n"
        "    for _ in range(times):\n"
        "        session.execute(text('select 1'))\n"
        "def test_few(session):\n"
        "    asks(session, 2)\n"
        "def test_many(session):\n"
        "    asks(session, 4)\n"
        "@pytest.mark.round_trips(max=20)\n"
        "def test_many_and_allowed(session):\n"
        "    asks(session, 4)\n"
    )
    done = counted("--latpcap-max", "4")
    assert "1 failed, 2 passed" in done.stdout.str(), done.stdout.str() + done.stderr.str()
    assert "5 database round trips, limit 4" in done.stdout.str()


def test_each_worker_relays_on_a_port_of_its_own(
    project: Path, server: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = re.search(r":(\d+)/", server)[1]  # type: ignore[index]
    (project / "conftest.py").write_text(
        "import os\nimport pytest\nfrom sqlalchemy import create_engine, text\n"
        "@pytest.fixture\ndef connection():\n"
        f"    url = {server!r}.replace(':{port}/', f':{{os.environ[\"LATPCAP_RELAY_PORT\"]}}/')\n"
        "    with create_engine(url).connect() as connection:\n"
        "        yield connection\n"
    )
    tests = (
        f"def test_{n}(connection):\n    for _ in range({n}):\n        connection.execute(text('select 1'))\n"
        for n in range(1, 5)
    )
    (project / "test_library.py").write_text("from sqlalchemy import text\n" + "".join(tests))
    here = free_port()
    recorded = project / "tests.pcapng"
    relay = ("--latpcap-relay", f"{here}:127.0.0.1:{port}", "--latpcap-max", "4", "--latpcap-output", str(recorded))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "2", *relay)
    told = done.stdout.str()
    assert "1 failed, 3 passed" in told, told + done.stderr.str()
    assert "in 4 of 4 tests" in told
    for n in range(1, 5):
        assert re.search(rf"^ +{n + 1} .* test_library.py::test_{n}$", told, re.MULTILINE), told  # with its BEGIN
    parts = [latpcap.read(recorded.with_name(f"tests-gw{worker}.pcapng")).statements for worker in (0, 1)]
    assert sum(int(row["executions"]) for part in parts for row in part if row["text"] == "select ?") == 1 + 2 + 3 + 4


@pytest.fixture(scope="module")
def encrypted(server: str) -> str:
    """The URL of the same database where TLS is demanded."""
    psycopg = pytest.importorskip("psycopg")
    if shutil.which("openssl") is None:
        pytest.skip("not installed: openssl")
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as admin:
        [[data]] = admin.execute("show data_directory").fetchall()
        made = ["-subj", "/CN=tests", "-keyout", f"{data}/server.key", "-out", f"{data}/server.crt"]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made], check=True, capture_output=True
        )
        for name in ("server.key", "server.crt"):
            if os.geteuid() == 0:
                shutil.chown(f"{data}/{name}", "postgres", "postgres")
            os.chmod(f"{data}/{name}", 0o600)
        admin.execute("alter system set ssl = on")
        admin.execute("select pg_reload_conf()")
    return f"{server}?sslmode=require"


@pytest.mark.parametrize("with_keys", [False, True])
def test_behind_tls_it_claims_nothing_that_it_did_not_read_and_names_the_key_log(
    run: Run, project: Path, encrypted: str, monkeypatch: pytest.MonkeyPatch, with_keys: bool
) -> None:
    port = re.search(r":(\d+)/", encrypted)[1]  # type: ignore[index]
    here, keys = free_port(), project / "tls.keys"
    options = ["--latpcap-relay", f"{here}:127.0.0.1:{port}"]
    monkeypatch.setenv("SSLKEYLOGFILE", "")
    url = encrypted.replace(f":{port}/", f":{here}/")
    if with_keys:
        import psycopg

        if psycopg.pq.version() < 180000:
            pytest.skip("libpq logs keys from version 18 on")
        options += ["--latpcap-keylog", str(keys)]
        url += f"&sslkeylogfile={keys}"
    monkeypatch.setenv("DATABASE_URL", url)
    told = run(*options).stdout.str()
    assert "23 database round trips, limit 5" in told, told
    if with_keys:
        assert "N+1 in 1 test (" in told
        assert re.search(rf"  20 × {re.escape(BOOKS)}", told)
        assert "encrypted" not in told
    else:
        assert "in 3 of 3 tests, errors and N+1 unknown (" in told
        assert "--latpcap-keylog FILE (with SSLKEYLOGFILE" in told
        assert "0 errors" not in told
        assert "unreadable" not in told


# --- without a database -----------------------------------------------------------------------------------------------


PASSES = "import pytest\n@pytest.mark.round_trips(max=1)\ndef test_passes():\n    pass\n"


def test_without_its_options_pytest_is_as_it_was(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PASSES)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers", "-W", "error")
    assert (done.ret, done.stderr.str()) == (0, "")
    assert "latpcap: " not in done.stdout.str()


def test_the_options_are_told_in_a_group_and_the_marker_is_known(run: Run) -> None:
    told = run("--help").stdout.str()
    assert "latpcap: round trips to a database:" in told
    assert "--latpcap-relay=" in told
    assert "@pytest.mark.round_trips(max)" in run("--markers").stdout.str()


def test_nothing_heavy_is_loaded_before_it_is_asked_for() -> None:
    code = "import sys, latpcap.pytest_plugin\nprint(*sys.modules, sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "msgspec", "rich", "click", "latpcap._core"} & set(loaded)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--latpcap-relay", "nonsense"], "is not a relay"),
        (["--latpcap-server", "db"], "is not HOST:PORT"),
        (["--latpcap-port", "70000"], "70000 is no TCP port"),
        (["--latpcap-port", "5432", "--latpcap-relay", "1:db:2"], "ask for one of --latpcap-port, --latpcap-relay"),
        (["--latpcap-port", "5432", "-n", "2"], "give each worker a port of its own with --latpcap-relay"),
        (["--latpcap-port", "5432", "--latpcap-max", "-1"], "--latpcap-max is a number of round trips"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    temporary = pytester.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    pytester.makepyfile(PASSES)
    done = run(*arguments)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert not list(temporary.iterdir())
    assert [line for line in done.stderr.str().splitlines() if message in line]
    assert "Traceback" not in done.stderr.str()


def test_a_port_in_use_is_told_in_one_line(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("--latpcap-relay", f"{taken.getsockname()[1]}:127.0.0.1:1")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in done.stderr.str() + done.stdout.str()


def test_a_limit_that_is_none_fails_the_test(pytester: pytest.Pytester, run: Run) -> None:
    markers = ("round_trips", "round_trips(max='5')", "round_trips(least=5)", "round_trips(-1)")
    tests = (f"@pytest.mark.{marker}\ndef test_{each}():\n    pass\n" for each, marker in enumerate(markers))
    pytester.makepyfile("import pytest\n" + "".join(tests))
    done = run("--latpcap-relay", f"{free_port()}:127.0.0.1:1")
    assert "4 failed" in done.stdout.str(), done.stdout.str() + done.stderr.str()
    assert done.stdout.str().count("write @pytest.mark.round_trips(max=20)") >= 4


def test_that_nothing_was_seen_is_told(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(PASSES)
    done = run("--latpcap-relay", f"{free_port()}:127.0.0.1:1")
    assert done.ret == 0, done.stdout.str() + done.stderr.str()
    assert "do the tests connect to that port" in done.stdout.str()
