"""`compare()` and `validate()`: two captures of one job, given as they were read or as whatever `read` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from latpcap.capture import Capture
from latpcap.errors import UsageError
from latpcap.quantities import Duration
from latpcap.reading import ReadOptions, read
from latpcap.report import BEFORE_AFTER, chosen_format
from latpcap.result.pairs import comparison, validation
from latpcap.result.pairs.before_after import before_after
from latpcap.result.pairs.comparison import Comparison
from latpcap.result.pairs.validation import Validation
from latpcap.tables.privacy.pseudonyms import Pseudonyms
from latpcap.tables.reading.keys import key_log
from latpcap.tables.writing import outputs


def compare(before: Any, after: Any, *, report: str | Path | None = None, **reading: Unpack[ReadOptions]) -> Comparison:
    """Return what is different between two captures of one job: what was added, what is gone, and what explains it.

    Each is a `Capture`, or what `read` takes, to which `reading` is passed on (`rtt_baseline_ms` is that of `before`).
    `report` is a path that ends with `.html` or `.md`: the report of both, before and after, is written there.

    >>> latpcap.compare("release-1.pcapng", "release-2.pcapng").explanation  # doctest: +SKIP

    Raises `CaptureError` where a file cannot be read, `NoDatabaseTraffic` where there is none in one of them.
    """
    chosen = None if report is None else chosen_format(["comparison"], report)
    first, second = _both(before, after, None, reading)
    if report is not None:
        outputs.check([report], (*first.inputs, *second.inputs))
        text: str = BEFORE_AFTER[chosen or ""](before_after(first.measures, second.measures), None)
        outputs.write(report, [text])
    return comparison.compare(first.analyze(), second.analyze())


def validate(
    base: Any, against: Any, *, against_rtt_ms: Duration | None = None, **reading: Unpack[ReadOptions]
) -> Validation:
    """Return how right the projection of `base` onto the RTT of `against`, a capture of the same job, is.

    Each is a `Capture`, or what `read` takes, to which `reading` is passed on. `against_rtt_ms` is the RTT of
    `against`, and `rtt_baseline_ms` that of `base`, where you know it better than the captures: a number of
    milliseconds, or a text such as `"15ms"`.

    >>> latpcap.validate("lan.pcapng", "wan.pcapng").error  # doctest: +SKIP

    Raises what `compare` does, and `UsageError` where an RTT is unknown or the two are not the same job.
    """
    return validation.validate(*_both(base, against, against_rtt_ms, reading))


def _both(first: Any, second: Any, rtt_ms: Duration | None, reading: ReadOptions) -> tuple[Capture, Capture]:
    """Both, read where they were not: a host has one pseudonym in both, and a key log may be of either."""
    if isinstance(second, Capture) and (rtt_ms is not None or (isinstance(first, Capture) and reading)):
        raise UsageError("a capture keeps what it was read with: give such options to latpcap.read")
    names = reading.get("pseudonymise", False)
    reading["pseudonymise"] = names = Pseudonyms() if names is True else names
    if reading.get("keylog") is not None:
        reading["keylog"] = key_log(reading["keylog"], show_names=not names)
    first, reading["rtt_baseline_ms"] = _read(first, **reading), rtt_ms
    return first, _read(second, **reading)


def _read(source: Any, **reading: Unpack[ReadOptions]) -> Capture:
    return source if isinstance(source, Capture) else read(source, **reading)
