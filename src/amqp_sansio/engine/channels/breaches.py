"""The code of each violation on a channel, and what it ends: by the version's specification, or as RabbitMQ does."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from amqp_sansio.engine.connection import rule_of
from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.tables.channel import CLOSE_OK, OPEN, OPEN_OK

_DEPLOYED: Final[dict[str, int]] = {
    "content.properties": ReplyCode.INTERNAL_ERROR,
    "content.table": ReplyCode.INTERNAL_ERROR,
    "content.header": ReplyCode.FRAME_ERROR,
    "limits.assembly_octets": ReplyCode.PRECONDITION_FAILED,
    "connection.tune-ok.channel-max": ReplyCode.NOT_ALLOWED,
}
"""What RabbitMQ answers where the documents have another code."""
_LETTER: Final[dict[str, int]] = {"limits.assembly_octets": ReplyCode.CONTENT_TOO_LARGE}
_INSTEAD: Final[dict[int, int]] = {
    ReplyCode.PRECONDITION_FAILED: ReplyCode.NOT_ALLOWED,
    ReplyCode.UNEXPECTED_FRAME: ReplyCode.CHANNEL_ERROR,
}
"""The code instead, in a version that lacks one."""


def code_of(rule: str, code: int, codes: Container[int] | None) -> int:
    """Returns the code for a breach of `rule`, to which `code` belongs (0: none).

    `codes` are those in the specification of the version; None: the code that RabbitMQ sends.
    """
    if codes is None:
        return int(_DEPLOYED.get(rule, code or ReplyCode.COMMAND_INVALID))
    found = _LETTER.get(rule, code or ReplyCode.COMMAND_INVALID)
    return int(found if found in codes else _INSTEAD.get(found, ReplyCode.COMMAND_INVALID))


def ends_channel(code: int) -> bool:
    """Whether the code is a soft one: the channel ends, and the connection goes on."""
    return code in _SOFT


_SOFT: Final = frozenset([int(code) for code in ReplyCode if code.closes == "channel"])


def order_of(state: str, word: str) -> tuple[str, str]:
    """Returns the rule that a word breaks in this state of the channel, and how it does."""
    if word == OPEN:
        return "channel.second-open", f"the channel is {state}"
    if word in (OPEN_OK, CLOSE_OK):
        return "reply.unasked", f"nobody asked for it: the channel is {state}"
    if state == "not-open":
        return "channel.not-open", "the channel is not open"
    if state == "closed":
        return "channel.closed", "the channel is closed"
    if state == "opening":
        return "channel.not-open", "the server has not opened the channel"
    return "channel.closed", "nothing may follow a side's own close of the channel"


def rule_of_content(error: DecodeError) -> str:
    """Returns the rule that undecodable properties break."""
    if error.limit is not None:
        return rule_of("content", error)
    return "content.table" if _within_table(error) else "content.properties"


def _within_table(error: DecodeError) -> bool:
    """Whether it is about an entry of a field table, or the name of one."""
    return "[" in error.what or error.rule.startswith("a name ")


def rule_of_unreadable(verb: str, error: DecodeError) -> str:
    """Returns the rule that an undecodable method breaks."""
    if error.limit is not None:
        return rule_of("method", error)
    if error.code == ReplyCode.COMMAND_INVALID:
        return "method.unknown"
    if _within_table(error):
        return "method.table"
    if error.what == verb:
        return "method.arguments-long"
    return "method.arguments-short" if "left" in error.rule else "method.arguments"
