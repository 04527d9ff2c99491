"""Options that several commands share, and how their values are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import chain
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from msgspec import Struct

from latpcap.cli.shared import values
from latpcap.cli.shared.files import CAPTURE, FOLDER, KEY_LOG, OUTPUT
from latpcap.cli.shared.request import request_of
from latpcap.errors import UsageError, did_you_mean
from latpcap.report.destination import COLOURS, send_to
from latpcap.units import (
    RTT_IS,
    parse_bandwidth,
    parse_counts,
    parse_distance_km,
    parse_duration_ms,
    parse_left,
    parse_list_ms,
    parse_part,
    parse_room,
    parse_rtt_ms,
    parse_share,
    parse_size,
    parse_window,
    port_number,
)

Command = TypeVar("Command", bound=Callable[..., Any])


class Choice(click.Choice[str]):
    """One of several words."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return what is wrong, with the word that was meant, else with all."""
        return f"`{value}` is none of its values{did_you_mean(str(value), map(str, self.choices), 'write')}"


class Parsed(click.ParamType[Any]):
    """A value as `parse` reads it, which raises `UsageError` with what is right."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        """Take what click calls it, and who reads it."""
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `value`."""
        return self._parse(value) if isinstance(value, str) else value


class Quantity(Parsed):
    """A number with its unit, or something as short: what is wrong with it is told with the option's name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `value`."""
        try:
            return super().convert(value, param, ctx)
        except UsageError as error:
            self.fail(str(error), param, ctx)


def _port_protocol(text: str) -> tuple[int, str]:
    port, _, protocol = text.partition("=")
    number = port_number(port)
    if number is None or not protocol:
        raise UsageError(f"`{text}` is not PORT=PROTOCOL, for instance 3307=mysql")
    from latpcap._core import protocols

    known = protocols()
    if protocol not in known:
        raise UsageError(f"no protocol is called `{protocol}`{did_you_mean(protocol, known, 'there are')}")
    return number, protocol


def _server_rtt(text: str) -> tuple[str, float]:
    server, _, rtt = text.rpartition("=")
    if not server:
        raise UsageError(f"`{text}` is not SERVER=RTT, for instance 10.0.0.5:3306=15ms")
    return server, parse_rtt_ms(rtt)


def _fix(text: str) -> Any:
    from latpcap.findings.what_if import parse_fix

    return parse_fix(text)


def _date(text: str) -> str:
    from latpcap.result.cover import date_of

    return date_of(text)


DURATION = Quantity("duration", parse_duration_ms)
"""`500us`, `15ms`, `1.5s`; the value is in ms."""
RTT = Quantity("duration", parse_rtt_ms)
"""An RTT; a bare number is milliseconds, since RTTs are in ms everywhere."""
RTT_LIST = Quantity("list", parse_list_ms)
"""RTTs with commas between them; the value is a list in ms."""


def all_of(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one, in their order."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def gathered(
    name: str, make: Callable[..., Any], *options: Callable[[Any], Any], also: Sequence[str] = ()
) -> Callable[[Command], Command]:
    """Options whose values a command gets as one argument: what `make` makes of them, and of others called `also`."""

    def takes_options() -> None:
        pass

    all_of(*options)(takes_options)
    params: list[click.Parameter] = getattr(takes_options, "__click_params__", [])
    names = [*also, *(str(param.name) for param in params if param.expose_value)]

    def decorate(run: Command) -> Command:
        @wraps(run)
        def gathering(**given: Any) -> Any:
            mine = {each: given.pop(each) for each in names if each in given}
            return run(**given, **{name: make(**mine)})

        decorated: Command = all_of(*options)(gathering)
        return decorated

    return decorate


def flat(lists: Sequence[Sequence[float]]) -> list[float] | None:
    """The values of a repeatable list option in one list; `None` where it was not given."""
    return list(chain.from_iterable(lists)) or None


def in_seconds(milliseconds: float | None) -> float | None:
    """Milliseconds as seconds."""
    return None if milliseconds is None else milliseconds / 1000


connection_options = all_of(
    click.option("--stream", multiple=True, metavar="NUMBERS", help="Only these connections (tcp.stream): 0,3-5."),
    click.option(
        "--client", multiple=True, metavar="ADDRESS", help="Only from this client: host, host:port, :port, net/24."
    ),
    click.option("--server", multiple=True, metavar="ADDRESS", help="Only to this server, for instance 10.0.0.5:3306."),
    click.option(
        "--user", multiple=True, metavar="NAME", help="Only this user; also `app*` (wildcard), `!batch` (not)."
    ),
    click.option("--database", multiple=True, metavar="NAME", help="Only this database."),
    click.option(
        "--application",
        multiple=True,
        metavar="NAME",
        help="Only this application: the name it reports, or its driver or framework.",
    ),
    click.option(
        "--protocol",
        multiple=True,
        metavar="NAME",
        shell_complete=values.completes(values.protocols),
        help="Only this protocol: mysql, postgresql, …",
    ),
)
"""Each that can be given several times means any of these; different ones must all hold: docs/tables.md."""

