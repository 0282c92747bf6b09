"""Codes with their names."""

from __future__ import annotations

from amqp_sansio.spec.codes import CloseCode, ErrorCode
from amqp_sansio.spec.reply_codes import ReplyCode


def named(code: int) -> str:
    """Formats a code as "404 not-found", of any version; 0 means that none was given."""
    if not code:
        return "no code"
    for kind in (ErrorCode, CloseCode, ReplyCode):
        if code in (known := kind._value2member_map_):
            member = known[code]
            return f"{code} {member.name.lower().replace('_', '-')}"
    return str(code)


def explained(code: int, text: str | None) -> str:
    """Formats a code with its name and the text sent with it, which often begins with the name."""
    name, said = named(code), text or ""
    if not said:
        return name
    return f"{code} {said}" if said.lower().startswith(name.partition(" ")[2]) else f"{name}: {said}"
