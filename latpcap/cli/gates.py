"""Gates on the command line: `--fail-if`, what they compare with, and where their results go beside the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem
from msgspec import Struct

from latpcap.cli import values
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.projection.assumptions import Conditions
    from latpcap.result.analysis import Analysis
    from latpcap.result.figures import Measured
    from latpcap.result.gates import Gate, Gates

__all__ = ["Gating", "compared_options", "end_with", "gate_options", "gating_of"]


class Condition(click.ParamType[Any]):
    """`round_trips > 500`: a gate."""

    name = "condition"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `value`."""
        from latpcap.result.gates import parse

        return parse(value) if isinstance(value, str) else value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The figures."""
        return values.conditions(incomplete)


_FAIL_IF = "Exit with status 1 if this holds: 'round_trips > 500', 'project(15ms) > 60s', 'finding(n+1)'; repeatable."
_FAIL_IF_COMPARED = (
    "Exit with status 1 if this holds of AFTER, BEFORE being the baseline: 'round_trips > baseline + 10%', "
    "'runtime > baseline * 1.1', 'finding(new)'; repeatable."
)
_FILE = click.Path(readable=False)

baseline_option = click.option(
    "--baseline",
    type=_FILE,
    metavar="FILE",
    help="An earlier result (`analyze --json`), which --fail-if may compare with: 'round_trips > baseline + 10%', "
    "'finding(new)'.",
)


def _options(fail_if: str, *more: Callable[[Any], Any]) -> Callable[[Any], Any]:
    options = (
        click.option("--fail-if", type=Condition(), multiple=True, metavar="CONDITION", help=fail_if),
        *more,
    )

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


gate_options = _options(_FAIL_IF, baseline_option)
compared_options = _options(_FAIL_IF_COMPARED)
"""The same where two captures are compared."""


class Gating(Struct, frozen=True):
    """What was asked for: the gates, and the baseline of those that compare with one."""

    gates: tuple[Gate, ...]
    baseline: Measured | None = None

    def judge(
        self,
        capture: Capture,
        result: Analysis | None = None,
        conditions: Conditions | None = None,
        *,
        before: Capture | None = None,
    ) -> Gates | None:
        """Say what became of the gates; `None` where there are none.

        `conditions` are what else is different where a gate's RTT is; `before` is the capture to compare with.
        """
        if not self.gates:
            return None
        from latpcap.result.figures import of_measures
        from latpcap.result.gates import judge, rtts_of

        rtts = rtts_of(self.gates)
        baseline = of_measures(before.measures, rtts) if before is not None else self.baseline
        return judge(self.gates, of_measures(capture.measures, rtts, result, conditions), baseline)


def gating_of(options: dict[str, Any], *, compared: bool = False) -> Gating:
    """What the options of a command ask for; the baseline is read before the captures, which take longer.

    `compared`: a capture is the baseline.
    """
    gates, path = options.pop("fail_if"), options.pop("baseline", None)
    needing = [gate for gate in gates if gate.needs_baseline]
    if path is None:
        if needing and not compared:
            raise UsageError(f"`{needing[0].text}`: name the earlier result to compare with: --baseline FILE")
        return Gating(gates)
    if not needing:
        raise UsageError("--baseline: no condition of --fail-if compares with it; write 'round_trips > baseline + 10%'")
    return Gating(gates, _baseline(path, needing))


def _baseline(path: str, gates: Iterable[Gate]) -> Measured:
    """The baseline, which has all that is asked of it."""
    from latpcap.result.baseline import saved
    from latpcap.result.gates import before_of

    baseline = saved(path)
    for gate in gates:
        before_of(gate, baseline)
    return baseline


def end_with(gates: Gates | None) -> None:
    """End with status 1 where a gate failed; the results are written before."""
    if gates is not None:
        gates.enforce()
