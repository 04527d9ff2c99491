"""Gates on the command line: `--fail-if`, what they compare with, and where their results go beside the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import click
from msgspec import Struct

from latpcap.cli.shared import values
from latpcap.cli.shared.files import BASELINE, CI_OUTPUT, GITHUB
from latpcap.cli.shared.io import write
from latpcap.cli.shared.options import Parsed, gathered
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.projection.assumptions import Conditions
    from latpcap.result.analysis import Analysis
    from latpcap.result.checks.figures import Measured
    from latpcap.result.checks.gate_report import Checked
    from latpcap.result.checks.gates import Gate, Gates
    from latpcap.result.checks.row_gates import RowBaseline, RowGate
    from latpcap.tables.columnar.table import Table


def _gate(text: str) -> Gate:
    from latpcap.result.checks.gates import parse

    return parse(text)


def _row_gate(text: str) -> RowGate:
    from latpcap.result.checks.row_gates import parse_row_gate

    return parse_row_gate(text)


_FAIL_IF = "Exit with status 1 if this holds: 'round_trips > 500', 'project(15ms) > 60s', 'finding(n+1)'; repeatable."
_FAIL_IF_COMPARED = (
    "Exit with status 1 if this holds for AFTER, with BEFORE as the baseline: 'round_trips > baseline + 10%', "
    "'runtime > baseline * 1.1', 'finding(new)'; repeatable."
)
_FAIL_IF_ANY = (
    "Exit with status 1 if this holds for any row: 'round_trips > 50', 'share_per_ms > 5%'; for a column in s or ms "
    "leave out its suffix and give a duration: 'runtime > 2s'; repeatable."
)
_BASELINE = click.option(
    "--baseline",
    type=BASELINE,
    metavar="FILE",
    help="An earlier result (`analyze --json`) for --fail-if to compare with: 'round_trips > baseline + 10%', "
    "'finding(new)'.",
)
_ROW_BASELINE = click.option(
    "--baseline",
    type=BASELINE,
    metavar="FILE",
    help="Earlier rows (this command's --json) for --fail-if to compare the same rows with: "
    "'round_trips > baseline + 10%'.",
)
_CI = click.option(
    "--ci",
    type=CI_OUTPUT,
    multiple=True,
    metavar="FILE|github",
    help="Also report gates and findings to a build server: FILE.xml as JUnit XML (a test for each gate), FILE.sarif "
    "as SARIF 2.1.0, github as workflow annotations on standard error; repeatable.",
)


class GateReports(Struct, frozen=True):
    """Other places to report gates to."""

    files: tuple[tuple[str, str], ...] = ()
    """The format (`junit`, `sarif`) and path of each file."""
    annotations: bool = False

    def tell(self, gates: Gates | None, found: Callable[[Gates], Checked]) -> None:
        """Tell of them, and end with status 1 where one failed; the result of the command is written before."""
        if self.files or self.annotations:
            from latpcap.report import GATE_FORMATS
            from latpcap.result.checks.gates import Gates

            checked = found(gates or Gates())
            for name, path in self.files:
                write([GATE_FORMATS[name](checked)], path)
            if self.annotations:
                click.echo(GATE_FORMATS[GITHUB](checked), err=True, nl=False)
        if gates is not None:
            gates.enforce()


class Gating(Struct, frozen=True):
    """The gates asked for, the baseline of those that compare with one, and where else to tell of them."""

    gates: tuple[Gate, ...]
    told: GateReports
    baseline: Measured | None = None

    @property
    def is_asked(self) -> bool:
        """Whether anything is to be judged or reported."""
        return bool(self.gates) or self.told != GateReports()

    @property
    def hashes(self) -> bool:
        """Whether the report names the files by their SHA-256: SARIF does."""
        return any(name == "sarif" for name, _ in self.told.files)

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
        from latpcap.result.checks.figures import of_measures
        from latpcap.result.checks.gates import judge, rtts_of

        rtts = rtts_of(self.gates)
        baseline = of_measures(before.measures, rtts) if before is not None else self.baseline
        return judge(self.gates, of_measures(capture.measures, rtts, result, conditions), baseline)

    def judge_found(self, capture: Capture, rows: Callable[[], Table], named_by: Sequence[str]) -> Gates | None:
        """Judge a command whose result are rows of a capture, which these gates do not ask for."""
        return self.judge(capture)

    def end(self, gates: Gates | None, capture: Capture, result: Analysis | None = None) -> None:
        """Tell of the gates where that was asked for, and end with status 1 where one failed."""
        if not self.is_asked:
            return
        from latpcap._core import __version__
        from latpcap.result.checks.gate_report import checked

        self.told.tell(gates, lambda judged: checked(result or capture.analyze(), judged, __version__))


class RowGating(Struct, frozen=True):
    """Gates on rows."""

    hashes: ClassVar = False
    """Reports of rows name no file by its SHA-256."""

    gates: tuple[RowGate, ...]
    told: GateReports
    baseline: RowBaseline | None = None

    def judge(self, rows: Table, *named_by: str) -> Gates | None:
        """Say what became of the gates; rows are called as the first of these columns that says something has it."""
        if not self.gates:
            return None
        from latpcap.result.checks.row_gates import judge_rows

        return judge_rows(self.gates, rows, named_by, self.baseline)

    def judge_found(self, capture: Capture, rows: Callable[[], Table], named_by: Sequence[str]) -> Gates | None:
        """Judge rows of a capture."""
        return self.judge(rows(), *named_by)

    def end(self, gates: Gates | None, capture: Capture) -> None:
        """Tell of the gates where that was asked for, and end with status 1 where one failed."""
        self.end_of(gates, capture.captures.column("path"))

    def end_of(self, gates: Gates | None, captures: Iterable[str]) -> None:
        """End as `end` does, for several captures."""
        from latpcap._core import __version__
        from latpcap.result.checks.gate_report import checked_rows

        self.told.tell(gates, lambda judged: checked_rows(captures, judged, __version__))


def _gating(fail_if: tuple[Gate, ...], baseline: str | None = None, *, ci: tuple[str, ...]) -> Gating:
    """Return what the options ask for; refuse before the captures are read, which takes longer."""
    _refuse_no_baseline(fail_if, baseline)
    if baseline is None:
        return Gating(fail_if, _told(fail_if, ci))
    from latpcap.result.checks.baseline import saved
    from latpcap.result.checks.gates import before_of

    measured = saved(baseline)
    for gate in fail_if:
        before_of(gate, measured)  # it has all that is asked of it
    return Gating(fail_if, _told(fail_if, ci), measured)


def _compared_gating(fail_if: tuple[Gate, ...], ci: tuple[str, ...]) -> Gating:
    """Compare with the first of two captures."""
    return Gating(fail_if, _told(fail_if, ci))


def _row_gating(fail_if: tuple[RowGate, ...], baseline: str | None = None, *, ci: tuple[str, ...]) -> RowGating:
    _refuse_no_baseline(fail_if, baseline)
    if baseline is None:
        return RowGating(fail_if, _told(fail_if, ci))
    from latpcap.result.checks.row_gates import saved_rows

    return RowGating(fail_if, _told(fail_if, ci), saved_rows(baseline, click.get_current_context().info_name or ""))


def _refuse_no_baseline(gates: Sequence[Gate] | Sequence[RowGate], baseline: str | None) -> None:
    """A baseline is there where a gate compares with one, and nowhere else."""
    needing = [gate for gate in gates if gate.needs_baseline]
    if baseline is None and needing:
        raise UsageError(f"`{needing[0].text}`: name the earlier result to compare with: --baseline FILE")
    if baseline is not None and not needing:
        raise UsageError("--baseline: no condition of --fail-if compares with it; write 'round_trips > baseline + 10%'")


def _told(gates: Sequence[object], ci: tuple[str, ...]) -> GateReports:
    """Return where else to tell of gates."""
    if "-" in ci:
        raise UsageError("--ci writes files: standard output has the result")
    files = [(_format(path), path) for path in ci if path != GITHUB]
    if not gates and (junit := next((path for name, path in files if name == "junit"), None)):
        raise UsageError(f"{junit}: there is no gate to report; write --fail-if 'round_trips > 500'")
    return GateReports(tuple(files), GITHUB in ci)


def _format(path: str) -> str:
    """Return the format of a file for build servers."""
    if path.lower().endswith(".xml"):
        return "junit"
    if path.lower().endswith((".sarif", ".sarif.json")):
        return "sarif"
    raise UsageError(f"{path}: name a file that ends with .xml (JUnit XML) or .sarif, or write `--ci github`")


def _options(make: Callable[..., Any], fail_if: str, *more: Callable[[Any], Any]) -> Callable[[Any], Any]:
    of_rows = make is _row_gating
    condition = click.option(
        "--fail-if",
        type=Parsed("condition", _row_gate if of_rows else _gate),
        multiple=True,
        metavar="CONDITION",
        help=fail_if,
        shell_complete=values.columns if of_rows else values.completes(values.conditions),
    )
    return gathered("gating", make, condition, *more, _CI)


gate_options = _options(_gating, _FAIL_IF, _BASELINE)
compared_options = _options(_compared_gating, _FAIL_IF_COMPARED)
"""Gate options where two captures are compared."""
row_gate_options = _options(_row_gating, _FAIL_IF_ANY)
"""Gate options of commands that write rows."""
keyed_row_gate_options = _options(_row_gating, _FAIL_IF_ANY, _ROW_BASELINE)
"""Gate options of rows that have a name in another capture, too."""
