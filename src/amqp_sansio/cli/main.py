"""The command `amqp-sansio`: one module per verb, which imports what it needs when it runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from amqp_sansio.cli import INTERRUPTED, broker_verbs, selection, simulate
from amqp_sansio.cli.given import Parser, argument, asked, flag, repeated, whole
from amqp_sansio.errors import AmqpError
from amqp_sansio.kernel.build import VERSION

_BROKEN_PIPE: Final = 141
"""What a shell reports for a program that SIGPIPE ended."""
_FULL: Final = 2
"""Not 1, which tells of `check` and `simulate` that something was judged and found wrong."""

_DESCRIPTION: Final = """\
AMQP before 1.0: read captures, run and test brokers, send and receive messages.

Read captures of broker traffic (pcap, pcapng):

  amqp-sansio decode traffic.pcap    print the conversations, one line for each control, command or method
  amqp-sansio check traffic.pcap     tell who broke the protocol, with one verdict for each connection

Run a broker, and talk to one:

  amqp-sansio serve                               run a broker on 127.0.0.1
  amqp-sansio send --queue orders --create hello  send it a message
  amqp-sansio receive --count 1 orders            receive the message
  amqp-sansio passwd FILE USER                    add a user for `serve --auth FILE`
  amqp-sansio rules check FILE                    check the rules for `serve --allow FILE`
  amqp-sansio store check DIR                     check, copy or compact the store of `serve --data-dir DIR`

Test:

  amqp-sansio probe HOST:PORT        report which rules of the protocol a server keeps
  amqp-sansio simulate --seed 1      simulate clients, crashing brokers and a faulty network, in memory
  amqp-sansio run                    see it all at work: a real capture, a link that breaks, a broker that is killed

Turn captures into tables (extra [spark], or [tables] for small captures):

  amqp-sansio analyze *.pcap --out DIR               write connections, sessions, commands, messages, violations, ...
  amqp-sansio watch DIR --out DIR --checkpoint DIR   the same, while the files are being written (extra [spark])
  amqp-sansio compact DIR                            merge small files of the tables
  amqp-sansio report DIR                             make one HTML page of the tables, or of captures (extra [report])
  amqp-sansio doctor                                 check whether the pipeline can run here
"""

_FILES: Final = """\
FILE is a pcap or pcapng file: micro- or nanoseconds, either byte order; Ethernet with or without VLAN tags, loopback, Linux
cooked or raw IP; IPv4 and IPv6; in PPPoE, MPLS, GRE, VXLAN or GENEVE, too; also in gzip or zstd (extra [zstd]). The verb reads
it once, forward, in bounded memory, so it may be a pipe; - is stdin. For a folder or a pattern it reads all files, in the order
of their names.

The verb recognises conversations by their protocol header ("AMQP", the first octets of a connection)."""

_DECODE: Final = (
    """\
Print the conversation of every AMQP connection: one line for each control, command or method, in the order in which its last
octet was captured. It continues after violations; `amqp-sansio check` reports them.

"""
    + _FILES
    + """

The lines show: packet number, seconds since the first line, the connection's number in brackets, the speaker (C client, S
server), the channel, the verb, and its fields. A command's id follows "#", and "!" asks for completion (sync).

The packet number is the one that viewers give: in Wireshark Go > Go to Packet, with tshark -Y frame.number==N. On a terminal
lines are in colours, errors in red; NO_COLOR=1 turns that off."""
)

_DECODE_MORE: Final = """\
JSON (--json): one object on each line, ASCII, with
  file, packet (from 1), time (integer nanoseconds since 1970 UTC; 0 where the file tells none),
  connection   client>server#n; n counts the use of the same ports
  speaker      "C" for the client (the side that sent the protocol header, or that is not --port), else "S"
  channel      null for protocol headers and opaque parts
  kind         "header", "control", "command", "method" (0-8, 0-9 and 0-9-1, but for class connection), or "opaque"
  verb         "message.transfer"; "119.1" for what has no name; null for headers and opaque parts
  command_id   null for controls and where unknown
  sync         whether the sender asks for completion at once
  complete     false for an assembly that was broken off, never marked as ended, or open at the end
  fields       by name, absent ones left out (a bit that is not set is absent)
  headers      the structs of the header segment, each with its name as "struct"; of a method its properties
  body_octets  an integer
  body         with --bodies text, where it is UTF-8; else, and with --bodies hex, body_hex
