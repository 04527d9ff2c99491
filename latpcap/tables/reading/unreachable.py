"""Errors of remote captures: one line that says what to do, and shows no secret of a URL."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import shorten
from urllib.parse import unquote, urlsplit

from latpcap.errors import QUERY, USER, CaptureError, LatpcapError, without_secrets

MAX_MESSAGE_CHARS = 240
"""Characters of a message of others."""

NO_CREDENTIALS = {"NoCredentialsError", "PartialCredentialsError", "TokenRetrievalError", "UnauthorizedSSOTokenError"}
"""Missing credentials as botocore names them, which need not be installed."""
OTHER_REGION = "name the bucket's region in AWS_DEFAULT_REGION"
OTHER_KEYS = "are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY those of this store?"
WHAT_TO_DO = {
    "AuthorizationHeaderMalformed": OTHER_REGION,
    "ExpiredToken": "sign in again",
    "IllegalLocationConstraintException": OTHER_REGION,
    "InvalidAccessKeyId": OTHER_KEYS,
    "InvalidObjectState": "it is archived: restore it first",
    "PermanentRedirect": OTHER_REGION,
    "RequestTimeTooSkewed": "set this machine's clock",
    "SignatureDoesNotMatch": OTHER_KEYS,
    "TokenRefreshRequired": "sign in again",
}
"""By the codes of S3."""
WRONG_REDIRECTS = {"InvalidUrlRedirectClientError", "NonHttpUrlRedirectClientError"}
"""Names of errors of aiohttp, which need not be installed."""
COPY_IT = "copy the file to this machine first"
NOT_THERE = (404, 410)
REFUSED = (401, 403)


class WrongAnswer(Exception):
    """Tells in one line why what a server answers cannot be used."""


class SilentServer(WrongAnswer):
    """Tells that a server has sent nothing for long."""


def wrong_answer_in(error: BaseException | None) -> WrongAnswer | None:
    """Return the wrong answer that an error of a library was caused by."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen and not isinstance(error, WrongAnswer):
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return error if isinstance(error, WrongAnswer) else None


def said_of(url: str, text: str) -> str:
    r"""A library's message about the URL on one line, without the URL's secrets, however they are written there.

    >>> said_of("s3://AKIA1:hu/sh%2B@bucket/live.pcap", 'Invalid bucket name "AKIA1:hu",\nor sh+')
    'Invalid bucket name "***:***", or ***'
    """
    said = without_secrets(" ".join(re.sub(r"^\[Errno -?\d+\] ", "", text).split()))
    for secret in sorted(_secrets(url), key=len, reverse=True):
        said = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", said)
    return shorten(said, MAX_MESSAGE_CHARS, placeholder=" …")


def _secrets(url: str) -> set[str]:
    """The parts of the user, the password, and the values of the query."""
    users = [found[0][len(found[1]) : -1] for found in USER.finditer(url)]
    queries = [found[0][len(found[1]) + 1 :] for found in QUERY.finditer(url)]
    values = [value.partition("=")[2] for query in queries for value in query.split("&")]
    parts = {part for user in users for part in re.split(r"[:/@]", user)} | set(values)
    return {each for part in parts for each in (part, unquote(part)) if each}


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn errors of remote captures into `CaptureError`."""
    try:
        yield
    except LatpcapError:
        raise
    except Exception as error:
        raise CaptureError(f"{without_secrets(url)}: {_reason(error, url)}") from None


def is_mute(error: OSError) -> bool:
    """Whether a store has refused to tell of an object, and not why: an answer to HEAD is a number, and has no text."""
    return _code(error)[:1] in ("3", "4") and _code(error) != "404"


def _reason(error: Exception, url: str) -> str:
    if wrong := wrong_answer_in(error):
        return str(wrong)
    cause = _cause(error)
    kind, status = type(cause).__name__, getattr(cause, "status", None)
    if isinstance(cause, FileNotFoundError) or status in NOT_THERE:
        return "no such file"
    if kind in NO_CREDENTIALS:
        return "no credentials: name a profile (AWS_PROFILE), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    if isinstance(cause, LookupError | TypeError | AttributeError):
        scheme = url.partition("://")[0]
        return f"cannot be read: its server does not respond as a {scheme}:// server does: is it the right one?"
    said = said_of(url, getattr(cause, "message", "") or str(cause)).rstrip(".") or kind
    if kind in WRONG_REDIRECTS:
        return f"its server redirects to an address other than HTTP: {said}"
    what_to_do = WHAT_TO_DO.get(_code(error)) or _what_to_do(cause, status, url)
    if isinstance(cause, PermissionError) or status in REFUSED:
        return f"permission denied: {said}{what_to_do and f' ({what_to_do})'}"
    return f"cannot be read: {said}{what_to_do and f' ({what_to_do})'}"


def _cause(error: Exception) -> BaseException:
    """The real error: fsspec calls every error behind HTTP a file that is not there."""
    cause = error.__cause__
    is_of_http = isinstance(cause, TimeoutError) or type(cause).__module__.startswith("aiohttp")
    return cause if isinstance(error, FileNotFoundError) and cause is not None and is_of_http else error


def _what_to_do(cause: BaseException, status: int | None, url: str) -> str:
    if status in REFUSED and urlsplit(url).query:
        return "has its signature expired?"
    if isinstance(cause, PermissionError):
        return "other credentials may read it"
    if isinstance(cause, OSError) and cause.errno == errno.EINVAL:
        return "have the credentials expired, or is the region another one?"
    return ""


def _code(error: BaseException) -> str:
    """S3's code of it."""
    answer = getattr(error.__cause__, "response", None)
    return str(answer.get("Error", {}).get("Code", "")) if isinstance(answer, dict) else ""
