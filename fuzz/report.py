"""Minimises a failing input and writes it as a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from fuzz.corpus import Said

TRIES: Final = 1500


def _smaller(said: Said) -> Iterator[Said]:
    """Yields candidates with something removed, the smallest first."""
    for at in range(len(said)):
        if len(said) > 1:
            yield said[:at] + said[at + 1 :]
    for at, (speaker, octets) in enumerate(said):
        size = len(octets) // 2
        while size:
            for start in range(0, len(octets), size):
                yield (*said[:at], (speaker, octets[:start] + octets[start + size :]), *said[at + 1 :])
            size //= 2


def shrink(said: Said, fails: Callable[[Said], bool]) -> Said:
    """Returns a smaller input that also fails."""
    tries = 0
    found = True
    while found and tries < TRIES:
        found = False
        for candidate in _smaller(said):
            tries += 1
            if tries >= TRIES:
                break
            if fails(candidate):
                said = candidate
                found = True
                break
    return said


def regression(target: str, label: str, said: Said, why: str) -> str:
    """Returns a pytest test."""
    lines = [f"def test_{target}_{label}() -> None:"]
    lines += [f"    # {line}" for line in why.strip().splitlines()[-6:]]
    lines.append("    said = (")
    lines += [f"        ({speaker!r}, bytes.fromhex({octets.hex()!r}))," for speaker, octets in said]
    lines += ["    )", f'    assert breach("{target}", said) == ""', ""]
    return "\n".join(["from fuzz.targets import breach", "", "", *lines])
