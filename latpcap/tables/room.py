"""Memory that reading needed, and nothing needs any more."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["give_back"]


def give_back() -> None:
    """Let the system have what was freed: a few kB for each connection that was open.

    glibc keeps it for the threads that read the capture, which are gone, while Python asks for more.
    """
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
