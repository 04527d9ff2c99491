"""Results in a notebook, as HTML; everything that a capture contains is escaped.

Nothing needs a network. The report's page is a document of its own, within a frame that may do nothing but run the
page's own scripts: neither's style reaches the other, and the page cannot reach the notebook.
"""

from __future__ import annotations

import base64
from html import escape

from latpcap.display import Displayed, as_html
from latpcap.errors import UsageError
from latpcap.projection.project import Projection
from latpcap.report import report_to
from latpcap.report.markup import fragment
from latpcap.report.plot import as_svg
from latpcap.report.section import sections_of
from latpcap.result.analysis import Measures

MIN_POINTS = 2
"""A curve with fewer points is not drawn."""
MAX_PAGE_CHARS = 1_000_000
"""A notebook keeps what it shows, so a page in it has at most this many characters."""


def page_within(measures: Measures) -> str:
    """Return the report's page in a frame; what is said on it where it is too large for a notebook."""
    page: str = report_to("report.html")(measures)
    inner = page.translate({ord(sign): f"&#{ord(sign)};" for sign in "&<>'"})
    if len(inner) > MAX_PAGE_CHARS:
        return f"{render(measures.analyze())}<p>The whole report: <code>capture.report('report.html')</code></p>"
    style = "width:100%;height:80vh;min-height:30rem;border:1px solid #8888;border-radius:4px;background:#fff"
    return f"<iframe sandbox='allow-scripts' title='latpcap: report' style='{style}' srcdoc='{inner}'></iframe>"


@as_html.register
def render(result: Displayed) -> str:
    """Return what is said of it in any format, and the curve of a projection; of what has no sections its fields."""
    said = "".join(map(fragment, sections_of(result)))
    return _curve(result) + said if said else f"<pre>{escape(repr(result))}</pre>"


def _curve(result: Displayed) -> str:
    """As an image, in which nothing runs; nothing where there is no curve, or where what draws it is not installed."""
    if not isinstance(result, Projection) or result.baseline_rtt_ms is None or len(result.points) < MIN_POINTS:
        return ""
    try:
        image = base64.b64encode(as_svg(result).encode()).decode()
    except UsageError:
        return ""
    return f"<img alt='runtime over RTT' src='data:image/svg+xml;base64,{image}'>"
