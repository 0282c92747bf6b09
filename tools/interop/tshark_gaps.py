"""Where tshark (4.0) has other names than the specification, and what it does not decode or decodes wrongly, as data.

tests/interop/test_tshark.py fails when one of these no longer holds.
"""

from __future__ import annotations

from typing import Final

WORDS: Final[dict[tuple[str, str], str]] = {
    ("connection.tune", "max_frame_size"): "frame_max",
    ("connection.tune-ok", "max_frame_size"): "frame_max",
    ("session.attach", "name"): "session_name",
    ("session.attach", "force"): "session_forced",
    ("session.attached", "name"): "session_name",
    ("session.detach", "name"): "session_name",
    ("session.detached", "name"): "session_name",
    ("execution.result", "value"): "struct",
    ("execution.exception", "class_code"): "class",
    ("execution.exception", "command_code"): "method",
    ("message.transfer", "destination"): "description",
    ("message.accept", "transfers"): "commands",
    ("message.reject", "transfers"): "commands",
    ("message.reject", "code"): "reject_code",
    ("message.release", "transfers"): "commands",
    ("message.acquire", "transfers"): "commands",
    ("message.subscribe", "arguments"): "extended_arguments",
    ("message.flow", "unit"): "credit_unit",
    ("message.delivery-properties", "priority"): "delivery_priority",
    ("exchange.query", "name"): "exchange",
    ("stream.qos", "consume_rate"): "prefetch_size",
    ("message.message-resume-result", ""): "message.resume-result",
    ("dtx.xa-result", ""): "dtx.xa-status",
    ("dtx.xa-result", "status"): "dtx_xa_status",
}
"""By verb or struct, and field ("" for the struct itself): the label, written as a name of ours."""

XID: Final = "the xid of the unrevised specification: a struct without size and codes"
SET: Final = "the ranges are shown with the box around the fields, not with the field"
KEY: Final = "only the octet of its length is shown"
TX: Final = "the code is read from the session header, so that every command of the class is tx.select"
DOUBT: Final = "what is in the array is shown without a name around it, and what an xid is not known"
GAPS: Final[dict[tuple[str, str], str]] = {
    **{(f"dtx.{verb}", "xid"): XID for verb in (
        "start", "end", "commit", "forget", "get-timeout", "prepare", "rollback", "set-timeout",
    )},
    ("dtx.set-timeout", "timeout"): "it is looked for where the misread xid ends",
    ("dtx.xid", ""): XID,
    ("dtx.get-timeout-result", ""): "not known",
    **{("dtx.recover-result", field): DOUBT for field in ("in_doubt", "type", "element_count", "struct")},
    **{(f"exchange.{verb}", "binding_key"): KEY for verb in ("bind", "unbind", "bound")},
    **{(f"message.{verb}", "transfers"): SET for verb in ("release", "acquire")},
    ("message.subscribe", "arguments"): "the size of the map is taken for the number of its entries",
    ("execution.exception", "command_code"): "without a class-code it is not shown",
    ("tx.select", "sync"): "the session header is taken for the code of the command",
    ("tx.commit", ""): TX,
    ("tx.rollback", ""): TX,
}  # fmt: skip
"""By verb or struct, and field ("" for the whole): why we differ."""

OCTETS: Final = "shown as a number of octets"
MAP_GAPS: Final[dict[str, str]] = {
    **dict.fromkeys(("23", "27", "30", "31", "32", "33", "38", "40", "48", "84", "85", "90", "a0", "ab", "c0", "c8"), OCTETS),
    **dict.fromkeys(("a8", "a9", "aa"), "what is in it is shown as a number of octets"),
    **dict.fromkeys(("d0", "d8"), "of its nine octets five are taken"),
    "f0": "it has no octets, and five are taken",
}
"""By type code in a map: why we differ."""
