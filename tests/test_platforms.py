"""What only POSIX has, nobody imports on Windows: readers work there, recorders say what is missing."""

import platform
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from test_structure import graph

Run = Callable[..., subprocess.CompletedProcess[bytes]]

PYTHON = re.escape(platform.python_version())

READERS = {
    f"latpcap.cli.{name}" for name in ("analyze", "annotate", "compare", "project", "rank", "report", "scan", "sql")
}
READERS |= {f"latpcap.cli.{name}" for name in ("completion", "help", "tables", "verify", "wireshark", "shared.gates")}
NAMES_OF_PACKAGES = {"latpcap", "latpcap.cli"}
"""They know everything, and load it when it is asked for."""
LINUX = {"latpcap.live.forwarding", "latpcap.live.link.namespace_command"}
"""What is loaded on Linux alone."""

WITHOUT = """
import builtins, importlib, os, signal, sys
import click, msgspec, numpy, arro3.core, tempfile, shutil, subprocess, multiprocessing.resource_tracker  # as they are
import concurrent.futures.process, asyncio, socket, selectors, aiohttp, pytest, rich.live

def without(name, globals=None, *more, **named):
    importer = (globals or {}).get("__name__", "")
    if importer.startswith("latpcap") and name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
        raise ModuleNotFoundError(f"{importer} imports {name}, which Windows does not have")
    return known(name, globals, *more, **named)

known, builtins.__import__ = builtins.__import__, without
for name in ("SIGPIPE", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGXFSZ", "SIGKILL", "pthread_sigmask", "sigtimedwait"):
    delattr(signal, name)
for name in ("geteuid", "getuid", "O_DIRECTORY", "O_NOFOLLOW", "WNOHANG", "fork", "pread", "posix_spawn"):
    delattr(os, name)
signal.SIGBREAK = signal.Signals.SIGTERM
sys.platform = "win32"
failed = []
for module in sys.argv[1:]:
    try:
        importlib.import_module(module)
    except Exception as error:
        if getattr(error, "name", "") not in ("dask", "distributed", "ray", "altair"):  # of optional packages
            failed.append(f"{module}: {error}")
print(*failed, sep="\\n")
"""


def reachable(modules: set[str]) -> set[str]:
    """These and what they import, in functions too."""
    known, found = graph(), set()
    while modules:
        found |= modules
        modules = {other for module in modules for other in known[module]} - found - NAMES_OF_PACKAGES
    return found


def test_who_reads_captures_needs_nothing_of_those_who_record() -> None:
    modules = reachable(READERS)
    assert {"latpcap.capture", "latpcap.cli.shared.io", "latpcap.tables.dataset.writing"} <= modules
    assert not [name for name in modules if name.startswith("latpcap.live")]


@pytest.mark.skipif(sys.platform == "win32", reason="everything is imported there")
def test_no_module_imports_what_only_posix_has() -> None:
    modules = {name for name in graph() if "__main__" not in name} - LINUX - {"latpcap._core"}
    done = subprocess.run([sys.executable, "-c", WITHOUT, *sorted(modules)], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["", ""]


def test_the_version_names_platform_python_and_build(process: Run) -> None:
    told = process("--version").stdout.decode()
    assert re.fullmatch(rf"latpcap \S+ \(\w+, (build [0-9a-f]{{12}}|from a working tree), Python {PYTHON}\)\n", told)
