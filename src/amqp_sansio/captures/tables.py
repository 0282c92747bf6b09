"""The definitions of all tables: those made from captures, for Arrow, Spark and the docs, and the table of packets.

This module imports nothing: `captures.columns` derives Arrow schemas from the definitions, `spark/` data frame schemas, the
docs a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple


class Type(Enum):
    """The type of a column; the value is Spark's name of it."""

    STRING = "string"
    SHORT = "smallint"
    INT = "int"
    LONG = "bigint"
    BOOL = "boolean"
    BINARY = "binary"
    DATE = "date"
    TIME = "timestamp"
    """A moment, UTC, truncated to microseconds, so that times keep their order."""
    STRINGS = "array<string>"
    RANGES = "array<struct<first:bigint,last:bigint>>"
    """Ranges of command ids, ends included."""
    COUNTS = "map<string,bigint>"


class Column(NamedTuple):
    """A column.  `unit` is "" where there is none ("ns since 1970 UTC", "octets"); `text` is one sentence."""

    name: str
    type: Type
    text: str
    unit: str = ""
    nullable: bool = True

    @property
    def ddl(self) -> str:
        """The column in Spark's DDL."""
        return f"`{self.name}` {self.type.value}{'' if self.nullable else ' NOT NULL'}"


class TableSchema(NamedTuple):
    """A table with one row for each `row`.  Tables that are not `default` are written only on request."""

    name: str
    row: str
    text: str
    columns: tuple[Column, ...]
    default: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple([column.name for column in self.columns])

    @property
    def said(self) -> tuple[str, ...]:
        """The columns that a row has a value for: all but those that repeat a timestamp in nanoseconds.

        A row holds times as whole ns since 1970 UTC.
        """
        left_out: Final = {in_ns(column.name) for column in self.columns if column.type is Type.TIME}
        return tuple([name for name in self.names if name not in left_out])

    @property
    def ddl(self) -> str:
        """The columns in Spark's DDL, for `DataFrame` readers and `applyInArrow`."""
        return ddl(self.columns)

    def without(self, names: Iterable[str]) -> tuple[Column, ...]:
        """Returns the columns except those named."""
        left_out: Final = frozenset(names)
        return tuple([column for column in self.columns if column.name not in left_out])


def ddl(columns: Iterable[Column]) -> str:
    """Returns the columns in Spark's DDL."""
    return ", ".join([column.ddl for column in columns])


def at(name: str, text: str, nullable: bool = True) -> Column:
    """Returns a column of times."""
    return Column(name, Type.TIME, text, "UTC", nullable)


def exactly(name: str, text: str, nullable: bool = True) -> tuple[Column, Column]:
    """Returns a column of times and a second one with the same in nanoseconds, for comparing and subtracting."""
    beside = Column(in_ns(name), Type.LONG, f"`{name}` to the nanosecond.", "ns since 1970 UTC", nullable)
    return at(name, text, nullable), beside


def is_time(name: str) -> bool:
    """Whether that is the name of a column of times: `ts`, or one that ends in `_at`."""
    return name == "ts" or name.endswith("_at")


def in_ns(name: str) -> str:
    """Returns the name of the nanoseconds column for column `name`: `ts_ns` of `ts`, `said_ns` of `said_at`."""
    return f"{name.removesuffix('_at')}_ns"


SCHEMA_VERSION: Final = 2
"""Grows when a column changes its name, type or meaning; the manifest names it."""


PARTITIONS: Final = ("capture_date", "broker")
"""The columns that become folders on disk, in this order."""


def _filled(name: str, kind: Type, text: str, unit: str = "") -> Column:
    """Returns a column that is never null."""
    return Column(name, kind, text, unit, nullable=False)