Octets are hex digits; floats that are not finite are "NaN", "Infinity", "-Infinity"; decimals and UUIDs are strings; sets of
ids are lists of [low, high]. Without --secrets, SASL responses and challenges appear as a number of octets.

exit status: 0 all files were read, whatever the peers did; 2 a file cannot be read (what was good is printed)"""

_CHECK: Final = (
    """\
Give one verdict on every AMQP connection: "violations" with who broke which rule in which packet, the offending word and the
legal ones; "not judged" with the reason, where nothing could be read (TLS, another version, a security layer); "clean"
where nobody broke a rule in what could be read. Notes accuse nobody: a refused command, a failed login, a reset, silence, a gap
in the capture, a part that cannot be read.

The line before the last counts what somebody may have lost: messages published and not completed, messages delivered and not
settled, branches prepared and not decided on any connection of their broker, commits that nobody answered. The last line says
how many connections and octets were not judged.

"""
    + _FILES
)

_CHECK_MORE: Final = """\
JSON (--json): one object on each line, ASCII, with file, connection, dialect, verdict ("clean", "violations" or "not judged"),
not_judged (the reason, or null), octets, unread_octets, in_doubt (publishes, deliveries, commits, and branches: a list of
xids, as this connection alone tells) and findings: a list of objects with level ("violation" or "note"), speaker ("C" or "S"),
packet, rule, said, legal (a list).

exit status: 1 somebody broke the protocol; 3 nothing was judged, or no AMQP was found; 0 otherwise; 2 a file cannot be read
(what was good is judged)"""

_ANALYZE: Final = """\
Turn captures into tables: Parquet files in DIR/TABLE/, by day and broker, with DIR/_MANIFEST.json written last. It publishes
all or nothing, and replaces an earlier run in the same place. It runs on Spark (extra [spark], which brings a Java if there is
none) or, with --engine local or without pyspark, in this process (extra [tables]). The rows are the same. For a few megabytes
this process is done before Spark has started; Spark uses all cores, and many machines.

The tables judge AMQP 0-10. They list a connection in another version, and say that it is not judged; `amqp-sansio check` judges
it."""

_WATCH: Final = """\
Turn capture files into tables while something, such as tcpdump -C or -G, writes them to a folder. It counts each packet once,
even if it is killed and started again with the same --checkpoint. SIGINT and SIGTERM stop it after the current batch. --once
reads what is there, adds the rows of connections that are still open, and exits: it completes the tables after a stop."""

_TABLES_MORE: Final = """\
JSON (--json): one object with out, tables (rows of each), findings (rows of violations by level), damage (capture, offset,
text), files, octets, seconds, and, if there are any, early (deliveries before their publication, by the recorded times) and
late (files of a stream that came too late).

exit status: 0 done; 2 nothing was published, or a capture could be read only in part (level damage in violations)"""

_REPORT: Final = """\
Make one HTML page of tables or captures: what went wrong, the conversation around each violation, latencies, credit, what is in
doubt, the busiest senders. A browser needs no network to show it.

