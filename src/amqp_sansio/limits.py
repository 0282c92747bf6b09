"""Every limit, with its name and its default.

A peer that exceeds one commits a violation that names the limit; for a caller it raises `LimitError`.  Each limit has a test at
the limit less one, at the limit and at the limit plus one.
"""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.errors.checks import checked

MIN_MAX_FRAME_SIZE: Final = 4096
"""Octets that both sides must accept in one frame before anything is agreed (constant MIN-MAX-FRAME-SIZE)."""

MAX_FRAME_SIZE: Final = 65535
"""The largest frame that the 16-bit size field can express, in octets, frame header included."""

MAX_CHANNELS: Final = 65536
"""Channels that the 16-bit channel number can name."""

USERNAME_OCTETS: Final = 255
"""The longest user name that a server considers in a login by PLAIN, CRAM-MD5 or SCRAM, in octets."""

PATTERN_OCTETS: Final = 255
"""The longest pattern or name in a rule of `broker.access`, in octets."""

RULES_OCTETS: Final = 1024 * 1024
"""The largest file of rules, in octets."""

TABLE_ENTRIES: Final = 65536
"""Entries of one field table of the older dialects, including those of nested tables and arrays."""

TABLE_OCTETS: Final = 1024 * 1024
"""Octets of all entries of one field table of the older dialects."""

_KIB: Final = 1024
_MIB: Final = 1024 * 1024


@attrs.frozen(kw_only=True, field_transformer=checked(least=1))
class Limits:
    """What one connection may cost us, in octets, counts and seconds; all positive."""

    inbox_octets: int = 1 * _MIB
    """Octets stored by `receive_data` and not yet decoded; from this many on, `wants_data` is False."""
    assembly_octets: int = 64 * _MIB
    """Octets of one assembly (command, header and body together)."""
    buffered_octets: int = 256 * _MIB
    """Octets of all unfinished assemblies of one connection."""
    header_octets: int = 1 * _MIB
    """Octets of one header segment."""
    header_structs: int = 64
    """Structs in one header segment."""
    empty_frames: int = 16
    """Consecutive empty frames that do not end their segment."""
    nesting: int = 32
    """Nesting depth of maps, lists and arrays."""
    zero_width_elements: int = 256
    """Elements of an array whose element type takes no octets (void, bit)."""
    ranges: int = 8191
    """Ranges in a received set of ids, and in each set of them that a session keeps.  In the older dialects: ranges of tags
    that one transaction of a channel has settled, and of those that a server remembers after a recovery."""
    replay_octets: int = 64 * _MIB
    """Octets of the commands kept for replay, per session."""
    replay_commands: int = 65536
    """Commands kept for replay, per session."""
    early_octets: int = 64 * _MIB
    """Octets of commands that arrive while a session is being resumed, before we have replayed everything in doubt.  They are
    handed out after `SessionAttached`."""
    discarded_octets: int = 128 * _MIB
    """Octets discarded because they came on channels without an attached session: by default two of the largest messages.
    Octets that were on their way to a session that has ended count until the peer answers our detach or attaches another
    session; all others count for good.  Beyond this the connection is closed."""
    sasl_rounds: int = 32
    """Rounds of secure / secure-ok."""
    sasl_octets: int = 64 * _KIB
    """Octets of one challenge or response; `handshake_octets` bounds them too."""
    channels: int = MAX_CHANNELS
    """Channels that we agree to in tuning."""
    sessions: int = 8192
    """Sessions attached to one connection.  Each costs some 5 KiB before anything is sent on it."""
    incomplete_commands: int = 1024 * 1024
    """Per session: transfers from the peer that are not yet settled and completed, and, counted apart, its other commands that
    are not yet completed."""
    handshake_octets: int = 16 * _KIB
    """Octets of one control before the connection is open, when only channel 0 exists."""
    handshake_inbox_octets: int = 64 * _KIB
    """Octets stored and not yet decoded before the connection is open; from this many on, `wants_data` is False.  At least one
    frame of the largest size must fit (65535 octets)."""
    handshake_seconds: float = 30.0
    """Seconds from the first tick to an open connection."""
    close_seconds: float = 10.0
    """Seconds to wait for close-ok."""
    detach_seconds: float = 10.0
    """Seconds that a client of the adapters waits for the end of a session after execution.exception; then it ends the session
    itself."""
    close_octets: int = 4 * _MIB
    """Octets read after our close while we wait for close-ok; before the connection is open, at most `handshake_inbox_octets`.
    Beyond this we stop waiting: the connection is over, and its socket must be closed."""
    answer_octets: int = 4 * _MIB
    """Octets of automatic answers, on an open connection, that wait to be sent to a peer that makes requests and never reads.
    Beyond this the connection is over, and its socket must be closed.  What the program sends, its own answers included, does
    not count."""
    named_hosts: int = 16
    """Hosts tried because a broker named them (redirect, known-hosts) before a connection opens; the count then restarts."""
    cached_commands: int = 256
    """Decoded transfer commands cached by their octets, per connection; in 0-9-1 deliveries, and for each channel the heads of
    published messages."""
    subscriptions: int = 65536
    """Subscriptions of one session in each direction; consumers of class file and of class stream count apart.  In the older
    dialects: consumers of one channel."""
    calls: int = 65536
    """Unanswered methods on one channel of the older dialects, in each direction; also those of our own answers that wait for
    the end of a content."""
    deliveries: int = 1024 * 1024
    """Unsettled deliveries on one channel of the older dialects."""
    unconfirmed: int = 1024 * 1024
    """Messages published on one channel of the older dialects that wait to be confirmed."""
    declared: int = 65536
    """Exchanges, queues and bindings together that a client of the adapters remembers for one connection of the older dialects,
    to declare them again after a loss.  What its retry policy never declares again does not count."""
    staged_files: int = 4096
    """Identifiers of staged files that a session remembers, in each direction.  Once there were more, we no longer check that
    published or delivered files were staged."""
    suspended_branches: int = 4096
    """Branches of distributed transactions that one session has suspended at a time."""


