"""Describe the machine that a recording is made on: what its processors are, what its link adds, how late it wakes up."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))

from manifest import LOOPBACK_MS
from record import echo, lab

from latpcap import _core

ECHOES = 20
"""Echoes of each kind at each RTT."""
SYSTEM = Path("/sys/devices/system/cpu")


def client_at(link_ms: float) -> tuple[str, str]:
    """Namespace and device of the client: beside the server where no link is asked for."""
    return lab.LOOPBACK if link_ms == LOOPBACK_MS else lab.CLIENT


def described() -> dict[str, Any]:
    """The processors; `None` where the machine does not say."""
    about = cpu_info()
    return {
        "processor": about.get("model name"),
        "count": os.cpu_count(),
        "virtual": "hypervisor" in about["flags"].split() if "flags" in about else None,
        "system": f"{platform.machine()}, Linux {platform.release()}",
        "cpuidle_driver": setting("cpuidle/current_driver"),
        "cpuidle_governor": setting("cpuidle/current_governor") or setting("cpuidle/current_governor_ro"),
        "cpufreq_governor": setting("cpu0/cpufreq/scaling_governor"),
        "load": round(os.getloadavg()[0], 2),
    }


def cpu_info() -> dict[str, str]:
    """The fields of the first processor."""
    first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    fields = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in fields}


def setting(name: str) -> str | None:
    path = SYSTEM / name
    return path.read_text().strip() if path.exists() else None


def link_echoes(rtts_ms: tuple[float, ...]) -> list[tuple[float, float, float]]:
    """By RTT of the link: the medians of pings and of echoes between two programs, in ms, while nothing else runs."""
    found = []
    with echo.answering():
        for rtt_ms in sorted(rtts_ms):
            lab.set_link(rtt_ms)
            heard = echo.measured(ECHOES, client_at(rtt_ms)[0])
            found.append((rtt_ms, heard["echo_ms"], heard["echo_tcp_ms"]))
    lab.set_link()
    return found


def rests() -> list[tuple[float, float]]:
    """Measure the rest curve: rests, and how much later this machine answers behind each, in ms."""
    return [(rest_ms, round(extra_ms, 4)) for rest_ms, extra_ms in zip(*_core.measure_rests(), strict=True)]
