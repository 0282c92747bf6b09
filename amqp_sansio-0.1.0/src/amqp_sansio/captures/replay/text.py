"""Octets that are text nearly always, as text."""

from __future__ import annotations


def text_of(octets: bytes | None) -> str | None:
    """Octets that are text nearly always: as text; otherwise as hex digits behind 0x."""
    if octets is None:
        return None
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        return "0x" + octets.hex()
    return text if text.isprintable() and not text.startswith("0x") else "0x" + octets.hex()
