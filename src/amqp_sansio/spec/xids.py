"""Xids, which name the branches of distributed transactions: made within the limits of X/Open XA, compared and shown."""

from __future__ import annotations

from typing import Final, TypeAlias

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.serials import whole
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.spec import dtx

XidKey: TypeAlias = tuple[int, bytes, bytes]
"""Format, global id and branch id, by which two xids are compared."""


def key_of(given: dtx.Xid | None) -> XidKey:
    """Returns the key by which an xid is compared; absent parts count as 0 and as no octets."""
    if given is None:
        return 0, b"", b""
    return given.format_ or 0, given.global_id or b"", given.branch_id or b""


def key_in(value: object) -> XidKey:
    """Returns the key in a plain value.  Raises TypeError or ValueError for anything else."""
    form, global_id, branch_id = typed(value, tuple)
    if not isinstance(form, int) or not isinstance(global_id, bytes) or not isinstance(branch_id, bytes):
        raise TypeError("xid")
    return form, global_id, branch_id


MOST: Final = 64
"""The most octets of a global id or of a branch id, by X/Open XA; the wire could carry 255."""


def xid(format: int, global_id: bytes, branch_id: bytes = b"") -> dtx.Xid:
    """Makes an xid within the limits of X/Open XA.

    Raises EncodeError unless `global_id` has 1 to 64 octets and `branch_id` at most 64.  `format` says how the two are built:
    any number from 0 to 2**32 - 1, by convention 0 for OSI CCR. All branches of one transaction share format and global id.
    """
    made = dtx.Xid(format, global_id, branch_id)
    check_xid("dtx.xid", made)
    return made


def check_xid(what: str, given: object) -> None:
    """Raises EncodeError for anything that `xid` would not make."""
    if not isinstance(given, dtx.Xid):
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
