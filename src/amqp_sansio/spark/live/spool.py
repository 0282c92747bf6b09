"""The spool: a folder of segments.  Recorded segments survive failures of the broker, of Spark and of this process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from amqp_sansio.spark.live.disk import PART, Lock, folder, put_json, sync_folder, told
from amqp_sansio.spark.live.errors import LiveSetupError
from amqp_sansio.spark.live.identity import from_word, note_of, word
from amqp_sansio.spark.live.segment import Taken, write
from amqp_sansio.spec.dtx import Xid

NOTE: Final = "spool.json"
OPTION: Final = "spool"
_NAME: Final = re.compile(r"(\d{12,20})-(\d{1,12})-(\d{1,18})-([0-9a-f]+-[0-9a-f]+)\.segment")


class Segment(NamedTuple):
    """A recorded segment."""

    number: int
    """From 1 on, in the order in which they were taken."""
    rows: int
    octets: int
    """Octets of headers and bodies."""
    branch: str
    """Its branch, as a word."""
    name: str
    """Its file in the spool."""


def _named(name: str) -> Segment | None:
    """Returns the segment of a file; None for a file of another name."""
    match = _NAME.fullmatch(name)
    return None if match is None else Segment(int(match[1]), int(match[2]), int(match[3]), match[4], name)


class Draft(NamedTuple):
    """A segment that is written and synced, but does not count yet."""

    segment: Segment
    branch: Xid
    part: Path


class Spool:
    """One query's segments.  `owner` is the name in its branches."""

    def __init__(self, path: Path) -> None:
        self.path: Final = folder(path, OPTION)
        self.lock: Final = Lock(path, OPTION)
        owner, numbers = note_of(path / NOTE, "segments", "*.segment", removed=0)
        self.owner: Final = owner
        self._removed = numbers["removed"]

    @property
    def removed(self) -> int:
        """The number of the last removed segment, 0 without one."""
        return self._removed

    def segments(self) -> list[Segment]:
        """Returns the recorded segments that were not removed, in order."""
        found = []
        try:
            paths = list(self.path.iterdir())
        except OSError as error:
            raise LiveSetupError(f"{self.path}: the spool cannot be read: {error.strerror} (option {OPTION})") from error
        for path in paths:
            segment = _named(path.name)
            if segment is not None and segment.number > self._removed:
                found.append(segment)
        return sorted(found)

    def between(self, start: int, end: int) -> list[Segment]:
        """Returns the segments after `start`, up to `end`.  Raises LiveSetupError when one does not exist (any more)."""
        found = [each for each in self.segments() if start < each.number <= end]
        if len(found) != max(end - start, 0):
            raise LiveSetupError(
                f"{self.path}: segments {start + 1} to {end} are wanted, and {len(found)} of them are there: "
                "the checkpoint and the spool do not belong together"
            )
        return found

    def draft(self, number: int, branch: Xid, messages: Sequence[Taken]) -> Draft:
        """Writes and syncs messages, so that recording them needs no further space.  Raises LiveError."""
        named = word(branch)
        octets = sum([each.octets for each in messages])
        name = f"{number:012d}-{len(messages)}-{octets}-{named}.segment"
        part = self.path / (name + PART)
        write(part, messages)
        return Draft(Segment(number, len(messages), octets, named, name), branch, part)

    def drafts(self) -> list[Draft]:
        """Returns what was written and does not count, complete or not.  Only for the holder of the lock."""
        found = []
        for path in self.path.glob(f"*{PART}"):
            segment = _named(path.name.removesuffix(PART))
            if segment is not None:
                found.append(Draft(segment, from_word(segment.branch), path))
        return sorted(found)

    def record(self, draft: Draft) -> Segment:
        """Records a draft: from now on it counts.  Raises LiveError when that is not certain."""
        with told(draft.part):
            draft.part.rename(self.path / draft.segment.name)
            sync_folder(self.path)
        return draft.segment

    def withdraw(self, segment: Segment) -> None:
        """Withdraws a recorded segment that nobody has seen yet: its messages are on their queues again."""
        with told(self.path):
            (self.path / segment.name).unlink(missing_ok=True)
            sync_folder(self.path)

    def tidy(self, drafts: Sequence[Draft]) -> None:
        """Deletes drafts, and files of removed segments.  Only for the holder of the lock."""
        for draft in drafts:
            draft.part.unlink(missing_ok=True)
        for path in self.path.glob("*.segment"):
            segment = _named(path.name)
            if segment is not None and segment.number <= self._removed:
                path.unlink(missing_ok=True)

    def remove(self, number: int) -> None:
        """Removes segments up to this one, which will not be asked for again."""
        if number <= self._removed:
            return
        gone = [each for each in self.segments() if each.number <= number]
        put_json(self.path / NOTE, {"form": 1, "owner": self.owner.hex(), "removed": number})
        self._removed = number
        for each in gone:
            (self.path / each.name).unlink(missing_ok=True)

    def branches(self) -> dict[str, Segment]:
        """Returns the segments by the words of their branches."""
        return {each.branch: each for each in self.segments()}
