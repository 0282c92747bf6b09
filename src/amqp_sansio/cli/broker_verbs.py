"""The verbs that run a broker, look after its files, or connect to one: their arguments, and their dispatch."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from amqp_sansio.cli.given import Parser, argument, asked, flag, pair, repeated, seconds, whole
from amqp_sansio.errors import AddressError

if TYPE_CHECKING:
    from amqp_sansio.conversation.address import Address

    _Verbs = argparse._SubParsersAction[Parser]

MOST_MESSAGE: Final = 1 << 40
"""The largest `--max-message`; a larger number is a typing error."""
ACTIONS: Final = ("check", "backup", "compact")
"""The actions of `store`."""
VERBS: Final = ("serve", "passwd", "rules", "store", "send", "receive", "probe")

_SERVE: Final = """\
Serve a broker of AMQP 0-10. It prints its address when it is ready. SIGTERM and SIGINT end it cleanly: it closes its
connections and, with --data-dir, stores what is durable.

It listens on loopback unless --host names another address. With --auth none everybody may log in, as ANONYMOUS or by PLAIN
with any name and password; the broker then refuses to listen anywhere but on loopback. With --auth FILE the users in FILE may
log in: `amqp-sansio passwd` writes it. With --tls-ca FILE a client may also log in by a certificate that one of these
authorities signed (EXTERNAL): its user is the common name in the certificate.

Every user may do everything, unless --allow FILE says who may do what (see `amqp-sansio rules`).

Without --data-dir the broker writes nothing to the disk, and everything is gone when the process ends. With it, the broker
writes durable queues, exchanges and bindings, persistent messages on durable queues, and prepared branches, before it confirms
them.

What is in parentheses below applies when the option is absent."""

_SERVE_MORE: Final = """\
exit status: 0 a signal ended it; 1 something else stopped it, such as a full disk; 2 it could not start"""

_PASSWD: Final = """\
Put a user into a file of password verifiers, or give the user another password. It creates the file if it is missing. At a
terminal it asks for the password, else it reads the first line of stdin. The file never holds the password, only a salted
scrypt key and, if the password is plain ASCII, the keys of SCRAM-SHA-256.

exit status: 0 done; 2 failed, and the file is as before"""

_STORE: Final = """\
Look after the store that `serve --data-dir DIR` keeps.

  check     read all of it and rebuild the broker that is in it
  backup    copy it to TARGET, a new directory, as of one moment; the broker may keep running
  compact   replace the journal by a new snapshot and free the space on the disk

check and compact need exclusive access to the store: stop the broker first, or check a backup."""

_STORE_MORE: Final = "exit status: 0 the store is whole; 1 it is damaged, in use or missing, and stderr says which"

_SEND: Final = """\
Send messages: one for each BODY; without BODY one with all of stdin or, with --lines, one for each line. They go to --queue, or
to --exchange with --key. Messages are persistent unless --transient. It exits when the broker has confirmed all of them.

URL is amqp://user:password@host:port/vhost or amqps://... (the environment variable AMQP_URL, else amqp://127.0.0.1). A first
word with any scheme is the URL, never a body; words after -- are bodies.

It begins in AMQP 0-10. If the broker answers in 0-9-1, 0-9 or 0-8, as RabbitMQ does, it continues in that version and says so
on stderr; ?protocol=0-9-1 in the URL (or 0-9, 0-9-rabbitmq, 0-8, 0-10) chooses the version.

JSON (--json): one object with sent, the number of messages."""

_RECEIVE: Final = """\
Print the messages of a queue as they come, each body and a newline, and accept the printed ones. It stops after --count
messages, after --timeout seconds, or on SIGINT.

URL is amqp://user:password@host:port/vhost or amqps://... (the environment variable AMQP_URL, else amqp://127.0.0.1).

It begins in AMQP 0-10. If the broker answers in 0-9-1, 0-9 or 0-8, as RabbitMQ does, it continues in that version and says so
on stderr; ?protocol=0-9-1 in the URL (or 0-9, 0-9-rabbitmq, 0-8, 0-10) chooses the version. There is no
--browse in 0-9-1, 0-9 and 0-8.

