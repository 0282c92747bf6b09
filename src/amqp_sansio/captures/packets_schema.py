"""The columns of a table of packets: output of the vectorised reader and input of a replay.

One row is one TCP segment, or a note about a place in a file that cannot be read.  (`file_id`, `offset`) is unique for each
packet, however the file is split.  Rows of one connection in the order of (`latest_ns`, `file_id`, `offset`) are its traffic:
each file in its own order, whatever its clock did.  Plain values only: nothing here needs Arrow or Spark.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Column(NamedTuple):
    """One column.  `arrow` is Arrow's name of its type, `ddl` Spark's; `null`: it may be null."""

    name: str
    arrow: str
    ddl: str
    null: bool
    text: str


PACKETS: Final[tuple[Column, ...]] = (
    Column("capture", "string", "string", False, "path of the capture file, as it was found"),
    Column("file_id", "int32", "int", False, "number of the file among those read together, in the order of their names"),
    Column("offset", "int64", "bigint", False, "where the packet's record starts: octets of the file, decompressed"),
    Column("ts_ns", "int64", "bigint", False, "when it was captured, ns since 1970 UTC; 0 where the file tells no time"),
    Column(
        "latest_ns", "int64", "bigint", False,
        "the latest time in the file up to this packet, of any connection, ns since 1970 UTC: files are merged by it",
    ),
    Column(
        "connection", "int64", "bigint", False,
        "hash of both addresses and ports, the same for both directions, whenever the ports are used again; 0 for a note that "
        "belongs to no connection",
    ),
    Column("src", "string", "string", False, "address of the sender; empty in a note about a place in the file"),
    Column("dst", "string", "string", False, "address of the receiver; empty in a note about a place in the file"),
    Column("sport", "int32", "int", False, "TCP port of the sender"),
    Column("dport", "int32", "int", False, "TCP port of the receiver"),
    Column("seq", "int64", "bigint", False, "TCP sequence number, 0 to 2^32-1"),
    Column("ack", "int64", "bigint", False, "TCP acknowledgement number, 0 to 2^32-1; counts only with the flag ACK (16)"),
    Column("flags", "int16", "smallint", False, "TCP flags: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128"),
    Column("payload", "binary", "binary", False, "octets of the stream that the packet holds and the capture kept"),
    Column("cut", "int32", "int", False, "octets of the stream behind those that the capture did not keep (snaplen)"),
    Column("note", "string", "string", True, "what cannot be read at this place, in one sentence; null for a good packet"),
)  # fmt: skip
"""Every column, in order.  A row with a `note` has no octets of a stream."""

NAMES: Final = tuple(column.name for column in PACKETS)


def picked(columns: str | tuple[str, ...] | None) -> tuple[Column, ...]:
    """Returns the columns of those names (a tuple, or a comma-separated text), in table order; None: all.

    Raises ValueError for an unknown name, or when none is given.
    """
    if columns is None:
        return PACKETS
    wanted = [word.strip() for word in columns.split(",")] if isinstance(columns, str) else list(columns)
    unknown = [word for word in wanted if word not in NAMES]
    if unknown or not wanted:
        raise ValueError(f"no such column of packets: {', '.join(unknown) or 'none is named'}; there are {', '.join(NAMES)}")
    return tuple(column for column in PACKETS if column.name in wanted)


def ddl(columns: tuple[Column, ...] = PACKETS) -> str:
    """Returns the columns as a Spark schema in DDL."""
    return ", ".join(f"`{column.name}` {column.ddl}{'' if column.null else ' NOT NULL'}" for column in columns)
