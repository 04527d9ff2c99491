from threading import Event

import pytest

pytest.importorskip("latpcap._core", reason="the core is not built")

from latpcap.cli import progress
from latpcap.cli.progress import watch


def test_the_result_of_the_work_comes_back() -> None:
    assert watch(lambda _: 42) == 42


def test_an_error_of_the_work_is_raised_here() -> None:
    def fail(_: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        watch(fail)


def test_no_progress_is_shown_where_nobody_watches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER_S", 0)
    monkeypatch.setattr(progress, "EVERY_S", 0.001)
    watch(lambda _: Event().wait(0.02))
    assert capsys.readouterr().err == ""