JSON (--json): one object on each line, ASCII, with body (body_hex where it is not UTF-8), exchange, routing_key, redelivered,
headers (those of the application) and properties (those of the message), and header_error if the header cannot be decoded."""

_RULES: Final = """\
Say which rule of a file decides about a request, or, without a request, whether the file can be read.

  amqp-sansio rules check rules.toml --as alice consume queue orders
  amqp-sansio rules check rules.toml --as alice publish exchange orders --key eu"""

_RULES_MORE: Final = """\
VERB is create, delete, purge, bind, unbind, publish, consume, browse or query, and KIND exchange or queue; or VERB is open or
manage, and KIND is host, a virtual host. To publish to a queue is to publish to the default exchange with its name as the key.

exit status: 0 allowed; 1 denied; 2 the file cannot be read, or the request makes no sense"""

_PROBE: Final = """\
Lead a running server of AMQP 0-10 through conversations from the grammar of the protocol, legal ones and ones with one illegal
step, and report which rules it kept and which it broke, each with the shortest conversation that shows it, and its octets.

It first makes every move of every grammar that a client can lead to, then tries each illegal step and each named refusal once
(about 750 conversations in all), then continues at random. The same seed gives the same conversations. It deletes whatever it
declares; the names begin with "probe-SEED-NUMBER-".

Do not probe a broker that others depend on."""

_PROBE_MORE: Final = """\
exit status: 0 the server kept every rule that was tried; 1 it broke some; 2 nobody answers, the login fails, or the server
closes the connection at the protocol header, as a TLS port does: give amqps://host:port, and --ca"""

_CLIENT_MORE: Final = "exit status: 0 done; 1 failed, or done only in part; 2 no connection; 130 interrupted (SIGINT)"


def add_verbs(verbs: _Verbs) -> None:
    """Adds these verbs to the command line."""
    _add_serve(_verb(verbs, "serve", "serve a broker", _SERVE, _SERVE_MORE))
    verb = _verb(verbs, "passwd", "put a user into a file of password verifiers", _PASSWD, "")
    argument(verb, "file", "FILE", "the file")
    argument(verb, "user", "USER", "the user's name")
    flag(verb, "--delete", "remove the user")
    argument(verb, "--groups", "A,B", 'set the groups of an existing user ("": none), for `serve --allow`')
    _add_rules(_verb(verbs, "rules", "explain what a file of rules allows", _RULES, _RULES_MORE))
    verb = _verb(verbs, "store", "check, copy or compact the store of a broker", _STORE, _STORE_MORE)
    argument(verb, "action", f"{{{','.join(ACTIONS)}}}", "what to do", choices=ACTIONS)
    argument(verb, "directory", "DIR", "the directory of the store")
    argument(verb, "target", "TARGET", "the new directory for the backup", nargs="?")
    verb.set_defaults(complain=verb.error)
    _add_send(_verb(verbs, "send", "send messages to a broker", _SEND, _CLIENT_MORE))
    _add_receive(_verb(verbs, "receive", "receive messages from a broker", _RECEIVE, _CLIENT_MORE))
    _add_probe(_verb(verbs, "probe", "tell which rules of the protocol a server keeps", _PROBE, _PROBE_MORE))


def intermixed(arguments: Sequence[str]) -> argparse.Namespace | None:
    """Parses `send`, `receive` and `rules`, options and words in any order; returns None for another verb."""
    verb = arguments[0] if arguments else ""
    if verb not in _INTERMIXED:
        return None
    long, more, add = _INTERMIXED[verb]
    alone = Parser(prog=f"amqp-sansio {verb}", description=long, epilog=more)
    add(alone)
    options = list(arguments[1:])
    words: list[str] = []
    if "--" in options:  # only words follow it; releases of argparse differ in what they make of them
        at = options.index("--")
        options, words = options[:at], options[at + 1 :]
    given, unknown = alone.parse_known_intermixed_args(options)
    alone.refuse(unknown)
    given.behind = words
    given.verb, given.version = verb, False
    return given


def _verb(verbs: _Verbs, name: str, short: str, long: str, more: str) -> Parser:
    return verbs.add_parser(name, help=short, description=long, epilog=more)


