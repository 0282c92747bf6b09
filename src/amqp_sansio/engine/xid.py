"""The xid of a transaction branch: how to make one, and how to compare two."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.serials import whole
from amqp_sansio.ledger.demarcation import XidKey
from amqp_sansio.spec.dtx import Xid

MOST: Final = 64
"""The most octets of a global id or of a branch id, by X/Open XA; the wire could carry 255."""


def xid(format: int, global_id: bytes, branch_id: bytes = b"") -> Xid:
    """Makes an xid within the limits of X/Open XA.

    Raises EncodeError unless `global_id` has 1 to 64 octets and `branch_id` at most 64.  `format` says how the two are built:
    any number from 0 to 2**32 - 1, by convention 0 for OSI CCR. All branches of one transaction share format and global id.
    """
    made = Xid(format, global_id, branch_id)
    check_xid("dtx.xid", made)
    return made


def check_xid(what: str, given: object) -> None:
    """Raises EncodeError for anything that `xid` would not make."""
    if not isinstance(given, Xid):
        raise EncodeError(what, f"an Xid, not {type(given).__name__}")
    if not whole(given.format_):
        raise EncodeError(f"{what}.format", f"0 to 2**32 - 1, not {given.format_!r:.40}")
    parts: tuple[tuple[str, object, int], ...] = (("global-id", given.global_id, 1), ("branch-id", given.branch_id, 0))
    for name, octets, least in parts:
        if not isinstance(octets, bytes) or not least <= len(octets) <= MOST:
            shown = f"{len(octets)} octets" if isinstance(octets, bytes) else type(octets).__name__
            raise EncodeError(f"{what}.{name}", f"{least} to {MOST} octets, not {shown}")


def show(key: XidKey) -> str:
    """Returns an xid as text: its octets in hexadecimal, truncated where they are long."""
    form, global_id, branch_id = key
    return f"{form}:{global_id[:16].hex()}{'..' if len(global_id) > 16 else ''}:{branch_id[:16].hex()}" + (
        ".." if len(branch_id) > 16 else ""
    )
