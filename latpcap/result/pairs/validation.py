"""Predicted against measured: a capture of the same job at another RTT says how right the projection was."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from latpcap.display import Displayed
from latpcap.errors import NotTheSameJob, UsageError
from latpcap.projection.assumptions import Conditions
from latpcap.projection.project import Point
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.captures import CaptureFile
from latpcap.result.settings import Settings
from latpcap.result.signoff import PROGRAM
from latpcap.rtt.baselines import METHOD_NAMES, Method
from latpcap.tables.part.selection import Selected
from latpcap.units import RttIs, format_ms, format_s

MAX_CHANGE = 0.05
"""Captures whose round trips differ by a larger share are not the same job."""


class ValidationPart(Struct, frozen=True):
    """One part of the time budget in seconds: as predicted for the other place, and as measured there."""

    name: str
    predicted_s: float
    measured_s: float


class Validation(Displayed, Struct, frozen=True):
    """How right the projection of one capture onto another's RTT was."""

    schema = "latpcap.validation/1"

    baseline_rtt_ms: float
    target_rtt_ms: float
    """The baseline RTT of the other capture."""
    round_trips: int
    other_round_trips: int
    predicted_s: float
    optimistic_s: float
    pessimistic_s: float
    measured_s: float
    error: float
    """Predicted ÷ measured − 1."""
    inside: bool
    """The measured runtime lies between optimistic and pessimistic."""
    terms: tuple[ValidationPart, ...]
    text: str
    selection_base: Selected | None
    """The compared part of each; null for all."""
    selection_other: Selected | None
    settings_base: Settings
    settings_other: Settings
    captures_base: tuple[CaptureFile, ...]
    captures_other: tuple[CaptureFile, ...]
    program: str
    """`latpcap` and its version."""


class MeasuredCapture(Protocol):
    """A capture, as far as it is needed here."""

    @property
    def measures(self) -> Measures:
        """Its measures."""


def validate(base: MeasuredCapture, other: MeasuredCapture) -> Validation:
    """Project `base` onto the RTT of `other` and compare; `NotTheSameJob` where they are not that."""
    measured = other.measures.analyze()
    target = measured.summary.baseline_rtt_ms
    if target is None:
        raise UsageError("the RTT of the other capture is unknown: give it with --after-rtt")
    asked = Conditions(rtt_is=meaning(measured) or base.measures.basis.as_usual.rtt_is)
    observed = base.measures.analyze([target], None, asked)
    return judge(observed, observed.projection.points[0], measured)


def meaning(measured: Analysis) -> RttIs | None:
    """Return how the RTT of a capture was measured; `None` where somebody gave it."""
    methods = {path.rtt.method for path in measured.paths}
    if METHOD_NAMES[Method.GIVEN] in methods:
        return None
    return "handshake" if methods == {METHOD_NAMES[Method.HANDSHAKE]} else "in-stream"


def judge(observed: Analysis, point: Point, measured: Analysis) -> Validation:
    """Compare one point of what was projected from `observed` with what the job took at that RTT."""
    start = observed.projection.baseline_rtt_ms
    if (
        start is None
        or point.runtime_s is None
        or point.optimistic_s is None
        or point.pessimistic_s is None
        or point.budget is None
    ):
        raise UsageError("the RTT of the base capture is unknown: give it with --rtt-baseline")
    _check_same_job(observed.summary.round_trips, measured.summary.round_trips)
    runtime_s = measured.summary.runtime_s
    inside = point.optimistic_s <= runtime_s <= point.pessimistic_s
    error = point.runtime_s / runtime_s - 1 if runtime_s > 0 else 0.0
    found = measured.budget.parts()
    return Validation(
        baseline_rtt_ms=start,
        target_rtt_ms=point.rtt_ms,
        round_trips=observed.summary.round_trips,
        other_round_trips=measured.summary.round_trips,
        predicted_s=point.runtime_s,
        optimistic_s=point.optimistic_s,
        pessimistic_s=point.pessimistic_s,
        measured_s=runtime_s,
        error=error,
        inside=inside,
        terms=tuple(ValidationPart(name, seconds, found[name]) for name, seconds in point.budget.parts().items()),
        text=(
            f"{format_ms(start)} → {format_ms(point.rtt_ms)}: predicted {format_s(point.runtime_s)} "
            f"({format_s(point.optimistic_s)} to {format_s(point.pessimistic_s)}), measured {format_s(runtime_s)}: "
            f"{error:+.1%}, {'inside' if inside else 'outside'} the range."
        ),
        selection_base=observed.selection,
        selection_other=measured.selection,
        settings_base=observed.settings,
        settings_other=measured.settings,
        captures_base=observed.captures,
        captures_other=measured.captures,
        program=PROGRAM,
    )


def _check_same_job(mine: int, others: int) -> None:
    if abs(others - mine) > MAX_CHANGE * max(mine, 1):
        change = f"{others / mine - 1:+.0%}" if mine else "none in the base"
        raise NotTheSameJob(
            f"not the same job: {mine:,} round trips against {others:,} ({change}; more than {MAX_CHANGE:.0%} apart); "
            "`latpcap compare` shows what is different"
        )
