"""Names of branches: whose they are, so that recovery never touches those of anybody else.

format      FORMAT, the same for all
global id   16 octets of the spool or journal, that is of this query's checkpoint and no other's; 8 octets of the number:
            a segment's, an epoch's, or one made of the name of a job
branch id   one octet: "S" source, "P" task of a stream, "J" task of a job; 8 octets of chance, for each attempt is
                another branch
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from os import urandom
from pathlib import Path
from typing import Final

from amqp_sansio.spark.errors import LiveSetupError
from amqp_sansio.spark.live.disk import get_json, put_json
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.xids import key_of, xid

FORMAT: Final = 0x53504B31
""""SPK1": branches of this package's Spark source and sink."""
OWNER_OCTETS: Final = 16
"""Octets of the owner in a branch."""
CHANCE_OCTETS: Final = 8
"""Random octets that make each attempt a different branch."""
SOURCE: Final = b"S"
SINK: Final = b"P"
JOB: Final = b"J"
MOST: Final = 2**64 - 1
"""The largest number of a segment or an epoch."""


def new_owner() -> bytes:
    """Returns a name that no other spool or journal has."""
    return urandom(OWNER_OCTETS)


def note_of(path: Path, kept: str, pattern: str, **first: int) -> tuple[bytes, dict[str, int]]:
    """Returns the owner and the numbers in the note of a folder.  Writes a note, with the numbers `first`, to an empty folder.

    Raises LiveSetupError when it is not ours, or is gone though something is `kept` in the folder, in files like `pattern`.
    """
    note = get_json(path)
    if note is None:
        if any(path.parent.glob(pattern)):
            raise LiveSetupError(f"{path.parent}: holds {kept}, but {path.name} is gone")
        note = {"form": 1, "owner": new_owner().hex(), **first}
        put_json(path, note)
    if note.get("form") != 1:
        raise LiveSetupError(f"{path.parent}: is of form {note.get('form')}, which this release does not know")
    try:
        return bytes.fromhex(note["owner"]), {name: int(note[name]) for name in first}
    except (KeyError, TypeError, ValueError) as error:
        raise LiveSetupError(f"{path}: is damaged, or not a file of amqp-sansio") from error


def branch(owner: bytes, kind: bytes, number: int, chance: Callable[[int], bytes] = urandom) -> Xid:
    """Returns a new branch; `number` is that of a segment or an epoch, 0 to MOST."""
    return xid(FORMAT, owner + number.to_bytes(8, "big"), kind + chance(CHANCE_OCTETS))


def owned(xids: Iterable[Xid], owner: bytes, kind: bytes) -> list[Xid]:
    """Returns the branches that belong to an owner; those of others are never decided about."""
    found = []
    for each in xids:
        form, global_id, branch_id = key_of(each)
        mine = form == FORMAT and len(global_id) == OWNER_OCTETS + 8 and global_id.startswith(owner)
        if mine and branch_id.startswith(kind) and len(branch_id) == 1 + CHANCE_OCTETS:
            found.append(each)
    return found


def unseen(xids: Iterable[Xid], seen: set[str]) -> list[Xid]:
    """Returns the branches not seen before, and marks them as seen; a broker lists only some of those in doubt at a time."""
    found = [each for each in xids if name_of(each) not in seen]
    seen.update([name_of(each) for each in found])
    return found


def number_of(given: Xid) -> int:
    """Returns the segment or epoch of a branch of ours."""
    return int.from_bytes(key_of(given)[1][OWNER_OCTETS:], "big")


def number_of_job(name: str) -> int:
    """Returns the number in a job's branches."""
    return int.from_bytes(sha256(name.encode()).digest()[:8], "big")


def name_of(given: Xid) -> str:
    """Returns the name of a branch, for file names and JSON."""
    _, global_id, branch_id = key_of(given)
    return f"{global_id.hex()}-{branch_id.hex()}"


def branch_named(text: str) -> Xid:
    """Returns the branch of that name.  Raises ValueError for anything else."""
    global_id, _, branch_id = text.partition("-")
    made = xid(FORMAT, bytes.fromhex(global_id), bytes.fromhex(branch_id))
    if name_of(made) != text:
        raise ValueError(f"{text!r} names no branch")
    return made
