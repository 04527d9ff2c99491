"""Captures that lie elsewhere: objects in S3, files behind HTTP, and whatever else fsspec has a package for.

They are read where the work is done, and nothing is copied to the disk: while one part of a file is read, the next ones
are on their way. What a process reads several times at once, as the parts of a scan do, is fetched once.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet, WeakValueDictionary

from latpcap.errors import URL, CaptureError, UsageError, without_secrets
from latpcap.tables.reading.unreachable import COPY_IT, SilentServer, explained, is_mute, said_of, wrong_answer_in

if TYPE_CHECKING:
    from concurrent.futures import Future

    from latpcap._core import Progress

T = TypeVar("T")

HEAD_BYTES = 64 << 10
"""Bytes fetched when a file is looked up: they order the files of a ring."""
MAX_HEADS = 512
"""This many files keep these bytes until they are read; those of further files are fetched again."""
PART_BYTES = 8 << 20
MAX_PARTS_AHEAD = 4
"""Parts that a process fetches ahead, of all files that it reads."""
MAX_PARTS_KEPT = 8
"""Parts that a process keeps of files that it reads several times at once."""
MAX_LOOKUPS = 16
POLL_S = 0.1
"""Seconds between two polls for a Ctrl-C while a server is waited for."""

HTTP, S3 = ("http", "https"), ("s3", "s3a")
PACKAGES = {
    '"latpcap[s3]"': (*S3, *HTTP),
    "gcsfs": ("gs", "gcs"),
    "adlfs": ("az", "abfs", "abfss", "adl"),
    "paramiko": ("sftp", "ssh"),
    "smbprotocol": ("smb",),
}
"""Packages → the URLs that need them."""


def is_url(path: object) -> bool:
    r"""Whether a file is named that lies elsewhere.

    >>> is_url("s3://bucket/live.pcapng"), is_url("C://live.pcapng"), is_url("live.pcapng")
    (True, False, False)
    """
    return isinstance(path, str) and URL.match(path) is not None


def found(url: str) -> list[str]:
    """The files that a glob names, in the order of their names; else the one, which is looked for when it is opened."""
    if not re.search(r"[*\[]" if _scheme(url).startswith("http") else r"[*?\[]", url):
        return [url]
    with _explained(url):
        system, path = _system_of(url)
        files = [name for name, facts in system.glob(path, detail=True).items() if facts["type"] == "file"]
        return [system.unstrip_protocol(name) for name in sorted(files)] or [url]


def opened(sources: Sequence[Any], progress: Progress | None = None) -> list[Any]:
    """`sources` as the core reads them: those elsewhere as files, which are there.

    Whoever stops the `progress` leaves a server that says nothing.
    """
    files = iter(_looked_up([each for each in sources if is_url(each)], progress))
    return [Stoppable(next(files), progress) if is_url(each) else each for each in sources]


def _looked_up(urls: Sequence[str], progress: Progress | None) -> Iterator[RemoteFile]:
    for first in range(0, len(urls), MAX_LOOKUPS):
        several = urls[first : first + MAX_LOOKUPS]
        begun = [_begun(partial(_file, url, keep=first < MAX_HEADS)) for url in several]
        yield from (_result(each, progress) for each in begun)


def _result(work: Future[T], progress: Progress | None) -> T:
    """Wait for `work`; raises `KeyboardInterrupt` where the `progress` is stopped before."""
    from concurrent.futures import wait

    while not wait([work], POLL_S).done:
        if progress is not None and progress.leave():
            raise KeyboardInterrupt
    return work.result()


def _file(url: str, *, keep: bool) -> RemoteFile:
    """The file at the URL: one object for all who read it as it is now."""
    file = RemoteFile(url)
    with _lock:
        file = _files.setdefault(file.facts, file)
        file.readings += 1
    if keep and file.size:
        file.keep_first()
    return file


class RemoteFile:
    """A file elsewhere, as it was when it was looked up: the core reads it by as many readers as it likes."""

    def __init__(self, url: str) -> None:
        self.place = without_secrets(url)
        with _explained(url):
            self._system, self._path = _system_of(url)
            self._facts = self._look()
        if self._facts["type"] == "directory":
            raise CaptureError(
                f"{self.place}: is a folder: name its files, for instance '{self.place.removesuffix('/')}/*.pcapng' "
                "(a dataset is copied to this machine first)"
            )
        if self._facts["size"] is None:
            raise CaptureError(f"{self.place}: its server does not report its length: copy it to this machine first")
        self.size: int = self._facts["size"]
        self.facts = f"{url} {self._facts}"
        self.readings = 0
        self._parts: WeakValueDictionary[int, Future[bytes]] = WeakValueDictionary()
        self._first: Future[bytes] | None = None

    def _look(self) -> Any:
        """Return the facts about the file."""
        try:
            return self._system.info(self._path)
        except OSError as error:
            if is_mute(error):
                self._system.cat_file(self._path, start=0, end=1)  # which is answered with the reason
            raise

    def keep_first(self) -> None:
        """Fetch its first bytes, and keep them."""
        self._first = self.begun(0, min(HEAD_BYTES, self.size))
        self._first.result()

    def begun(self, begin: int, end: int) -> Future[bytes]:
        """A part of the file being fetched: once for all who read it at the same time."""
        with _lock:
            part = self._parts.get(begin)
            if part is None or (part.done() and part.exception() is not None):
                part = self._parts[begin] = _begun(partial(self.part, begin, end))
                if self.readings > 1:
                    _kept.append(part)
            return part

    def reader(self, progress: Progress | None = None) -> Reader:
        """Read it from its beginning."""
        return Reader(self, progress)

    def part(self, begin: int, end: int) -> bytes:
        """Its bytes from `begin` on, before `end`."""
        with _explained(self.place):
            part = self._fetched(begin, end)
        if len(part) > end - begin:
            raise CaptureError(f"{self.place}: its server does not support range requests: {COPY_IT}")
        if len(part) < end - begin:
            self.check()
            raise CaptureError(f"{self.place}: bytes {begin} to {end} came cut: try again")
        return part

    def _fetched(self, begin: int, end: int) -> bytes:
        fetch: Callable[[], bytes] = partial(self._system.cat_file, self._path, start=begin, end=end)
        try:
            return fetch()
        except Exception as error:
            if not isinstance(wrong_answer_in(error), SilentServer):
                raise
        return fetch()  # one connection may hang where the next one does not

    def check(self) -> None:
        """Raise `CaptureError` where it is no longer what was looked up."""
        with _explained(self.place):
            facts = self._system.info(self._path)
        if facts != self._facts:
            raise CaptureError(f"{self.place}: has changed while it was read: read it again")


class Stoppable:
    """A file elsewhere for one reading, which may be stopped while its server says nothing."""

    def __init__(self, file: RemoteFile, progress: Progress | None) -> None:
        self.file = file
        self.place, self.size = file.place, file.size
        self._progress = progress

    def reader(self) -> Reader:
        """Read it from its beginning."""
        return self.file.reader(self._progress)


class Reader:
    """Gives a file from its beginning to its end, with its next parts under way."""

    def __init__(self, file: RemoteFile, progress: Progress | None = None) -> None:
        self._file = file
        self._progress = progress
        self._has_given = False
        self._asked = 0
        self._under_way: deque[Future[bytes]] = deque()
        self._part = memoryview(b"")
        self._checked: Future[None] | None = None

    def read(self, most: int) -> bytes:
        """The next bytes, `most` at most; none at the end."""
        if not self._part:
            self._ask()
            if not self._under_way:
                self._end()
                return b""
            try:
                self._part = memoryview(_result(self._under_way.popleft(), self._progress))
            except KeyboardInterrupt:
                if self._has_given:
                    return b""  # what came so far is the result
                raise
            self._has_given = True
            if self._asked == self._file.size > HEAD_BYTES and not self._under_way:
                self._checked = _begun(self._file.check)  # while its last part is read
        given, self._part = self._part[:most], self._part[most:]
        return bytes(given)

    def _ask(self) -> None:
        """Only who reads on has parts ahead: of many files most are looked at, and wait for their turn."""
        ahead, length = 1, HEAD_BYTES
        if self._asked:
            _reading.add(self)
            ahead, length = max(1, MAX_PARTS_AHEAD // len(_reading)), PART_BYTES
        while len(self._under_way) < ahead and self._asked < self._file.size:
            begin, self._asked = self._asked, min(self._asked + length, self._file.size)
            self._under_way.append(self._file.begun(begin, self._asked))

    def _end(self) -> None:
        checked = self._checked or _begun(self._file.check)
        with suppress(KeyboardInterrupt):  # all of it is here
            _result(checked, self._progress)
        _reading.discard(self)
        if not _reading:
            _kept.clear()


_lock = threading.Lock()
_files: WeakValueDictionary[str, RemoteFile] = WeakValueDictionary()
"""Files that are being read, by their facts."""
_reading: WeakSet[Reader] = WeakSet()
_kept: deque[Future[bytes]] = deque(maxlen=MAX_PARTS_KEPT)


def _begun(work: Callable[[], T]) -> Future[T]:
    """`work`, in a thread that nobody waits for when the program ends."""
    from concurrent.futures import Future

    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    try:
        threading.Thread(target=run, daemon=True).start()
    except RuntimeError:  # there is no memory, or no room, for one more
        run()
    return future


def _system_of(url: str) -> tuple[Any, str]:
    """Who reads the URL, asked anew each time what there is, and what the URL is called there."""
    place, scheme = without_secrets(url), _scheme(url)
    try:
        from fsspec import available_protocols
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError(f'{place}: needs fsspec: pip install "latpcap[s3]"') from None
    if scheme not in available_protocols():
        raise UsageError(f"{place}: {scheme}:// is not known: s3://, https://, gs://, az://, sftp:// and others are")
    try:
        options = _bounds(scheme)
        system, path = url_to_fs(scheme + url[len(scheme) :], use_listings_cache=False, **options)
    except ImportError as error:
        package = next((each for each, schemes in PACKAGES.items() if scheme in schemes), None)
        how = f"pip install {package}" if package else str(error).splitlines()[0]
        raise UsageError(f"{place}: needs a package for {scheme}://: {how}") from None
    except ValueError as error:
        raise UsageError(f"{place}: cannot be read: {said_of(url, str(error))}") from None
    return system, path


def _bounds(scheme: str) -> dict[str, Any]:
    """Return the options that bound the answers of servers, where their reader has some."""
    if scheme not in (*HTTP, *S3):
        return {}
    from latpcap.tables.reading import answers

    return answers.s3_options() if scheme in S3 else answers.http_options()


def _scheme(url: str) -> str:
    return url.partition("://")[0].lower()


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Report errors of remote captures in one line; look up credentials and servers anew next time."""
    try:
        with explained(url):
            yield
    except CaptureError:
        _forget(url)
        raise


def _forget(url: str) -> None:
    """Somebody may have set them."""
    from fsspec import get_filesystem_class

    with suppress(Exception):
        get_filesystem_class(_scheme(url)).clear_instance_cache()
