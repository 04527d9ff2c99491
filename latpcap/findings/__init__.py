"""Which patterns cost the round trips, and what each fix would save.

One finding a file: its texts and one pure function over the columns (`latpcap.findings.registry` lists them). How they
share out the round trips: `latpcap.findings.overlap`; docs/findings.md has each rule.
"""

from __future__ import annotations

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Effect, Finding
from latpcap.findings.recognise import candidates, find
from latpcap.findings.result import FindingResult, FixesTogether, finding_results, fixes_together
from latpcap.findings.savings import Savings

__all__ = ["Effect", "Evidence", "Finding", "FindingResult", "FixesTogether", "Savings"]
__all__ += ["candidates", "find", "finding_results", "fixes_together"]
