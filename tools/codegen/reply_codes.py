"""Writes spec/reply_codes.py, and wire/layouts/reply_codes.py: the codes of each older version."""

from __future__ import annotations

from tools.codegen.compare_older import WHOLE, version
from tools.codegen.names import constant_name
from tools.codegen.text import docstring, quoted
from tools.codegen.vocabulary import HEAD

UNPRINTED = {"rabbitmq": ("0-9-1", ("no-route",))}
"""Additional codes of a broker: its name, the document, the codes."""

_TEXTS = {
    "reply-success": "Nothing went wrong.",
    "not-delivered": "A message that had to be delivered at once could not be.",
    "content-too-large": "The content is larger than the other side accepts now.",
    "no-route": "No queue matched a mandatory message; RabbitMQ uses it in basic.return.",
    "no-consumers": "A message that had to be delivered at once found no consumer.",
    "connection-forced": "An operator closed the connection; the client may try again later.",
    "invalid-path": "The client named an unknown virtual host.",
    "access-refused": "The client is not authorized, or its login failed.",
    "not-found": "There is no such queue or exchange.",
    "resource-locked": "The object is exclusive to another client.",
    "precondition-failed": "A condition of the method does not hold.",
    "frame-error": "A frame could not be decoded.",
    "syntax-error": "The arguments of a method could not be decoded.",
    "command-invalid": "The method is unknown, or not available now.",
    "channel-error": "The channel is not in a state in which this is legal.",
    "unexpected-frame": "An unexpected frame arrived, such as a body without a header.",
    "resource-error": "The other side is short of a resource.",
    "not-allowed": "The method is not allowed.",
    "not-implemented": "The other side cannot do that.",
    "internal-error": "The other side failed with an internal error.",
}


def printed(name: str) -> dict[str, tuple[int, str]]:
    """Returns the reply codes of a version: name, number, and "soft-error", "hard-error" or ""."""
    found: dict[str, tuple[int, str]] = {}
    for fact in version(name):
        words = fact.split()
        if words[0] == "constant" and words[1] in _TEXTS:
            found[words[1]] = int(words[2]), words[3] if len(words) > 3 else ""
    return found


def of_all() -> dict[str, tuple[int, str]]:
    """Returns the reply codes of all versions, by number.  Raises ValueError if two versions contradict each other."""
    found: dict[str, tuple[int, str]] = {}
    for each in WHOLE:
        for name, said in printed(each).items():
            if found.setdefault(name, said) != said:
                raise ValueError(f"{each}: {name} is {said}, elsewhere {found[name]}")
    return dict(sorted(found.items(), key=lambda item: item[1]))


def by_version() -> dict[str, list[str]]:
    """Returns the names of the codes of each version and broker, by number."""
    codes = of_all()
    found = {name: set(printed(name)) for name in WHOLE}
    for name, (document, more) in UNPRINTED.items():
        found[name] = {*found[document], *more}
    return {name: [code for code in codes if code in has] for name, has in found.items()}


def enum_module() -> str:
    """Returns the text of spec/reply_codes.py."""
    about = "The codes with which the older dialects close a channel or a connection, or return a message."
    lines = [*docstring(about, 0, [HEAD]), "", "from __future__ import annotations", "", "from enum import IntEnum"]
    lines += ["from typing import Final", "", "", "class ReplyCode(IntEnum):"]
    lines += docstring("All codes; which of them a version has is in wire.layouts.reply_codes.", 4)
    lines += [""]
    for name, (value, _) in of_all().items():
        lines += [f"    {constant_name(name)} = {value}", *docstring(_TEXTS[name], 4)]
    lines += [
        "",
        "    @property",
        "    def closes(self) -> str:",
        '        """What the code ends: "channel" (a soft error), "connection" (a hard one), or "" for success."""',
        '        return "channel" if self in _SOFT else "connection" if self != ReplyCode.REPLY_SUCCESS else ""',
        "",
        "    @classmethod",
        "    def named(cls, name: str) -> ReplyCode:",
        '        """The code of a name, however it is spelled: "not found", "not-found", "NOT_FOUND".  KeyError."""',
        '        return cls[name.upper().replace("-", "_").replace(" ", "_")]',
        "",
        "",
        "_SOFT: Final = frozenset(",
        "    {",
    ]
    lines += [f"        ReplyCode.{constant_name(name)}," for name, (_, kind) in of_all().items() if kind == "soft-error"]
    return "\n".join([*lines, "    }", ")"]) + "\n"


def layout_module() -> str:
    """Returns the text of wire/layouts/reply_codes.py."""
    lines = [*docstring("The reply codes of each older version.", 0, [HEAD]), "", "from __future__ import annotations", ""]
    lines += ["from typing import Final", "", "from amqp_sansio.spec.reply_codes import ReplyCode", ""]
    lines += [
        "REPLY_CODES: Final[dict[str, frozenset[ReplyCode]]] = {",
        "    name: frozenset([ReplyCode(code) for code in codes])",
    ]
    lines += ["    for name, codes in {"]
    for name, codes in by_version().items():
        numbers = ", ".join([str(of_all()[code][0]) for code in codes])
        lines.append(f"        {quoted(name)}: ({numbers}),")
    lines += ["    }.items()", "}", *docstring("As each document prints them; RabbitMQ says one more than that of 0-9-1.", 0)]
    return "\n".join(lines) + "\n"
