"""Which latpcap this is: what somebody who reports a fault is asked first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from importlib.metadata import Distribution


def version_option() -> click.Option:
    """`--version`."""
    return click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_tell,
        help="Show the version and exit.",
    )


def _tell(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import distribution
        from platform import python_version

        wheel = distribution("latpcap")
        click.echo(f"latpcap {wheel.version} ({_build(wheel)}, Python {python_version()})")
        ctx.exit()


def _build(wheel: Distribution) -> str:
    """The platform of the wheel, and the digest of its core, as `sha256sum` begins it."""
    from base64 import urlsafe_b64decode

    told = (wheel.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ").rpartition("-")[2] for line in told if line.startswith("Tag: ")]
    digests = [file.hash.value for file in wheel.files or [] if file.name.startswith("_core.") and file.hash]
    core = f"build {urlsafe_b64decode(f'{digests[0]}=').hex()[:12]}" if digests else "from a working tree"
    return ", ".join([*tags[:1], core])