def _add_serve(verb: argparse.ArgumentParser) -> None:
    argument(verb, "--host", "H", "the address to listen on, or a name for it (127.0.0.1)")
    argument(verb, "--port", "N", "the port (5672); 0: any free one", type=whole(0, 65535, "is not a TCP port: 0 to 65535"))
    argument(verb, "--auth", "none|FILE", "who may connect: everybody (none), or the users of FILE")
    argument(verb, "--allow", "FILE", "rules of who may do what; on SIGHUP the broker reads them again (all may do everything)")
    argument(verb, "--tls-cert", "F", "the certificate chain of the broker (PEM); with --tls-key it turns TLS on")
    argument(verb, "--tls-key", "F", "the private key of the certificate, without a password (PEM)")
    argument(verb, "--tls-ca", "F", "authorities (PEM): a client may log in by a certificate that one of them signed")
    argument(verb, "--data-dir", "D", "the directory for durable state, which the broker makes if it is missing (no directory)")
    repeated(
        verb,
        "--virtual-host",
        "NAME",
        "a virtual host that clients may open; may be repeated (any, which the broker makes when a client first opens it)",
        type=_host,
    )
    argument(
        verb,
        "--max-message",
        "OCTETS",
        "the largest body of a message; the broker refuses larger ones with 506 (64 MiB, with the header)",
        type=whole(1, MOST_MESSAGE),
    )
    argument(
        verb,
        "--error-codes",
        None,
        "where the two differ: the error codes of deployed brokers (qpid, the default) or of the specification",
        choices=("qpid", "spec"),
    )
    argument(
        verb,
        "--login-timeout",
        "S",
        "seconds that a client has for the login, and before that for the TLS handshake (30)",
        type=_positive_seconds,
        dest="login_seconds",
    )
    argument(
        verb,
        "--logins-per-address",
        "N",
        "how many connections from one address, or one /64 network of IPv6, may be open without a login (64)",
        type=whole(1, 1 << 31),
    )
    argument(verb, "--log", None, "print each control and command, without payloads and secrets", choices=("conversation",))


def _add_rules(verb: argparse.ArgumentParser) -> None:
    argument(verb, "action", "check", "what to do", choices=("check",))
    argument(verb, "file", "FILE", "the file, as `serve --allow` takes it")
    argument(verb, "words", "VERB KIND NAME", "the request: consume queue orders", nargs="*", default=())
    argument(verb, "--as", "NAME", 'the user; "" for anonymous', dest="identity")
    argument(verb, "--key", "K", "the routing or binding key, with an exchange")
    argument(verb, "--host", "NAME", "the virtual host")
    argument(verb, "--auth", "FILE", "the users and their groups (see `amqp-sansio passwd`)")
    flag(verb, "--json", "JSON, for machines")


def _add_send(verb: argparse.ArgumentParser) -> None:
    argument(verb, "words", "[URL] [BODY]", "the broker, and the messages", nargs="*")
    argument(verb, "--queue", "Q", "the queue to send to")
    argument(verb, "--exchange", "E", "the exchange to send to (the default one)")
    argument(verb, "--key", "K", "the routing key")
    flag(verb, "--create", "declare the queue, durable, if it does not exist")
    flag(verb, "--lines", "each line of stdin is a message")
    verb.add_argument("--transient", action="store_false", dest="persistent", help="messages that need not survive a restart")
    argument(verb, "--priority", "N", "0 to 9 (4)", type=whole(0, 9))
    argument(verb, "--ttl", "MS", "milliseconds until the messages expire", type=whole(0, (1 << 63) - 1))
    argument(verb, "--content-type", "T", "the MIME type of the bodies")
    repeated(verb, "--header", "NAME=TEXT", "an application header; may be repeated", type=pair("NAME=TEXT"))
    _add_common(verb)


def _add_receive(verb: argparse.ArgumentParser) -> None:
    argument(verb, "words", "[URL] QUEUE", "the broker, and the queue", nargs="*")
    argument(verb, "--count", "N", "stop after N messages", type=whole(1, 1 << 62))
    argument(verb, "--timeout", "S", "stop after S seconds", type=seconds)
    flag(verb, "--browse", "leave the messages on the queue")
    flag(verb, "--create", "declare the queue, durable, if it does not exist")
    _add_common(verb)


def _add_common(verb: argparse.ArgumentParser) -> None:
    argument(verb, "--ca", "F", "trust the certificates in this file (PEM), not those of the system", dest="authorities")
    flag(verb, "--json", "JSON, for machines", dest="as_json")
    verb.set_defaults(complain=verb.error)