_selection_options = all_of(
    connection_options,
    click.option(
        "--from", "start", metavar="TIME", help="Only exchanges from this time on: 14:05 (UTC), +90s, frame:1200."
    ),
    click.option(
        "--to", "end", metavar="TIME", help="Only exchanges before this time: the same forms, or 2026-11-22T14:05:30Z."
    ),
)

decode_as_option = click.option(
    "--decode-as",
    type=Quantity("port=protocol", _port_protocol),
    shell_complete=values.completes(values.ports),
    multiple=True,
    metavar="PORT=PROTOCOL",
    help="Protocol of a server port that latpcap does not recognise (`opaque`: any protocol, timing only); repeatable.",
)


keylog_option = click.option(
    "--keylog",
    metavar="FILE",
    type=KEY_LOG,
    multiple=True,
    help="TLS secrets logged by the client (SSLKEYLOGFILE), to read encrypted statements; repeatable.",
)


def _set_colour(ctx: click.Context, param: click.Parameter, value: str) -> None:
    """Behind the command's name it overrules what stands before; there it begins anew."""
    if ctx.parent is None or ctx.get_parameter_source("color") is not ParameterSource.DEFAULT:
        send_to(colour=value)


def _set_utc(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Before the command's name or behind it."""
    if ctx.parent is None or value:
        send_to(is_utc=value)


EVERYWHERE = (
    click.Option(["--show-literals"], is_flag=True,
                 help="Show the literals in statements; they may contain personal data."),
    click.Option(["--pseudonymise"], is_flag=True,
                 help="Show client-1, server-1:3306, user-1, database-1, … instead of real names; tables in statements "
                 "keep theirs."),
    click.Option(["--memory"], type=Quantity("size", parse_size), default="1GB", metavar="SIZE", show_default=True,
                 help="Memory for reading captures; exchanges beyond it go to temporary files."),
    click.Option(["--disk"], type=Quantity("size", parse_room), default="20GB", metavar="SIZE", show_default=True,
                 help="Disk space for temporary files, 0 for none; data beyond it is left out, with a note."),
    click.Option(["--temp-folder"], metavar="FOLDER", type=FOLDER,
                 help="Folder for temporary files; by default $TMPDIR, else /var/tmp."),
    click.Option(["--quiet"], is_flag=True, help="No progress and no warnings on standard error."),
    click.Option(["--color"], type=Choice(COLOURS), default="auto", show_default=True, expose_value=False,
                 callback=_set_colour,
                 help="Colour; auto: on a terminal, subject to NO_COLOR, CLICOLOR_FORCE and FORCE_COLOR."),
    click.Option(["--utc"], is_flag=True, expose_value=False, callback=_set_utc,
                 help="Show UTC without local time beside it; files, CSV and JSON are always in UTC."),
)  # fmt: skip
"""Options of latpcap itself: how a run reads, shows and speaks. They stand before a command's name or behind it."""
ROOM = ("show_literals", "pseudonymise", "memory", "disk", "temp_folder")
"""Options of captures that are read."""

_baseline_option = click.option(
    "--rtt-baseline",
    type=RTT,
    metavar="DURATION",
    help="RTT of the captured traffic, to override the measured one.",
)
analysing_options = all_of(
    click.option("--think", type=DURATION, default="1s", metavar="DURATION", show_default=True,
                 help="Client time above this is think time, which stays the same at any RTT."),
    _baseline_option,
)  # fmt: skip

CAPTURE_HELP = (
    "CAPTURE is a pcap or pcapng file (also .gz, .zst, .lz4), a glob, a URL (s3://bucket/ring_*.pcapng), `-` for a "
    "pipe, or the folder of a dataset that `latpcap scan` has made; several files are one recording."
)
captures_argument = click.argument("captures", nargs=-1, required=True, metavar="CAPTURE...", type=CAPTURE)


def requesting(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Options that a command gets as its `request`, with those of all commands."""
    return gathered("request", request_of, *options, also=(*ROOM, "quiet", "rtt_is"))


_how_to_find = (_selection_options, decode_as_option, keylog_option)
_how_to_read = (*_how_to_find, analysing_options)
reading_options = requesting(captures_argument, *_how_to_read)
two_captures_options = requesting(*_how_to_read)
finding_options = requesting(captures_argument, *_how_to_find)
"""Options that find packets and divide no time."""
scanning_options = requesting(captures_argument, decode_as_option, keylog_option)
"""To read captures, whatever is asked of them later."""

rtt_is_option = click.option(
    "--rtt-is",
    type=Choice(RTT_IS),
    default="ping",
    show_default=True,
    help="How the RTT to project onto was measured: by ping, from TCP handshakes, or in the data stream.",
)

rtt_option = click.option(
    "--rtt",
    "rtt",
    type=RTT_LIST,
    multiple=True,
    metavar="LIST",
    help="RTTs to project onto: 1ms,15ms, a ladder 1..50ms, places lan,metro,region,ocean; repeatable.",
)
move_option = click.option(
    "--move",
    type=Quantity("server=duration", _server_rtt),
    multiple=True,
    metavar="SERVER=RTT",
    help="Move only this server (as in --server) to this RTT; others get the RTT of --rtt, or keep theirs without it; "
    "repeatable.",
)

within_option = click.option(
    "--within",
    type=DURATION,
    metavar="DURATION",
    help="Find the largest RTT at which the job still meets this runtime.",
)


class Target(Struct, frozen=True):
    """The target of projections."""

    rtt_ms: list[float] | None
    move: Mapping[str, float]
    """RTTs (ms) of servers that move alone."""
    within_s: float | None


def _target(
    rtt: Sequence[Sequence[float]], move: Sequence[tuple[str, float]] = (), within: float | None = None
) -> Target:
    return Target(flat(rtt), dict(move), in_seconds(within))


target_options = gathered("target", _target, rtt_option, move_option, within_option)
recording_target_options = gathered("target", _target, rtt_option, within_option)
"""Target options where no server can be named yet."""

condition_options = all_of(
    move_option,
    click.option("--service", type=Quantity("part", parse_part), metavar="PART",
                 help="Scale the server's own time, for instance to 50%: a faster server."),
    click.option("--client-time", type=Quantity("part", parse_part), metavar="PART",
                 help="Scale the client's own time between requests likewise; think time stays."),
    click.option("--bandwidth", type=Quantity("bandwidth", parse_bandwidth), metavar="RATE",
                 help="Bandwidth of the bottleneck, for instance 34Mbit; by default none."),
    click.option("--loss", type=Quantity("loss", parse_share), metavar="SHARE",
                 help="Packet loss rate, for instance 0.1%; by default the loss of the capture stays."),
    click.option("--jitter", type=RTT, default=0.0, metavar="DURATION",
                 help="Deviation of the RTT from its mean; the pessimistic case adds it to every round trip."),
    click.option("--connections", type=Quantity("list", parse_counts), metavar="N",
                 help="Number of connections that share the work, up to the server's limit if the capture shows one; "
                      "1,2,4,8,16: a grid of runtime and throughput."),
    click.option("--window", type=Quantity("size", parse_window), metavar="SIZE",
                 help="Receive window of client and server, for instance 64KiB; by default what each had."),
    click.option("--compression", type=Quantity("part", parse_left), metavar="PART",
                 help="Compress all messages to this part of their size, for instance 30%; by default sizes stay."),
    click.option("--distance", type=Quantity("distance", parse_distance_km), metavar="LENGTH",
                 help="Length of the fibre: light takes 10 ms over 1000km and back, which is the RTT without --rtt, "
                      "and a shorter --rtt is refused."),
)  # fmt: skip

link_options = all_of(
    click.option("--loss", type=Quantity("loss", parse_share), metavar="SHARE",
                 help="Packet loss rate of the link, for instance 0.1%; by default none."),
    click.option("--jitter", type=RTT, default=0.0, metavar="DURATION",
                 help="Deviation of the link's RTT to either side; by default none."),
    click.option("--bandwidth", type=Quantity("bandwidth", parse_bandwidth), metavar="RATE",
                 help="Bandwidth of the link in each direction, for instance 34Mbit; by default unlimited."),
)  # fmt: skip


class _FixOption(click.Option):
    """Its help names the fixes there are: the patterns are imported when it is read."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its help."""
        self.help = f"Project with this fix: {_fixes()}, all; n+1 may be n+1=join or n+1=in:100; repeatable."
        return super().get_help_record(ctx)


def _fixes() -> str:
    from latpcap.findings.registry import PATTERNS

    return ", ".join(f"{each.fix}={each.usual}" if each.usual else each.fix for each in PATTERNS if each.fix)


fix_option = click.option(
    "--fix",
    "fixes",
    cls=_FixOption,
    type=Parsed("fix", _fix),
    multiple=True,
    metavar="NAME[=VALUE]",
    shell_complete=values.completes(values.fixes),
)


def _cover(notes: tuple[str, ...], **given: Any) -> Any:
    from latpcap.result.cover import Cover, with_picture

    texts, logo = with_picture(notes)
    return Cover(**given, notes=texts, logo=logo)


sign_off_options = gathered(
    "cover",
    _cover,
    click.option("--title", metavar="TEXT", help="Title of the report."),
    click.option("--customer", metavar="TEXT", help="Customer that the report is for."),
    click.option("--note", "notes", multiple=True, metavar="TEXT|LOGO.png",
                 help="A note for the cover, such as the author; a .png, .jpg or .svg file is the logo; repeatable."),
    click.option("--date", type=Quantity("date", _date), is_flag=False, flag_value="today", metavar="DATE",
                 help="Date of the report: today, or 2026-11-22; by default none, so that the output is reproducible."),
)  # fmt: skip

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def set_output(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The file; `None` for standard output."""
    output = None if value == "-" else value
    send_to(is_file=output is not None)
    return output


output_option = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OUTPUT,
    callback=set_output,
    help="Write to FILE instead of standard output; its suffix selects the format, .txt or none is text.",
)
