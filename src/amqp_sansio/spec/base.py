"""The bases of the generated vocabulary: a control, a command, a method, a struct."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.value import ValueObject

T = TypeVar("T")
U = TypeVar("U")
if TYPE_CHECKING:  # only type checkers need the default, and importing it takes long
    from typing_extensions import TypeVar as TypeVarWithDefault

    Result_co = TypeVarWithDefault("Result_co", covariant=True, default=object)
else:
    Result_co = TypeVar("Result_co", covariant=True)


class Control(ValueObject):
    """A control, sent on track 0: about the connection or the session, without an id."""

    __slots__ = ()
    VERB: ClassVar[str] = ""
    """Its name in the specification, such as "session.attach"."""


class Command(ValueObject, Generic[Result_co]):
    """A command, sent on track 1: it has an id within its session and is executed exactly once, in order.

    `Command[None]` has no result; `Command[QueueQueryResult]` has one of that type.
    """

    __slots__ = ()
    VERB: ClassVar[str] = ""
    """Its name in the specification, such as "message.transfer"."""
    RESULT: ClassVar[str] = ""
    """The name of the result struct in execution.result; "" for none."""


class Method(ValueObject):
    """A method of a channel in the older dialects; none of its arguments is optional."""

    __slots__ = ()
    VERB: ClassVar[str] = ""
    """Its name in the specification, such as "basic.publish"."""


class Struct(ValueObject):
    """A struct: a group of fields inside other values, such as headers, results, xids."""

    __slots__ = ()
    NAME: ClassVar[str] = ""
    """Its name in the specification, such as "message.delivery-properties"."""


class BodyContent(ValueObject):
    """The content of message.transfer in 0-9: the message or, if `by_reference`, the reference under which it is sent."""

    __slots__ = ("by_reference", "octets")
    FIELDS: ClassVar[tuple[str, ...]] = ("octets", "by_reference")
    __match_args__ = ("octets", "by_reference")

    def __init__(self, octets: bytes = b"", by_reference: bool = False) -> None:
        self.octets: Final = octets
        self.by_reference: Final = by_reference


def made_of(make: Callable[[T], U], value: T, what: str) -> U:
    """Converts a caller's value to that of a field.  Raises EncodeError when that is not possible."""
    try:
        return make(value)
    except (TypeError, ValueError):
        raise EncodeError("field", f"takes {what}, not {type(value).__name__}") from None