COMMON: Final = (
    _filled("capture", Type.STRING, "The capture in which the connection was first heard."),
    _filled("broker", Type.STRING, "Name given to the broker, otherwise its address and port."),
    _filled("capture_date", Type.DATE, "Day (UTC) of `ts`."),
    _filled(
        "connection",
        Type.LONG,
        "One TCP connection: hash of addresses, ports, how often they were used before, and the SYN or first packet.",
    ),
)
"""The first columns of every table."""


def _passed(name: str, text: str) -> Column:
    return Column(name, Type.LONG, text, "ns")


def _table(name: str, row: str, text: str, ts: str, columns: tuple[Column, ...], default: bool = True) -> TableSchema:
    """Returns a table with the common columns, a time and these columns; `ts` says when that is."""
    return TableSchema(name, row, text, (*COMMON, *exactly("ts", ts, nullable=False), *columns), default)


_DIRECTION: Final = _filled("direction", Type.STRING, "The speaker: C the client, S the server.")
_SESSION: Final = Column("session", Type.STRING, "Name of the session; hex digits after 0x if it is not text; null unknown.")
_CHANNEL: Final = _filled("channel", Type.INT, "Channel.")
_FILE: Final = Column("file_id", Type.INT, "File of the packet: its place in the manifest's list.")
_OFFSET: Final = Column("file_offset", Type.LONG, "Where the packet's record starts in the file, uncompressed.", "octets")
_STREAM: Final = _filled("stream_offset", Type.LONG, "Where it starts in what the speaker said.", "octets")


def _count(name: str, text: str, unit: str = "", nullable: bool = False) -> Column:
    return Column(name, Type.LONG, text, unit, nullable)


def _counts(name: str, text: str, unit: str = "") -> tuple[Column, Column]:
    """Returns a count for each side; `text` has {} where it names the side."""
    return _count(f"{name}_by_client", text.format("client"), unit), _count(f"{name}_by_server", text.format("server"), unit)


CONNECTIONS: Final = _table(
    "connections",
    "AMQP connection",
    "Client and server, what they agreed on, how it ended, how much they sent.",
    "First packet.",
    (
        _filled("name", Type.STRING, "client>server#n, n counting those on the same ports that spoke AMQP."),
        _filled("client", Type.STRING, "Address and port of the client."),
        _filled("server", Type.STRING, "Address and port of the server."),
        Column("protocol", Type.STRING, "Version of AMQP, from the protocol header; null unknown."),
        _filled("from_start", Type.BOOL, "Whether the capture has its first octet."),
        at("ended_at", "Last packet.", nullable=False),
        at("opened_at", "When the server said open-ok."),
        _filled(
            "ending",
            Type.STRING,
            "How it ended: close (agreed), eof (TCP only), reset, open (it had not ended in the capture).",
        ),
        Column("close_by", Type.STRING, "Who said connection.close first: C or S."),
        Column("close_code", Type.INT, "Its reply-code."),
        Column("close_text", Type.STRING, "Its reply-text."),
        Column("mechanism", Type.STRING, "SASL mechanism that the client chose."),
        Column("virtual_host", Type.STRING, "Virtual host that the client opened."),
        Column("channel_max", Type.INT, "Agreed on with tune-ok."),
        Column("frame_max", Type.INT, "Agreed on with tune-ok.", "octets"),
        Column("heartbeat_s", Type.INT, "Agreed on with tune-ok; 0 none.", "s"),
        _count("packets", "Packets that belong to it."),
        *_counts("octets", "Octets of the {}'s stream that were captured.", "octets"),
        _count("repeated_octets", "Payload octets captured beyond those: sent again or overlapping.", "octets"),
        _count("gaps", "Places at which octets are missing."),
        *_counts("lost", "Octets of the {}'s stream that are missing.", "octets"),
        _count("opaque_octets", "Octets that were captured and could not be read.", "octets"),
        *_counts("frames", "Frames that the {} sent."),
        *_counts("commands", "Commands that the {} sent."),
        *_counts("transfers", "Messages that the {} sent."),
        _filled("verbs_by_client", Type.COUNTS, "How often the client said each control and command."),
        _filled("verbs_by_server", Type.COUNTS, "How often the server said each control and command."),
        _count("violations", "Violations by either side."),
        _count("notes", "Notes, which accuse nobody."),
        Column("not_judged", Type.STRING, "Why nothing in it was judged: TLS, another version, no frame; null: it was."),
    ),
)

