"""Which files of a folder a stream has taken: a digest of each name, in bounded memory."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from amqp_sansio.captures.files import order

TAKEN_NAMES: Final = 16_384
"""The most names remembered: 128 KiB in each offset.  Beyond them the earlier half counts as taken by name order."""
DIGEST_OCTETS: Final = 6
"""Octets of a digest: among all names remembered, two collide once in 10^10 files."""


class Taken:
    """The taken files.  It is restored from an offset, and `told` returns what to store in one.

    A file stays the same when it is compressed.  One that is gone stays taken, so that a folder that was unavailable for a
    moment is not read twice.
    """

    def __init__(self, offset: Mapping[str, Any]) -> None:
        """Restores it.  An offset of an earlier version has the last name only: everything up to that was taken."""
        digests = base64.b64decode(offset.get("taken", ""))
        self._digests: Final = {digests[at : at + DIGEST_OCTETS] for at in range(0, len(digests), DIGEST_OCTETS)}
        self._floor = str(offset["floor"] if "taken" in offset else offset["last"])
        """Names up to this one count as taken ("": none do)."""

    def __contains__(self, name: str) -> bool:
        return (bool(self._floor) and order(name) <= order(self._floor)) or _digest(name) in self._digests

    def without(self, names: Iterable[str]) -> list[str]:
        """Returns those of the names that were not taken, in order."""
        return [name for name in names if name not in self]

    def add(self, names: Iterable[str], there: Sequence[str]) -> None:
        """Takes these files; `there` are all names of the folder in order, by which earlier digests are dropped."""
        self._digests.update(map(_digest, names))
        if len(self._digests) <= TAKEN_NAMES:
            return
        kept = [name for name in there if name in self][-TAKEN_NAMES // 2 :]
        self._floor = max(self._floor, kept[0], key=order)
        self._digests.clear()
        self._digests.update(map(_digest, kept))

    def told(self) -> dict[str, str]:
        """Returns its representation in an offset."""
        return {"floor": self._floor, "taken": base64.b64encode(b"".join(sorted(self._digests))).decode()}


def _digest(name: str) -> bytes:
    return hashlib.blake2b(order(name)[1].encode(errors="surrogateescape"), digest_size=DIGEST_OCTETS).digest()
