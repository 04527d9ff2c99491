"""The secrets of TLS sessions, from the command that is recorded into the recording.

The command is told where to log them in the words of each runtime (docs/keys.md has those of all clients). Java has no
setting of its own but an agent that must be downloaded, so it is not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from latpcap import _core
from latpcap.errors import CaptureError, DiskFull, UsageError
from latpcap.tables.writing.outputs import written


def told_to_log(keys: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command that is to log its secrets into this file, beside a log that it has anyway."""
    node = f"{environment.get('NODE_OPTIONS', '')} --tls-keylog={keys}".strip()
    return {**environment, "SSLKEYLOGFILE": str(keys), "NODE_OPTIONS": node}


def embed(keys: _core.KeyLog, recording: _core.Recording, path: Path) -> int:
    """Write the secrets that open sessions of the recording into its file; return of how many sessions they are."""
    try:
        with written(path, private=True) as file:
            *_, sessions = _core.annotate(
                [str(path)], iter(()), file.name, embed_keys=True, keylog=keys, recording=recording
            )
    except (OSError, UsageError, DiskFull, _core.CaptureError) as error:
        raise CaptureError(f"{path}: the secrets could not be written into it: {error}") from None
    return int(sessions)