Give one folder of tables, or captures: files, patterns, or several folders. The verb analyzes captures first, in this process;
--port and --broker are about captures only. It needs the extra [report], and no Spark."""

_REPORT_MORE: Final = """\
exit status: 0 done; 2 the page could not be made, or a capture could be read in part only (the page then shows that part)"""

_COMPACT: Final = """\
Merge small files of the tables in DIR into larger ones with the same rows. Readers see the old files until the new
manifest is there. The verb refuses to run while analyze or watch writes to DIR. It leaves alone the files of the latest batch
of watch, and files of at least half of --file-size. It needs the extra [tables]."""

_COMPACT_MORE: Final = """\
exit status: 0 done, or there was nothing to merge; 2 it failed, and the tables are as before"""

_DOCTOR: Final = (
    "Check what analyze and watch need: libraries, Java, a Spark session, Python workers. "
    "Exit status: 0 when all is well, else 1."
)


port: Final = whole(1, 65535, "is not a TCP port: 1 to 65535")
"""Parses a TCP port."""


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    from amqp_sansio.captures.rows import BODIES
    from amqp_sansio.cli.pipeline import add_broker
    from amqp_sansio.dialects import NAMED

    top = Parser(prog="amqp-sansio", description=_DESCRIPTION)
    flag(top, "--version", "print the version and exit")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", title="verbs (each has its own --help)")
    for name, short, long, more in (
        ("decode", "print the conversations in captures", _DECODE, _DECODE_MORE),
        ("check", "tell who broke the protocol in captures", _CHECK, _CHECK_MORE),
    ):
        verb = verbs.add_parser(name, help=short, description=long, epilog=more)
        argument(verb, "files", "FILE", "a pcap or pcapng file, a folder or pattern of them, or - for stdin", nargs="+")
        flag(verb, "--json", "one JSON object on each line")
        _add_ports(verb)
        repeated(
            verb,
            "--dialect",
            "NAME",
            "read connections with its header as this dialect; may be repeated: " + ", ".join(sorted(NAMED)),
            choices=sorted(NAMED),
        )
        if name == "decode":
            flag(verb, "--secrets", "show SASL responses and challenges")
            argument(
                verb,
                "--bodies",
                None,
                "bodies of messages: text (hex where they are not UTF-8), hex, none (none); in lines, 4,096 octets at most",
                choices=BODIES,
                default="none",
            )
            selection.add_arguments(verb)
        else:
            flag(verb, "--strict", "also report where deployed peers differ from the letter of the specification")
            flag(verb, "--only-wrong", "only connections on which somebody broke the protocol")
            add_broker(verb)
    _add_pipeline(verbs)
    show = verbs.add_parser(
        "run",
        help="show the protocol at work",
        description=(
            "Read and judge real captures, run a client and a server in memory on a link that breaks, then kill a broker and "
            "restart it. Exit status: 0 when all went well, else 1."
        ),
    )
    argument(show, "--seed", "N", "where the link is cut (1)", type=int, default=1)
    argument(show, "--tables", "DIR", "make tables of the captures, too, there (extras [spark], [report])")
    broker_verbs.add_verbs(verbs)
    simulate.add_verb(verbs)
    top.set_defaults(refuse=top.refuse)
    for verb in verbs.choices.values():
        verb.set_defaults(refuse=verb.refuse)
    return top


def _add_ports(verb: argparse.ArgumentParser) -> None:
    repeated(
        verb,
        "--port",
        "N",
        "treat every connection to this port as AMQP, even one that was open before the capture began; may be repeated",
        type=port,
    )


def _add_pipeline(verbs: argparse._SubParsersAction[Parser]) -> None:
    from amqp_sansio.cli.compact import add_file_size
    from amqp_sansio.cli.pipeline import ANY_MASTER, MASTERS, add_arguments, add_broker, hours, named_place, setting

    for name, short, long in (
        ("analyze", "turn captures of any size into tables", _ANALYZE),
        ("watch", "turn captures into tables while they are being written", _WATCH),
    ):
        verb = verbs.add_parser(name, help=short, description=long, epilog=_TABLES_MORE)
        if name == "analyze":
            argument(verb, "files", "CAPTURE", "a pcap or pcapng file, also .gz and .zst, a folder, or a pattern", nargs="+")
            argument(
                verb,
                "--engine",
                None,
                "what does the work: this process (local), or Spark (the default if it is installed)",
                choices=("local", "spark"),
            )
        else:
            argument(verb, "folder", "DIR", "folder of the capture files; --closed tells which of them it reads")
            argument(
                verb, "--checkpoint", "DIR", "folder for its progress, from which it continues", required=True, type=named_place
            )
            flag(verb, "--once", "read what is there and exit")
            argument(
                verb,
                "--closed",
                None,
                "which files are complete, so that it reads them: all but the last one by name (newest), those with a file "
                "NAME.done beside them (done), or every file (all); newest, but with --once all, unless one is still growing",
                choices=("newest", "done", "all"),
            )
            argument(
                verb,
                "--idle-hours",
                "H",
                "take a connection as over, and forget its state, when nothing was captured of it for H hours (24; 0: never)",
                type=hours,
            )
        _add_ports(verb)
        add_arguments(verb, ANY_MASTER if name == "analyze" else MASTERS)
        if name == "analyze":
            add_file_size(verb)
    small = verbs.add_parser("compact", help="merge small files of tables", description=_COMPACT, epilog=_COMPACT_MORE)
    argument(small, "folder", "DIR", "where analyze or watch wrote the tables")
    add_file_size(small)
    flag(small, "--json", "print the result as one JSON object")
    page = verbs.add_parser(
        "report", help="make one HTML page of tables, or of captures", description=_REPORT, epilog=_REPORT_MORE
    )
    argument(page, "places", "DIR|CAPTURE", "the folder to which analyze or watch wrote tables; or captures", nargs="+")
    argument(
        page,
        "--out",
        "FILE",
        "where to write the page (DIR/report.html; for captures FIRST-CAPTURE.html in the current folder)",
        type=named_place,
    )
    _add_ports(page)
    add_broker(page)
    look = verbs.add_parser("doctor", help="check whether the pipeline can run here", description=_DOCTOR)
    argument(look, "--master", "URL", f"where Spark would run (local[*]): {ANY_MASTER}", default="local[*]")
    repeated(look, "--conf", "NAME=VALUE", "a setting for Spark", type=setting, dest="conf")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    _stand_in()
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _write_no_more()  # the reader has gone
        return _BROKEN_PIPE
    except OSError as error:
        if not _stdout_fails():
            raise
        _write_no_more()
        print(f"amqp-sansio: cannot write to stdout: {error.strerror}", file=sys.stderr)
        return _FULL
    except KeyboardInterrupt:
        return INTERRUPTED
    except AmqpError as error:
        print(f"amqp-sansio: {error}", file=sys.stderr)
        return 2
    return status


def _stand_in() -> None:
    """Replaces streams that a shell has closed (`<&-`, `>&-`, `2>&-`) by the null device."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _stdout_fails() -> bool:
    """Whether an OSError was about stdout, which then does not even accept the end of a line."""
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), b"\n")
    except OSError:
        return True
    return False


