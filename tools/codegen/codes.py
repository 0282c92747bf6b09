"""Writes spec/codes.py and spec/rules.py."""

from __future__ import annotations

from tools.codegen.model import Domain, Model
from tools.codegen.names import class_name, constant_name
from tools.codegen.text import docstring, quoted
from tools.codegen.vocabulary import HEAD


def codes_module(model: Model) -> str:
    """Returns the text of spec/codes.py."""
    lines = docstring("Numbers with names: every enumeration of AMQP 0-10 and the type codes.", 0, [HEAD])
    lines += ["", "from __future__ import annotations", "", "from enum import IntEnum", "from typing import Final", ""]
    for name, value, text in model.constants:
        lines += [f"{constant_name(name)}: Final = {value}", *docstring(text or name, 0), ""]
    seen: set[str] = set()
    for domain in [*model.domains, *(d for c in model.classes for d in c.domains)]:
        if domain.choices and domain.name not in seen:
            seen.add(domain.name)
            lines += _enum(domain)
    lines += ["", "class TypeCode(IntEnum):", *docstring("The codes of the types that maps, lists and arrays may hold.", 4), ""]
    for entry in model.types:
        if entry.code is not None:
            lines.append(f"    {constant_name(entry.name)} = 0x{entry.code:02X}")
            lines += docstring(entry.text, 4) if entry.text else []
    return "\n".join(lines) + "\n"


def _enum(domain: Domain) -> list[str]:
    lines = ["", f"class {class_name(domain.name)}(IntEnum):", *docstring(domain.text or domain.name, 4), ""]
    for name, value, text in domain.choices:
        lines.append(f"    {constant_name(name)} = {value}")
        lines += docstring(text, 4) if text else []
    return [*lines, ""]


def rules_module(model: Model) -> str:
    """Returns the text of spec/rules.py."""
    about = "The named rules and exceptions of AMQP 0-10 by their path, for the bare names are shared."
    lines = docstring(about, 0, ["The sentences are ours.", HEAD])
    lines += ["", "from __future__ import annotations", "", "from typing import Final", "", "import attrs", ""]
    lines += ["from amqp_sansio.spec.codes import ErrorCode", "", ""]
    lines += [
        "@attrs.frozen",
        "class Rule:",
        '    """A rule, or an exception where `error` is its error code."""',
        "",
        "    path: str",
        "    text: str",
        "    error: ErrorCode | None",
        "",
        "",
        "def _rules(*rules: tuple[str, str, ErrorCode | None]) -> dict[str, Rule]:",
        "    return {path: Rule(path, text, error) for path, text, error in rules}",
        "",
        "",
        "RULES: Final = _rules(",
    ]
    for rule in model.rules:
        parts = [quoted(rule.path), quoted(rule.text), f"ErrorCode.{constant_name(rule.error)}" if rule.error else "None"]
        flat = f"    ({', '.join(parts)}),"
        lines += [flat] if len(flat) <= 128 else ["    (", *[f"        {part}," for part in parts], "    ),"]
    return "\n".join([*lines, ")"]) + "\n"