SESSIONS: Final = _table(
    "sessions",
    "attachment of a session to a channel",
    "From attach to detach or to the end of the capture; with the messages whose fate is in doubt.",
    "Attach; where that is missing, the first word on the channel.",
    (
        _SESSION,
        _CHANNEL,
        at("attached_at", "When it was confirmed (session.attached)."),
        at("detach_at", "When either side first said session.detach."),
        at("ended_at", "When it ended: detached, or the last packet of the connection.", nullable=False),
        _filled(
            "ending",
            Type.STRING,
            "detached; refused (the attach was); connection (it ended or broke with the session attached); open (it had not"
            " ended in the capture); unknown (octets are missing).",
        ),
        Column("detach_by", Type.STRING, "Who said session.detach first: C or S."),
        Column("detach_code", Type.INT, "Code of session.detached."),
        Column("timeout_s", Type.LONG, "Detached lifetime that was granted; 4294967295 without end.", "s"),
        Column("demarcation", Type.STRING, "none, tx or dtx."),
        Column("error_code", Type.INT, "Code of the first execution.exception."),
        Column("error_text", Type.STRING, "Its description."),
        *_counts("commands", "Commands that the {} sent."),
        *_counts("transfers", "Messages that the {} sent."),
        Column(
            "in_doubt_by_client",
            Type.RANGES,
            "Messages that the client published and of which nobody heard that they are complete; null unknown.",
        ),
        Column(
            "in_doubt_by_server",
            Type.RANGES,
            "Messages that the client acquired and of which nobody heard that they are settled; null unknown.",
        ),
        _count("in_doubt", "How many messages these are; null unknown.", nullable=True),
    ),
)

COMMANDS: Final = _table(
    "commands",
    "command, transfers included",
    "What was asked for and when it was complete.",
    "First octet.",
    (
        _DIRECTION,
        _SESSION,
        _CHANNEL,
        Column("command_id", Type.LONG, "Id in its sender's stream; null unknown."),
        _filled("verb", Type.STRING, 'Class and name, "message.transfer"; numbers where it has no name.'),
        _filled("sync", Type.BOOL, "Whether prompt completion was asked for."),
        _filled("whole", Type.BOOL, "Whether it came whole and could be read."),
        Column("arguments", Type.STRING, "Its fields as JSON; null for transfers, which `messages` describes."),
        _filled("octets", Type.INT, "Size with header and body, without frame headers.", "octets"),
        at("last_octet_at", "Last octet.", nullable=False),
        at("completed_at", "When the other side said that it is complete."),
        _passed("complete_latency_ns", "`completed_at` - `last_octet_at`, counted in nanoseconds; null where time went back."),
        at("result_at", "When its result came."),
        Column("result", Type.STRING, "Its result as JSON."),
        _filled(
            "outcome",
            Type.STRING,
            "completed; refused (execution.exception names it); open (no answer until the end: in doubt); unknown"
            " (octets are missing, or its beginning is).",
        ),
        Column("error_code", Type.INT, "Why it was refused."),
        Column("error_text", Type.STRING, "Why it was refused, in the words of who refused."),
        _STREAM,
        _FILE,
        _OFFSET,
    ),
)

