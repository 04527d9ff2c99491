"""Bounds on the answers of HTTP and S3: a body ends where it was asked to, and silence has an end.

aiohttp reads for both, so one class of answers has all checks. It needs what `latpcap[s3]` installs.
"""

from __future__ import annotations

import asyncio
import re
import time
from functools import cache
from typing import Any

import aiohttp

from latpcap.tables.reading.unreachable import COPY_IT, SilentServer, WrongAnswer, wrong_answer_in

MAX_SILENCE_S = 30.0
"""A server that sends nothing for longer is given up."""
MAX_CONNECT_S = 10.0
MAX_ANSWER_BYTES = 32 << 20
"""Bytes of a listing, or of what a server says of an error."""
MIN_BYTES_A_SECOND = 1000
MAX_SLOW_S = 60.0
"""A body that has been too slow for longer is given up."""

ASKED_PART = re.compile(r"bytes=(\d+)-(\d+)")
SENT_PART = re.compile(r"bytes (\d+)-")
NO_ENCODING = ("", "identity")


class BoundedAnswer(aiohttp.ClientResponse):
    """An answer that is read as far as it was asked for, and refused where it is none to that."""

    async def start(self, connection: Any) -> BoundedAnswer:
        """Wait for its headers."""
        try:
            async with asyncio.timeout(MAX_SILENCE_S):
                await super().start(connection)
        except TimeoutError:
            raise _silent() from None
        asked = ASKED_PART.fullmatch(self.request_info.headers.get("Range", ""))
        most = MAX_ANSWER_BYTES
        if asked is not None and self.status < 300:
            begin, last = int(asked[1]), int(asked[2])
            self._check_begin(begin)
            most = last + 1 - begin
        self.content: Any = _BoundedContent(self.content, most)
        return self

    def _check_begin(self, begin: int) -> None:
        if self.status != 206:
            if begin:
                raise WrongAnswer(f"its server does not support range requests: {COPY_IT}")
            return
        sent = SENT_PART.match(self.headers.get("Content-Range", ""))
        if sent is None or int(sent[1]) != begin:
            raise WrongAnswer(f"its server sends other bytes than requested: {COPY_IT}")


class PlainAnswer(BoundedAnswer):
    """An answer of HTTP, whose bytes are those of the file: none that were compressed on the way."""

    async def start(self, connection: Any) -> BoundedAnswer:
        """Wait for its headers."""
        await super().start(connection)
        encoding = self.headers.get("Content-Encoding", "").strip().lower()
        if self.status < 300 and encoding not in NO_ENCODING:
            raise WrongAnswer(f"its server sends it compressed without request (Content-Encoding): {COPY_IT}")
        return self


class _BoundedContent:
    """A stream of `most` bytes at most."""

    def __init__(self, content: Any, most: int) -> None:
        self._content = content
        self._left = self._most = most
        self._begin_s = time.monotonic()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def read(self, count: int = -1) -> bytes:
        """Read so many bytes at most, or all."""
        if count >= 0:
            return await self._some(count)
        pieces: list[bytes] = []
        while piece := await self._some(self._left + 1):
            pieces.append(piece)
        return b"".join(pieces)

    async def _some(self, count: int) -> bytes:
        try:
            piece: bytes = await self._content.read(min(count, self._left + 1))
        except TimeoutError:
            raise _silent() from None
        self._left -= len(piece)
        if self._left < 0:
            raise WrongAnswer(f"its server sends more than requested: {COPY_IT}")
        self._check_speed()
        return piece

    def _check_speed(self) -> None:
        lasted_s, came = time.monotonic() - self._begin_s, self._most - self._left
        if lasted_s > MAX_SLOW_S and came < lasted_s * MIN_BYTES_A_SECOND:
            raise WrongAnswer(f"its server sends too slowly: {came:,} bytes in {lasted_s:.0f} s")


def _silent() -> SilentServer:
    return SilentServer(f"its server has sent nothing for {MAX_SILENCE_S:.0f} s: try again later")


def http_options() -> dict[str, Any]:
    """Return the options of fsspec's sessions of HTTP."""
    wait = aiohttp.ClientTimeout(total=None, sock_connect=MAX_CONNECT_S, sock_read=MAX_SILENCE_S)
    headers = {"Accept-Encoding": "identity"}
    options = {"response_class": PlainAnswer, "timeout": wait, "auto_decompress": False, "headers": headers}
    return {"client_kwargs": _with_own("http", "client_kwargs", options)}


def s3_options() -> dict[str, Any]:
    """Return the options of s3fs's sessions."""
    options = {"http_session_cls": _bounded_session(), "connect_timeout": MAX_CONNECT_S, "read_timeout": MAX_SILENCE_S}
    return {"config_kwargs": _with_own("s3", "config_kwargs", options)}


def _with_own(scheme: str, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Beside those of the user's configuration of fsspec."""
    from fsspec.config import conf

    return {**conf.get(scheme, {}).get(name, {}), **options}


@cache
def _bounded_session() -> type[Any]:
    from aiobotocore.httpsession import AIOHTTPSession

    class BoundedSession(AIOHTTPSession):  # type: ignore[misc]
        """Sessions of S3 whose answers are bounded."""

        async def _get_session(self, proxy_url: str | None) -> aiohttp.ClientSession:
            session: aiohttp.ClientSession = await super()._get_session(proxy_url)
            session._response_class = BoundedAnswer  # aiobotocore hands on none
            return session

        async def send(self, request: Any) -> Any:
            """Send a request; a wrong answer is not asked for again."""
            try:
                return await super().send(request)
            except Exception as error:
                raise wrong_answer_in(error) or error from None

    return BoundedSession
