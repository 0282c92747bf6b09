"""The bases of the generated vocabulary: a control, a command, a method, a struct."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, Generic, TypeVar

from typing_extensions import TypeVar as TypeVarWithDefault

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.value import Value

T = TypeVar("T")
U = TypeVar("U")
Result_co = TypeVarWithDefault("Result_co", covariant=True, default=object)


class Control(Value):
    """Something said on track 0: about the connection or the session, without an id."""

    __slots__ = ()
    VERB: ClassVar[str] = ""
    """Its name in the specification's words, such as "session.attach"."""


class Command(Value, Generic[Result_co]):
    """Something said on track 1: it has an id within its session and is executed exactly once, in order.

    `Command[None]` has no result, `Command[QueueQueryResult]` is answered by one.
    """

    __slots__ = ()
    VERB: ClassVar[str] = ""
    """Its name in the specification's words, such as "message.transfer"."""
    RESULT: ClassVar[str] = ""
    """The name of the struct that answers it in execution.result, or "" when none does."""


class Method(Value):
    """Something said on a channel in the older dialects: all its arguments come one behind the other, and none is optional."""

    __slots__ = ()
    VERB: ClassVar[str] = ""
    """Its name in the specification's words, such as "basic.publish"."""


class Struct(Value):
    """A group of fields that other things carry: header structs, results, xids."""

    __slots__ = ()
    NAME: ClassVar[str] = ""
    """Its name in the specification's words, such as "message.delivery-properties"."""


class BodyContent(Value):
    """What message.transfer of 0-9 carries: the message itself, or, `by_reference`, the reference under which it is sent."""

    __slots__ = ("by_reference", "octets")
    FIELDS: ClassVar[tuple[str, ...]] = ("octets", "by_reference")
    __match_args__ = ("octets", "by_reference")

    def __init__(self, octets: bytes = b"", by_reference: bool = False) -> None:
        self.octets: Final = octets
        self.by_reference: Final = by_reference


def made_of(make: Callable[[T], U], value: T, what: str) -> U:
    """The value that a field keeps, made of what a caller gave.  EncodeError when it is not "what" can be made of that."""
    try:
        return make(value)
    except (TypeError, ValueError):
        raise EncodeError("field", f"takes {what}, not {type(value).__name__}") from None