MESSAGES: Final = _table(
    "messages",
    "transfer, in either direction",
    "C: published to the broker. S: delivered by it. What became of it and when.",
    "First octet of the transfer: when it was sent.",
    (
        _DIRECTION,
        _SESSION,
        _CHANNEL,
        Column("transfer_id", Type.LONG, "Its command id; null unknown."),
        Column("destination", Type.STRING, "Exchange (published) or subscription (delivered) as the transfer says it."),
        Column("exchange", Type.STRING, "Exchange that it was published to."),
        Column("routing_key", Type.STRING, "Routing key."),
        Column("queue", Type.STRING, "Queue of the subscription that it was delivered to; null unknown or published."),
        Column("message_id", Type.STRING, "UUID that its publisher gave it."),
        Column("correlation_id", Type.STRING, "Text; hex digits after 0x if it is not text."),
        Column("content_type", Type.STRING, "MIME type."),
        Column("priority", Type.INT, "0 to 9; null: the default, 4."),
        Column("durable", Type.BOOL, "Whether it is persistent; null unknown.", nullable=True),
        Column("redelivered", Type.BOOL, "Whether the broker says that somebody may have had it; null unknown."),
        Column("ttl_ms", Type.LONG, "Time to live.", "ms"),
        Column("accept_mode", Type.STRING, "explicit or none; null unknown."),
        Column("acquire_mode", Type.STRING, "pre-acquired or not-acquired; null unknown."),
        _filled("header_octets", Type.INT, "Size of its header segment.", "octets"),
        _filled("body_octets", Type.INT, "Size of its body.", "octets"),
        Column("body_head", Type.BINARY, "First octets of its body, if they were asked for (--payload head:N)."),
        at("first_octet_at", "First octet of its header or body: the packet that ended the command."),
        *exactly("last_octet_at", "Last octet.", nullable=False),
        at("acquired_at", "When its recipient held it: with the transfer, or by message.acquire."),
        at("accepted_at", "When it was accepted."),
        at("rejected_at", "When it was rejected."),
        at("released_at", "When it was released."),
        at("completed_at", "When its recipient said that the transfer is complete."),
        at("settled_at", "When its fate was sealed: accepted, rejected, released, or complete where no accept is asked for."),
        _passed("settle_latency_ns", "`settled_at` - `last_octet_at`, counted in nanoseconds; null where time went back."),
        _filled(
            "outcome",
            Type.STRING,
            "accepted, rejected, released; completed (no accept came or was asked for); refused (execution.exception names it);"
            " open (no answer until the end: in doubt); unknown (octets are missing, or its beginning is).",
        ),
        Column("reject_code", Type.INT, "Code of message.reject."),
        Column("reject_text", Type.STRING, "Its text."),
        Column("transaction", Type.LONG, "Number of the local transaction (see `transactions`) that it was published in."),
        Column("xid", Type.STRING, "Branch (see `dtx`) that it was published in."),
        Column("settled_transaction", Type.LONG, "Number of the local transaction in which it was accepted."),
        Column("settled_xid", Type.STRING, "Branch in which it was accepted."),
        _STREAM,
        _FILE,
        _OFFSET,
    ),
)

CREDIT: Final = _table(
    "credit",
    "change of the credit of a subscription",
    "Grants, stops, and the moments at which credit ran out and came back. Deliveries in between have no row.",
    "When it was sent; for exhausted: the delivery that used the last credit.",
    (
        _filled("direction", Type.STRING, "The subscriber, to whom credit belongs: C or S."),
        _SESSION,
        _CHANNEL,
        _filled("destination", Type.STRING, "Name of the subscription."),
        Column("queue", Type.STRING, "Its queue; null unknown."),
        _filled(
            "event",
            Type.STRING,
            "subscribe, flow, stop, flush, set-flow-mode, cancel; exhausted; refilled (a window moved up from zero);"
            " end (the session or the capture ended with credit at zero).",
        ),
        Column("unit", Type.STRING, "Of flow: message or byte."),
        Column("value", Type.LONG, "Of flow; 4294967295 without limit."),
        Column("mode", Type.STRING, "credit or window."),
        Column("message_credit", Type.LONG, "Messages that may be sent from here on; 4294967295 without limit; null unknown."),
        Column(
            "byte_credit", Type.LONG, "Octets that may be sent from here on; 4294967295 without limit; null unknown.", "octets"
        ),
        _passed("stalled_ns", "How long credit had been at zero when this ended it."),
    ),
)

