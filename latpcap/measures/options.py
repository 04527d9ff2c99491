"""The options of the measures and their defaults: the command line needs no more of them."""

from __future__ import annotations

from typing import Literal

TaskBy = Literal["idle", "route"]
"""What ends a task: a rest, or the next route, too."""

GROUPINGS = ("user", "database", "client", "application", "server")
"""What exchanges can be summed up by instead of by statement: what their connection tells."""

IDLE_S = 1.0
"""A client that asks for nothing for longer has ended its task; the threshold of think time."""
