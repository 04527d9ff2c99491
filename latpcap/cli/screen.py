"""The screen of `latpcap watch`, and the key that ends it; a line now and then where nobody sees a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from select import select
from typing import TYPE_CHECKING, Any

from latpcap.cli.shared.io import teller

if TYPE_CHECKING:
    from latpcap.live.watch import Watch

REFRESH_INTERVAL_S = 0.25
LINE_INTERVAL_S = 5.0
"""Without a terminal, a line is written this often."""


def look_on(watch: Watch, where: str, duration_s: float | None, *, quiet: bool) -> None:
    """Return when it has ended, after Ctrl-C or `q`, or after --duration."""
    end = None if duration_s is None else time.monotonic() + duration_s
    say = teller(quiet)
    sees = sys.stderr is not None and sys.stderr.isatty() and not quiet
    try:
        (_screen if sees else _lines)(watch, where, end, say)
    except KeyboardInterrupt:
        say("stopped; Ctrl-C again exits without a report")


def _goes_on(watch: Watch, end: float | None, seconds: float) -> bool:
    left = seconds if end is None else min(seconds, end - time.monotonic())
    return left > 0 and not watch.wait(left)


def _lines(watch: Watch, where: str, end: float | None, say: Callable[[str], None]) -> None:
    from latpcap.report.watching import line

    say(f"{where}; Ctrl-C ends with the full report")
    while _goes_on(watch, end, LINE_INTERVAL_S):
        say(line(watch.seen()))


def _screen(watch: Watch, where: str, end: float | None, say: Callable[[str], None]) -> None:
    from rich.console import Console
    from rich.live import Live

    from latpcap.report.watching import screen

    def now() -> Any:
        return screen(watch.seen(), where, hint)

    with _keys() as pressed, Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        hint = "q or Ctrl-C: the full report" if pressed else "Ctrl-C: the full report"
        live.update(now(), refresh=True)
        while _goes_on(watch, end, REFRESH_INTERVAL_S) and not (pressed and pressed("q")):
            live.update(now(), refresh=True)


@contextmanager
def _keys() -> Iterator[Callable[[str], bool] | None]:
    """Tell whether a key was pressed, without Enter; `None` where there is no keyboard that tells so."""
    if sys.platform == "win32":
        yield None
        return
    try:
        import termios
        import tty

        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
    except (ImportError, OSError, ValueError, AttributeError, termios.error):
        yield None
        return
    tty.setcbreak(keyboard)
    try:
        yield lambda key: key in _typed(keyboard)
    finally:
        with suppress(termios.error):
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _typed(keyboard: int) -> str:
    """Read what was typed; a terminal that is gone has nothing."""
    typed = b""
    while select([keyboard], [], [], 0)[0]:
        try:
            more = os.read(keyboard, 64)
        except OSError:
            break
        if not more:
            break
        typed += more
    return typed.decode(errors="replace")