def _add_probe(verb: argparse.ArgumentParser) -> None:
    argument(
        verb,
        "address",
        "URL|HOST:PORT",
        "where the server listens: amqp://user:password@host:port/vhost, amqps://...",
        type=_address,
    )
    _add_common(verb)
    argument(
        verb,
        "--section",
        "NAME",
        "only this section: connection, session, execution, message, tx, dtx, exchange, queue, file, stream, assembly",
    )
    argument(verb, "--conversations", "N", "number of conversations (1000)", type=whole(1, 10**9))
    argument(verb, "--seed", "N", "seed of the conversations (0)", type=whole(0, 2**63))
    argument(verb, "--only", "NUMBER", "only the conversation with this number", type=whole(0, 10**9))
    argument(verb, "--user", "NAME", "log in as this user, by PLAIN (that of URL, else ANONYMOUS, else guest)")
    argument(verb, "--password", "TEXT", "the password (that of URL, else the environment variable AMQP_PASSWORD)")
    argument(verb, "--vhost", "NAME", "the virtual host (that of URL)", dest="virtual_host")
    argument(verb, "--timeout", "S", "seconds to wait for an answer (2)", type=seconds, dest="patience")
    flag(verb, "--verbose", "also show the conversations of the rules that were kept")


def _address(text: str) -> Address:
    from amqp_sansio.conversation.address import Address

    try:
        address = Address.parse(text if "://" in text else f"amqp://{text}")
    except AddressError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if len(address.endpoints) > 1:
        raise argparse.ArgumentTypeError("probe takes one server at a time")
    return address


# --- arguments ----------------------------------------------------------------------------------------------------------------


def _positive_seconds(text: str) -> float:
    given = seconds(text)
    if not given:
        raise argparse.ArgumentTypeError("must be more than 0 seconds")
    return given


def _host(text: str) -> str:
    if len(text.encode("utf-8", "surrogateescape")) > 255 or not text.isprintable():
        raise argparse.ArgumentTypeError("the name of a virtual host is printable and has at most 255 octets")
    return text


_INTERMIXED: Final[dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]]] = {
    "send": (_SEND, _CLIENT_MORE, _add_send),
    "receive": (_RECEIVE, _CLIENT_MORE, _add_receive),
    "rules": (_RULES, _RULES_MORE, _add_rules),
}
"""Verbs with options between their words: their help, and the function that adds their arguments."""


# --- running ------------------------------------------------------------------------------------------------------------------


def run(given: argparse.Namespace) -> int:
    """Runs the verb in `given`; returns its exit status."""
    if given.verb == "serve":
        from amqp_sansio.cli.serve import ServeOptions, serve

        return serve(asked(ServeOptions, given))
    if given.verb == "passwd":
        from amqp_sansio.cli.passwd import passwd

        return passwd(given.file, given.user, delete=given.delete, groups=given.groups)
    if given.verb == "rules":
        from amqp_sansio.cli.rules import RulesOptions, check

        return check(asked(RulesOptions, given))
    if given.verb == "store":
        from amqp_sansio.cli.store import store

        if (given.action == "backup") is (given.target is None):
            given.complain("TARGET is missing" if given.target is None else "only backup takes a TARGET")
        return store(given.action, given.directory, given.target)
    if given.verb == "send":
        if given.queue is None and not given.exchange and given.key is None:
            given.complain("say where to send: --queue Q, or --exchange E and --key K")
        if given.queue is not None and (given.exchange or given.key is not None):
            given.complain("--queue Q already says where to send: leave out --exchange and --key")
        if given.create and given.queue is None:
            given.complain("--create needs --queue Q, the queue to declare")
        from amqp_sansio.cli.send import Sending, send

        return send(asked(Sending, given))
    if given.verb == "probe":
        from amqp_sansio.cli import probe

        if given.patience == 0:
            given.complain("--timeout 0 leaves no time for an answer")
        return probe.probe(asked(probe.ProbeOptions, given))

    from amqp_sansio.cli.dialing import split_url
    from amqp_sansio.cli.receive import Receiving, receive

    url, queues = split_url(given.words, given.behind)
    if len(queues) != 1:
        given.complain(f"name one queue, not {len(queues)}" if queues else "name the queue to receive from")
    given.url, given.queue = url, queues[0]
    return receive(asked(Receiving, given))