TRANSACTIONS: Final = _table(
    "transactions",
    "local transaction (class tx)",
    "From tx.select or the end of the one before to commit or rollback; the last one of a session is usually open and empty.",
    "First command in it; where there is none, its end.",
    (
        _SESSION,
        _CHANNEL,
        _filled("transaction", Type.LONG, "Number in its session, from 1."),
        at("ended_at", "When commit or rollback was sent."),
        at("completed_at", "When that was complete."),
        _passed("latency_ns", "`completed_at` - `ended_at`, counted in nanoseconds; null where time went back."),
        _filled(
            "outcome",
            Type.STRING,
            "committed; rolled-back; in-doubt (commit has no answer); refused; abandoned (the session"
            " ended, which rolls back); open (the capture ended); unknown (octets are missing).",
        ),
        _count("transfers", "Messages published in it."),
        _count("accepts", "Deliveries accepted in it."),
    ),
)

DTX: Final = _table(
    "dtx",
    "branch of a distributed transaction, as one connection speaks of it",
    "What one connection asked of the branch and heard; the view `branches` puts connections together.",
    "When it was first named.",
    (
        _filled("xid", Type.STRING, "format:global-id:branch-id, the ids in hex digits."),
        at("start_at", "First dtx.start."),
        at("end_at", "Last dtx.end."),
        *exactly("prepare_at", "dtx.prepare."),
        at("prepared_at", "Its result: ok."),
        *exactly("decide_at", "dtx.commit or dtx.rollback."),
        *exactly("decided_at", "Its result."),
        Column("one_phase", Type.BOOL, "Whether commit asked for one phase."),
        Column("timeout_s", Type.LONG, "The last dtx.set-timeout.", "s"),
        Column("status", Type.STRING, "XA status of the last result: ok, rbrollback, rbtimeout, heurhaz, ... ."),
        _filled(
            "outcome",
            Type.STRING,
            "committed; rolled-back; read-only; timed-out; heuristic; forgotten; prepared; active (started, not prepared);"
            " failed (marked to be rolled back); unknown.",
        ),
        _filled("in_doubt", Type.BOOL, "Prepared without a decision heard, or decided without a result heard."),
        _count("starts", "dtx.start, joins and resumes included."),
        _count("transfers", "Messages published in it."),
        _count("accepts", "Deliveries accepted in it."),
        Column("error_code", Type.INT, "Code of the last execution.exception about it."),
    ),
)

VIOLATIONS: Final = _table(
    "violations",
    "thing found: a violation, a note, or damage of a file",
    "Who broke which rule, the offending word and the legal ones; notes accuse nobody.",
    "The packet.",
    (
        Column("direction", Type.STRING, "Who said it: C or S; null for damage of a file."),
        _filled("level", Type.STRING, "violation (accuses the speaker), note (nobody), damage (a file)."),
        _filled("rule", Type.STRING, "Path of the specification's rule, or a short name."),
        _filled("said", Type.STRING, "The offending word."),
        _filled("legal", Type.STRINGS, "The legal words."),
        _filled("text", Type.STRING, "One sentence."),
        Column("code", Type.INT, "Error code that goes with it; 0 none."),
        Column("channel", Type.INT, "Channel, if one is concerned."),
        Column("stream_offset", Type.LONG, "Where it is in what the speaker said.", "octets"),
        _FILE,
        _OFFSET,
    ),
)

CONTROLS: Final = _table(
    "controls",
    "control",
    "What connection and sessions are run with: opening, attach, detach, command-point, close and so on.  Of completed,"
    " known-completed, confirmed, flush and heartbeat only the eight before and after a violation; `connections` counts all.",
    "The packet that brought its last octet.",
    (
        _DIRECTION,
        _CHANNEL,
        _filled("verb", Type.STRING, 'Class and name, "session.attach"; numbers where it has no name.'),
        Column("arguments", Type.STRING, "Its fields as JSON, of secret ones their length in octets; null: it cannot be read."),
        _STREAM,
        _FILE,
        _OFFSET,
    ),
)

