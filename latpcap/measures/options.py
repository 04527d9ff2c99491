"""The options of the measures and their defaults: the command line needs no more of them."""

from __future__ import annotations

from typing import Literal

TaskBy = Literal["idle", "route"]
"""The end of a task: a rest, or the next route, too."""

GROUPINGS = ("user", "database", "client", "application", "server")
"""The fields of a connection by which exchanges can be summed up instead of by statement."""

IDLE_S = 1.0
"""A client that asks for nothing for longer has ended its task; the threshold of think time."""
