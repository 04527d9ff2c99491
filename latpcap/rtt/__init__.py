"""The RTTs of a recording: what the core estimates (`core/src/rtt/`, with a drawing), in columns and in words.

baselines.py  RTTs and where they come from    phases.py  when they changed    estimate.py  of what, and all together
"""

from latpcap.rtt.baselines import LOOPBACK, Baselines, Method, Reason
from latpcap.rtt.estimate import BehindProxy, Estimate, Paths, estimate_recording

__all__ = ["LOOPBACK", "Baselines", "BehindProxy", "Estimate", "Method", "Paths", "Reason", "estimate_recording"]