FRAMES: Final = _table(
    "frames",
    "frame",
    "Every frame as it was cut; much, so only on request.",
    "The packet that brought its last octet.",
    (
        _DIRECTION,
        _STREAM,
        _CHANNEL,
        _filled("track", Type.INT, "0 controls, 1 commands."),
        _filled("type", Type.STRING, "control, command, header or body."),
        _filled("first_segment", Type.BOOL, "Flag B."),
        _filled("last_segment", Type.BOOL, "Flag E."),
        _filled("first_frame", Type.BOOL, "Flag b."),
        _filled("last_frame", Type.BOOL, "Flag e."),
        _filled("octets", Type.INT, "Its size, with the frame header.", "octets"),
        Column("verb", Type.STRING, "What the first frame of a control or command says."),
        _FILE,
        _OFFSET,
    ),
    default=False,
)

TABLES: Final[dict[str, TableSchema]] = {
    table.name: table
    for table in (CONNECTIONS, SESSIONS, COMMANDS, MESSAGES, CREDIT, TRANSACTIONS, DTX, VIOLATIONS, CONTROLS, FRAMES)
}
"""Every table by its name."""

DEFAULT_TABLES: Final = tuple([table.name for table in TABLES.values() if table.default])
"""The tables that are written by default."""


END_TO_END: Final = TableSchema(
    "end_to_end",
    "delivery of a message that was published under the same message-id",
    "From the first octet published to the last octet delivered; a message delivered twice has two rows. Of several"
    " publications under one id the latest counts that began before the delivery ended, by the recorded times. Where all"
    " began later (a clock that stepped back, clocks that disagree, a message passed on under its id) the first of them"
    " counts, without a latency. Without any there is no row.",
    (
        _filled("message_id", Type.STRING, "UUID that its publisher gave it."),
        _filled("published_on", Type.LONG, "Connection of the publisher."),
        _filled("delivered_on", Type.LONG, "Connection of the consumer."),
        Column("queue", Type.STRING, "Queue that it was delivered from; null unknown."),
        Column("redelivered", Type.BOOL, "Whether the broker says that somebody may have had it."),
        *exactly("published_at", "First octet of the publication.", nullable=False),
        *exactly("delivered_at", "Last octet of the delivery.", nullable=False),
        Column("latency_ns", Type.LONG, "`delivered_ns` - `published_ns`; null where that is below zero.", "ns"),
    ),
)

END_TO_END_SQL: Final = """
SELECT message_id, published_on, delivered_on, queue, redelivered, published_at, published_ns, delivered_at, delivered_ns,
       CASE WHEN published_ns <= delivered_ns THEN delivered_ns - published_ns END AS latency_ns
FROM (
  SELECT d.message_id, p.connection AS published_on, d.connection AS delivered_on, d.queue, d.redelivered,
         p.ts AS published_at, p.ts_ns AS published_ns, d.last_octet_at AS delivered_at, d.last_octet_ns AS delivered_ns,
         row_number() OVER (
           PARTITION BY d.connection, d.direction, d.stream_offset
           ORDER BY CASE WHEN p.ts_ns <= d.last_octet_ns THEN 1 ELSE 2 END, abs(p.ts_ns - d.last_octet_ns),
                    p.connection DESC, p.stream_offset DESC
         ) AS place
  FROM messages d JOIN messages p ON p.message_id = d.message_id
  WHERE d.direction = 'S' AND p.direction = 'C' AND d.last_octet_ns IS NOT NULL
) AS pairs
WHERE place = 1
"""
"""The join across connections on finished tables, for Spark and DuckDB; `columns.end_to_end` does the same on columns."""