DEFAULT_LIMITS: Final = Limits()


@attrs.frozen(kw_only=True, field_transformer=checked(least=1))
class ServerLimits:
    """What all connections of one server of an adapter may cost together, in octets, counts and seconds; all positive.

    The server closes a connection beyond a limit at once, without reading from it.
    """

    connections: int = 16384
    """Concurrent connections, open or not."""
    unopened_octets: int = 64 * _MIB
    """Octets that all connections may hold together before they are open.  Each counts with the most that it may hold:
    `adapters.base_server.PLAIN_OCTETS` or `TLS_OCTETS`."""
    unopened_per_address: int = 64
    """Connections that are not open yet from one address (of IPv6: one /64 network), so that one stranger cannot take the
    places of all others."""
    tls_seconds: float = 30.0
    """Seconds for a TLS handshake; an AMQP handshake has its own (`Limits.handshake_seconds`)."""
    logins: int = 2
    """Passwords checked at once, each in a thread of its own; the others wait their turn."""


DEFAULT_SERVER_LIMITS: Final = ServerLimits()


@attrs.frozen(kw_only=True, field_transformer=checked(least=1))
class BrokerLimits:
    """What clients may make a broker store and do, in octets and counts; all positive.

    The broker refuses a request beyond a limit with 506 (resource-limit-exceeded), unless the limit names another answer.
    """

    virtual_hosts: int = 64
    """Virtual hosts of one broker; a connection that would open one more is closed with 320."""
    exchanges: int = 65536
    """Exchanges of one virtual host."""
    queues: int = 65536
    """Queues of one virtual host."""
    bindings: int = 1024 * 1024
    """Bindings of one virtual host."""
    binding_words: int = 4 * 1024 * 1024
    """Words in the keys of topic bindings plus headers in the arguments of headers bindings, of one virtual host; each costs
    memory whatever its octets."""
    routing_steps: int = 16384
    """Steps of routing one message, besides one for each queue that gets it: nodes that the words of its key reach among the
    patterns of a topic exchange, non-matching bindings tested at a headers exchange, and bindings to a queue that was found
    already. The same number again for the selectors of matching bindings: one step each, plus one for each 64 characters."""
    subscribers: int = 256 * 1024
    """Subscriptions to all queues of one virtual host."""
    displacing_queues: int = 1024
    """Rings (qpid.policy_type) from which one message pushes older ones out to their alternate exchanges; what it pushes out of
    further rings is dropped.  A pushed-out message that its alternate exchange routes to several queues takes a copy for each
    further one: the same number bounds these copies, and `routing_steps` the queues examined."""
    letter_copies: int = 65536
    """Copies of the dead letters of one command beyond one of each, where an alternate exchange reaches several queues.  Once
    there are so many, each further letter goes only to the first queue that has room."""
    costly_letters: int = 256
    """Dead letters of one command that may take as many steps of routing as a published message (`routing_steps`).  The others
    may take 256 each; the broker drops those that need more."""
    numbered_octets: int = 4 * _MIB
    """Octets of the headers that the broker writes for one message on all queues together that number their messages
    (qpid.queue_msg_sequence); further queues get it without a number."""
    browsers: int = 1024
    """Subscriptions to one queue that examine each of its messages: not-acquired ones, and those with a selector.  Each message
    that arrives or is requeued can cost this many examinations besides its deliveries."""
    consumer_priorities: int = 64
    """Distinct priorities (x-priority) of the subscriptions to one queue; each delivery examines one place per priority."""
    body_octets: int = 1024 * _MIB
    """Octets of the body of a published message; `Limits.assembly_octets` comes before it."""
    queue_messages: int = 1024 * 1024
    """Messages in one queue, acquired ones included."""
    queue_octets: int = 1024 * _MIB
    """Octets of the headers and bodies of the messages in one queue."""
    host_messages: int = 4 * 1024 * 1024
    """Messages in all queues of one virtual host; a message in several queues counts in each."""
    host_octets: int = 4096 * _MIB
    """Octets of the headers and bodies of the messages in all queues of one virtual host, counted alike."""
    argument_octets: int = 64 * _MIB
    """Octets of the arguments of all queues and bindings of one virtual host."""
    throttle_messages: int = 256 * 1024
    """Messages in one queue above which publishers that support flow control are stopped until the queue is half empty."""
    branches: int = 4096
    """Branches of distributed transactions that one virtual host knows."""
    transaction_messages: int = 256 * 1024
    """Messages and accepts that one transaction holds back; a message that is for several queues counts for each.  A message
    that a session accepted in a local transaction counts until the session settles it, even after tx.rollback."""
    transaction_octets: int = 256 * _MIB
    """Octets of the headers and bodies that one transaction holds back."""
    held_messages: int = 1024 * 1024
    """Messages that all transactions of one virtual host hold back together, those of prepared branches included, counted
    alike."""
    held_octets: int = 1024 * _MIB
    """Octets of the headers and bodies that all transactions of one virtual host hold back."""
    outbox_octets: int = 1 * _MIB
    """Octets that wait to be sent on one connection; from this many on, the broker neither delivers to it nor reads it."""
    unaccepted_transfers: int = 65536
    """Transfers to one session that it has not settled; beyond this it gets no more until it settles some.  Transfers that it
    has accepted in a transaction count in `transaction_messages` instead."""
    selector_octets: int = 4096
    """Octets of one message selector in UTF-8; a longer one is refused with 531."""
    selector_depth: int = 64
    """Nested parentheses in a message selector; a deeper one is refused with 531."""
    like_characters: int = 1024
    """Characters of a text in which LIKE searches for a part with `_` between two `%`, which costs time for each character; for
    a longer text the result is unknown."""
    rules: int = 4096
    """Access rules (`BrokerConfig.access`).  The broker refuses more with LimitError."""
    kept_sessions: int = 4096
    """Sessions of one identity that outlive their connection; the next one is granted a timeout of 0."""


DEFAULT_BROKER_LIMITS: Final = BrokerLimits()
