"""Gates on the command line: `--fail-if`, what they compare with, and where their results go beside the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem
from msgspec import Struct

from latpcap.cli import values
from latpcap.cli.files import BASELINE, OUTPUT
from latpcap.cli.io import write
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.projection.assumptions import Conditions
    from latpcap.result.analysis import Analysis
    from latpcap.result.checked import Checked
    from latpcap.result.figures import Measured
    from latpcap.result.gates import Gate, Gates
    from latpcap.result.row_gates import RowGate
    from latpcap.tables.table import Table

__all__ = [
    "Gating",
    "RowGating",
    "compared_options",
    "gate_options",
    "gating_of",
    "row_gate_options",
    "row_gating_of",
]

ANNOTATIONS = ("github",)
"""Whose annotations there are."""
_FILES = {"junit": "junit_xml", "sarif": "sarif"}
"""The option of each format that is written to a file."""


class RowCondition(click.ParamType[Any]):
    """`round_trips > 50`: a gate of rows."""

    name = "condition"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `value`."""
        from latpcap.result.row_gates import parse_row_gate

        return parse_row_gate(value) if isinstance(value, str) else value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The columns."""
        return values.columns(ctx, param, incomplete)


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
_FAIL_IF_ANY = (
    "Exit with status 1 if this holds for any row: 'round_trips > 50', 'share_per_ms > 5%'; columns in s or ms are "
    "written without that and compared with a duration: 'runtime > 2s'; repeatable."
)
_BASELINE = click.option(
    "--baseline",
    type=BASELINE,
    metavar="FILE",
    help="An earlier result (`analyze --json`), which --fail-if may compare with: 'round_trips > baseline + 10%', "
    "'finding(new)'.",
)
_JUNIT = click.option("--junit-xml", type=OUTPUT, metavar="FILE", help="Also write gates as JUnit XML, a test each.")
_SARIF = click.option("--sarif", type=OUTPUT, metavar="FILE", help="Also write gates and findings as SARIF 2.1.0.")
_ANNOTATIONS = click.option(
    "--annotations",
    type=click.Choice(ANNOTATIONS),
    help="Also print gates and findings on standard error, as annotations of a GitHub workflow.",
)


def _options(kind: click.ParamType[Any], fail_if: str, *more: Callable[[Any], Any]) -> Callable[[Any], Any]:
    condition = click.option("--fail-if", type=kind, multiple=True, metavar="CONDITION", help=fail_if)

    def decorate(command: Any) -> Any:
        for option in reversed((condition, *more)):
            command = option(command)
        return command

    return decorate


gate_options = _options(Condition(), _FAIL_IF, _BASELINE, _JUNIT, _SARIF, _ANNOTATIONS)
compared_options = _options(Condition(), _FAIL_IF_COMPARED, _JUNIT, _SARIF, _ANNOTATIONS)
"""The same where two captures are compared."""
row_gate_options = _options(RowCondition(), _FAIL_IF_ANY, _JUNIT, _ANNOTATIONS)
"""The same for commands whose result are rows."""


class Told(Struct, frozen=True):
    """Where else to tell of gates, beside the result."""

    files: Mapping[str, str] = {}
    """By what is written into them: `junit`, `sarif`."""
    annotations: str | None = None

    def tell(self, gates: Gates | None, found: Callable[[Gates], Checked]) -> None:
        """Tell of them, and end with status 1 where one failed; the result of the command is written before."""
        if self.files or self.annotations:
            from latpcap.report import GATE_FORMATS
            from latpcap.result.gates import Gates

            checked = found(gates or Gates())
            for name, path in self.files.items():
                write([GATE_FORMATS[name](checked)], path)
            if self.annotations:
                click.echo(GATE_FORMATS[self.annotations](checked), err=True, nl=False)
        if gates is not None:
            gates.enforce()


class Gating(Struct, frozen=True):
    """What was asked for: the gates, the baseline of those that compare with one, and where else to tell of them."""

    gates: tuple[Gate, ...]
    told: Told
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

    def end(self, gates: Gates | None, capture: Capture, result: Analysis | None = None) -> None:
        """Tell of the gates where that was asked for, and end with status 1 where one failed."""
        from latpcap.result.checked import checked

        self.told.tell(gates, lambda judged: checked(result or capture.analyze(), judged, version("latpcap")))


class RowGating(Struct, frozen=True):
    """The same for rows."""

    gates: tuple[RowGate, ...]
    told: Told

    def judge(self, rows: Table, *named_by: str) -> Gates | None:
        """Say what became of the gates; rows are called as the first of these columns that says something has it."""
        if not self.gates:
            return None
        from latpcap.result.row_gates import judge_rows

        return judge_rows(self.gates, rows, named_by)

    def end(self, gates: Gates | None, captures: Iterable[str]) -> None:
        """Tell of the gates where that was asked for, and end with status 1 where one failed."""
        from latpcap.result.checked import checked_rows

        self.told.tell(gates, lambda judged: checked_rows(captures, judged, version("latpcap")))


def gating_of(options: dict[str, Any], before: str | None = None) -> Gating:
    """What the options of a command ask for; refused before the captures are read, which takes longer.

    `before` is the capture that is compared with.
    """
    gates: tuple[Gate, ...] = options.pop("fail_if")
    told, path = _told(options, gates), options.pop("baseline", None)
    needing = [gate for gate in gates if gate.needs_baseline]
    if path is None:
        if needing and before is None:
            raise UsageError(f"`{needing[0].text}`: name the earlier result to compare with: --baseline FILE")
        return Gating(gates, told)
    if not needing:
        raise UsageError("--baseline: no condition of --fail-if compares with it; write 'round_trips > baseline + 10%'")
    return Gating(gates, told, _baseline(path, needing))


def row_gating_of(options: dict[str, Any]) -> RowGating:
    """The same for rows."""
    gates: tuple[RowGate, ...] = options.pop("fail_if")
    return RowGating(gates, _told(options, gates))


def _told(options: dict[str, Any], gates: Sequence[object]) -> Told:
    """Where else to tell of gates."""
    files = {name: path for name, option in _FILES.items() if (path := options.pop(option, None)) is not None}
    if "junit" in files and not gates:
        raise UsageError("--junit-xml: there is no gate to tell of; write --fail-if 'round_trips > 500'")
    if "-" in files.values():
        raise UsageError("--junit-xml and --sarif write files: standard output has the result")
    return Told(files, options.pop("annotations"))


def _baseline(path: str, gates: Iterable[Gate]) -> Measured:
    """The baseline, which has all that is asked of it."""
    from latpcap.result.baseline import saved
    from latpcap.result.gates import before_of

    baseline = saved(path)
    for gate in gates:
        before_of(gate, baseline)
    return baseline
