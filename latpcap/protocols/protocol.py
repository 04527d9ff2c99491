"""The description of a protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field


class Question(Struct, frozen=True):
    """The least that makes a server answer: no login, no statement, nothing that it keeps."""

    called: str
    """The question with its answer, for people."""
    asks: bytes
    """Empty where the server speaks first."""
    is_answer: Callable[[bytes], bool]
    leaves: str
    """The fate of such connections at the server."""
    refusal: Callable[[bytes], str] = lambda answer: ""
    """The server's words where it lets nobody in."""


UNASKED = Question("", b"", lambda answer: False, "")


class Protocol(Struct, frozen=True):
    """The properties of a protocol beside its messages."""

    name: str
    """As the core calls it."""
    title: str
    error_classes: Mapping[str, str] = field(default_factory=dict)
    """By number: a key of `latpcap.measures.error_classes.CLASSES`, where the SQLSTATE does not tell it."""
    error_meanings: Mapping[str, str] = field(default_factory=dict)
    """Usual numbers in two or three words."""
    empty_phrases: frozenset[str] = frozenset()
    """Parts of an error's message that stand in many and say nothing of it."""
    application_errors: range = range(0)
    """Numbers that the application's own code raises."""
    codes_are_states: bool = False
    """A code is an SQLSTATE, without a number."""
    question: Question = UNASKED

    def class_of(self, number: str) -> str | None:
        """The class of an error whose number tells it."""
        of_application = number.isdigit() and int(number) in self.application_errors
        return "application" if of_application else self.error_classes.get(number)


UNKNOWN = Protocol("", "")


def by_number(**numbers: str) -> dict[str, str]:
    """The class of each number, from the numbers of each class."""
    return {number: name for name, listed in numbers.items() for number in listed.split()}