FORMER_VERSION: Final = 1
"""The version that can be read besides SCHEMA_VERSION.

In it times were numbers (int64), nanoseconds since 1970 UTC, in columns ending in `_ns`.  Those that still exist are unchanged;
a timestamp is derived from the one with its former name.
"""
RENAMED: Final = {"ending": "end", "file_offset": "offset", "ended_at": "end_ns"}
"""Former names that `in_ns` does not give."""


def refusal(version: object) -> str | None:
    """Returns why tables of this schema version cannot be read; None when they can."""
    if version in (FORMER_VERSION, SCHEMA_VERSION):
        return None
    return f"tables of schema {str(version)[:20]}, and this version knows {FORMER_VERSION} and {SCHEMA_VERSION}"


def former_name(name: str) -> str:
    """Returns the name of column `name` in version 1."""
    return RENAMED.get(name) or (in_ns(name) if is_time(name) else name)


def former_names(table: TableSchema) -> tuple[str, ...]:
    """Returns the columns that a table had in version 1, in order."""
    return tuple(dict.fromkeys([former_name(name) for name in table.names]))


PACKETS: Final = (
    _filled("capture", Type.STRING, "path of the capture file, as it was found"),
    _filled("file_id", Type.INT, "number of the file among those read together, in the order of their names"),
    _filled("offset", Type.LONG, "where the packet's record starts: octets of the file, decompressed"),
    _filled("ts_ns", Type.LONG, "when it was captured, ns since 1970 UTC; 0 where the file tells no time"),
    _filled(
        "latest_ns",
        Type.LONG,
        "the latest time in the file up to this packet, of any connection, ns since 1970 UTC: files are merged by it",
    ),
    _filled(
        "connection",
        Type.LONG,
        "hash of both addresses and ports, the same for both directions, whenever the ports are used again; 0 for a note"
        " that belongs to no connection",
    ),
    _filled("src", Type.STRING, "address of the sender; empty in a note about a place in the file"),
    _filled("dst", Type.STRING, "address of the receiver; empty in a note about a place in the file"),
    _filled("sport", Type.INT, "TCP port of the sender"),
    _filled("dport", Type.INT, "TCP port of the receiver"),
    _filled("seq", Type.LONG, "TCP sequence number, 0 to 2^32-1"),
    _filled("ack", Type.LONG, "TCP acknowledgement number, 0 to 2^32-1; counts only with the flag ACK (16)"),
    _filled("flags", Type.SHORT, "TCP flags: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128"),
    _filled("payload", Type.BINARY, "octets of the stream that the packet holds and the capture kept"),
    _filled("cut", Type.INT, "octets of the stream behind those that the capture did not keep (snaplen)"),
    Column("note", Type.STRING, "what cannot be read at this place, in one sentence; null for a good packet"),
)
"""The columns of a table of packets: output of the vectorised reader and input of a replay.

One row is one TCP segment, or a note about a place in a file that cannot be read, which has no octets of a stream.  (`file_id`,
`offset`) is unique for each packet, however the file is split.  Rows of one connection in the order of (`latest_ns`, `file_id`,
`offset`) are its traffic: each file in its own order, whatever its clock did.
"""

PACKET_NAMES: Final = tuple(column.name for column in PACKETS)


def picked(columns: str | tuple[str, ...] | None) -> tuple[Column, ...]:
    """Returns the columns of those names (a tuple, or a comma-separated text), in table order; None: all.

    Raises ValueError for an unknown name, or when none is given.
    """
    if columns is None:
        return PACKETS
    wanted = [word.strip() for word in columns.split(",")] if isinstance(columns, str) else list(columns)
    unknown = [word for word in wanted if word not in PACKET_NAMES]
    if unknown or not wanted:
        raise ValueError(
            f"no such column of packets: {', '.join(unknown) or 'none is named'}; there are {', '.join(PACKET_NAMES)}"
        )
    return tuple(column for column in PACKETS if column.name in wanted)
