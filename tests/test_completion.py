"""What shells complete: asked as they ask, and in the shells themselves where they are installed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import FIXTURES

Run = Callable[..., subprocess.CompletedProcess[bytes]]

FIXES = ["n+1", "n+1=join", "n+1=in:100"]


def completed(line: str) -> list[str]:
    """What bash is told for a command line that ends here: kind and value."""
    environment = dict(os.environ) | {"_LATPCAP_COMPLETE": "bash_complete", "COMP_WORDS": line}
    command = [sys.executable, "-c", "from latpcap.cli import main; import sys; sys.argv[0] = 'latpcap'; main()"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, cwd=FIXTURES)
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("latpcap proj", ["plain,project"]),
        ("latpcap app", ["file,app"]),
        ("latpcap analyze ", ["file,"]),
        ("latpcap analyze x --col", ["plain,--color"]),
        ("latpcap analyze x --color ", ["plain,auto", "plain,always", "plain,never"]),
        ("latpcap project x --fix n+", [f"plain,{fix}" for fix in FIXES]),
        ("latpcap project x --fix n+1=in", ["plain,n+1=in:100"]),
        ("latpcap analyze x --fail-if 'netw", ["plain,network_share"]),
        ("latpcap analyze x --decode-as 3307=my", ["plain,3307=mysql"]),
        ("latpcap analyze x --protocol fire", ["plain,firebird"]),
        ("latpcap table exchanges x --format par", ["plain,parquet"]),
        ("latpcap table exchanges x --sort stream,serv", ["plain,stream,service_ms"]),
        ("latpcap table exchanges x -o ", ["file,"]),
        ("latpcap table conn", ["plain,connections"]),
        ("latpcap help comp", ["plain,compare", "plain,completion"]),
        ("latpcap explain n+", ["plain,n+1"]),
        ("latpcap explain key", ["plain,keys-missing", "plain,keys-wrong", "plain,key-log-damaged", "plain,keys"]),
    ],
)
def test_values_are_completed(line: str, some: list[str]) -> None:
    assert completed(line)[: len(some)] == some


def test_every_fix_is_completed() -> None:
    from latpcap.findings.registry import PATTERNS

    names = {line.removeprefix("plain,") for line in completed("latpcap project x --fix ")}
    assert {pattern.fix for pattern in PATTERNS if pattern.fix} | {"all"} <= names


# --- in the shells ---------------------------------------------------------------------------------------------------

ASKED = {
    "bash": """
        eval "$(latpcap completion bash)"
        ask() { COMP_LINE=$1 COMP_POINT=${#1}; _latpcap_completion latpcap; printf '%s\\n' "${COMPREPLY[@]}"; }
        compopt() { :; }
        ask 'latpcap project x --fix n+'; ask 'latpcap project x --fix n+1=i'; ask 'latpcap proj'
        """,
    "fish": """
        latpcap completion fish | source
        complete -C 'latpcap project x --fix n+'; complete -C 'latpcap project x --fix n+1=i'
        complete -C 'latpcap proj'
        """,
}
ASKED["zsh"] = """
    compdef() { :; }; compadd() { printf '%s\\n' "${completions[@]}"; }
    eval "$(latpcap completion zsh)"
    ask() { words=("$@") CURRENT=$#; _latpcap_completion; }
    ask latpcap project x --fix n+; ask latpcap project x --fix n+1=i; ask latpcap help proj
    """
REPLIES = {
    "bash": [*FIXES, "in:100", "project"],  # readline has `n+1=` already
    "fish": [*FIXES, "n+1=in:100", "project"],
    "zsh": [*FIXES, "n+1=in:100", "project"],
}


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_a_shell_completes(shell: str, tmp_path: Path) -> None:
    assert sorted(asked(shell, ASKED[shell], tmp_path)) == sorted(REPLIES[shell])


def asked(shell: str, script: str, folder: Path) -> list[str]:
    """The first column of what `script` prints in `shell`, with latpcap on its path."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = folder / "latpcap"
    program.write_text(f"#!{sys.executable}\nfrom latpcap.cli import main\nmain()\n")
    program.chmod(0o755)
    environment = dict(os.environ) | {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run([shell, "-c", script], env=environment, capture_output=True, check=True, timeout=120)
    return [line.split("\t")[0] for line in done.stdout.decode().splitlines()]