def _write_no_more() -> None:
    """Redirects stdout, which the interpreter would otherwise flush at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parsed(top: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments.  For an unknown option it shows the usage of the verb instead of that of the whole command."""
    given, unknown = top.parse_known_args(arguments)
    given.refuse(unknown)
    return given


def _run(arguments: Sequence[str] | None) -> int:
    top = parser()
    arguments = sys.argv[1:] if arguments is None else arguments
    given = broker_verbs.intermixed(arguments) or _parsed(top, arguments)
    if given.version:
        print(f"amqp-sansio {VERSION}")
        return 0
    if given.verb == "decode":
        from amqp_sansio.cli.decode import decode

        return decode(
            given.files, as_json=given.json, ports=given.ports, secrets=given.secrets, dialects=given.dialects,
            wanted=asked(selection.Wanted, given), bodies=given.bodies,
        )  # fmt: skip
    if given.verb == "check":
        from amqp_sansio.cli.check import check

        return check(
            given.files, as_json=given.json, ports=given.ports, strict=given.strict, brokers=given.broker,
            dialects=given.dialects, only_wrong=given.only_wrong,
        )  # fmt: skip
    if given.verb == "run":
        from amqp_sansio.cli.run import run

        return run(given.seed, given.tables, main)
    if given.verb == "analyze":
        from amqp_sansio.cli.analyze import analyze

        return analyze(given)
    if given.verb == "watch":
        from amqp_sansio.cli.watch import watch

        return watch(given)
    if given.verb == "report":
        from amqp_sansio.cli.report import report

        return report(given)
    if given.verb == "compact":
        from amqp_sansio.cli.compact import compact

        return compact(given)
    if given.verb == "doctor":
        from amqp_sansio.cli.doctor import doctor

        return doctor(given)
    if given.verb == "simulate":
        return simulate.run(given)
    if given.verb in broker_verbs.VERBS:
        return broker_verbs.run(given)
    top.print_help()
    return 2
