import signal
from threading import Event, Thread

import pytest

pytest.importorskip("latpcap._core", reason="the core is not built")

from latpcap.cli.shared import progress
from latpcap.cli.shared.progress import watch


def test_the_result_of_the_work_comes_back() -> None:
    assert watch(lambda _: 42) == 42


def test_an_error_of_the_work_is_raised_here() -> None:
    def fail(_: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        watch(fail)


def test_a_ctrl_c_right_at_the_start_ends_the_reading_and_keeps_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the work is under way before whoever started it goes on."""
    start = Thread.start

    def interrupted(thread: Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(Thread, "start", interrupted)
    assert watch(lambda _: 42, quiet=True, may_stop=True) == 42
    monkeypatch.setattr(Thread, "start", lambda thread: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        watch(lambda _: 42, quiet=True, may_stop=True)


def test_no_progress_is_shown_where_nobody_watches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER_S", 0)
    monkeypatch.setattr(progress, "REFRESH_INTERVAL_S", 0.001)
    watch(lambda _: Event().wait(0.02))
    assert capsys.readouterr().err == ""
