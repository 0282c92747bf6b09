"""Every limit, with its name and its default.

A peer that goes beyond one commits a violation that names the limit; a caller that does gets `LimitError`.
Each has a test at the limit less one, at the limit and at the limit plus one.
"""

from __future__ import annotations

from typing import Final

import attrs

MIN_MAX_FRAME_SIZE: Final = 4096
"""Octets that both sides must accept in one frame before anything is agreed (constant MIN-MAX-FRAME-SIZE)."""

MAX_FRAME_SIZE: Final = 65535
"""The largest frame that the 16-bit size can say, in octets, frame header included."""

MAX_CHANNELS: Final = 65536
"""Channels that the 16-bit channel number can name."""

USERNAME_OCTETS: Final = 255
"""Octets of the longest name that a server looks at when somebody logs in by PLAIN, CRAM-MD5 or SCRAM."""

PATTERN_OCTETS: Final = 255
"""Octets of the longest pattern, and of the longest name, in a rule of `broker.access`."""

RULES_OCTETS: Final = 1024 * 1024
"""Octets of the largest file of rules."""

TABLE_ENTRIES: Final = 65536
"""Entries of one field table of the older dialects, those of the tables and arrays inside it included."""

TABLE_OCTETS: Final = 1024 * 1024
"""Octets of the entries of one field table of the older dialects."""

_KIB: Final = 1024
_MIB: Final = 1024 * 1024


@attrs.frozen(kw_only=True)
class Limits:
    """What one connection may cost us.  Octets, counts and seconds; all positive."""

    inbox_octets: int = 1 * _MIB
    """Octets stored by `receive_data` and not yet decoded, from which on `wants_data` is False."""
    assembly_octets: int = 64 * _MIB
    """Octets of one assembly (command, header and body together)."""
    buffered_octets: int = 256 * _MIB
    """Octets in all unfinished assemblies of a connection together."""
    header_octets: int = 1 * _MIB
    """Octets of one header segment."""
    header_structs: int = 64
    """Structs in one header segment."""
    empty_frames: int = 16
    """Consecutive frames without payload that do not finish their segment."""
    nesting: int = 32
    """Depth of maps, lists and arrays inside one another."""
    zero_width_elements: int = 256
    """Elements of an array whose type takes no octets (void, bit)."""
    ranges: int = 8191
    """Ranges in a set of ids that came, and in each of the sets that a session keeps of them.  In the older dialects: ranges
    of tags that one transaction of a channel has settled, and of those that a server remembers behind a recovery."""
    replay_octets: int = 64 * _MIB
    """Octets of commands kept for replay, per session."""
    replay_commands: int = 65536
    """Commands kept for replay, per session."""
    early_octets: int = 64 * _MIB
    """Octets of commands that arrived while a session was resumed, before we had sent again all that was in doubt: they are
    handed out after `SessionAttached`."""
    discarded_octets: int = 128 * _MIB
    """Octets that came on channels on which no session is attached, and were discarded: two of the largest messages.  What was
    on its way to a session that is over counts until the other side has answered our detach, or attaches another one; the rest
    counts for good.  Beyond this the connection is closed."""
    sasl_rounds: int = 32
    """Rounds of secure / secure-ok."""
    sasl_octets: int = 64 * _KIB
    """Octets of one challenge or response; `handshake_octets` bounds them, too."""
    channels: int = MAX_CHANNELS
    """Channels that we agree to."""
    sessions: int = 8192
    """Sessions attached on one connection.  Each costs some 5 KiB before anything is sent on it."""
    incomplete_commands: int = 1024 * 1024
    """Transfers that the other side sent and that are not settled and completed, per session; and its other commands that
    are under way, which count apart."""
    handshake_octets: int = 16 * _KIB
    """Octets of one control before the connection is open; then there is only channel 0."""
    handshake_inbox_octets: int = 64 * _KIB
    """Octets stored and not yet decoded before the connection is open, from which on `wants_data` is False.  At least one
    frame of the largest size must fit (65535 octets)."""
    handshake_seconds: float = 30.0
    """Seconds from the first tick to an open connection."""
    close_seconds: float = 10.0
    """Seconds that we wait for close-ok."""
    detach_seconds: float = 10.0
    """Seconds that a client of the adapters waits for the end of a session that was refused (execution.exception); then it is
    over without."""
    close_octets: int = 4 * _MIB
    """Octets that are read behind our close while we wait for close-ok; before the connection is open, at most
    `handshake_inbox_octets`.  Then we wait no longer: the connection is over, and its socket is to be closed."""
    answer_octets: int = 4 * _MIB
    """Octets of answers to what the other side said on an open connection that wait to be taken: it asks, and never reads.
    Beyond this the connection is over, and its socket is to be closed.  What the program says does not count, nor what it
    answers itself."""
    named_hosts: int = 16
    """Hosts that are tried because a broker named them (redirect, known-hosts), between two connections that opened."""
    cached_commands: int = 256
    """Decoded transfer commands remembered by their octets, per connection; in 0-9-1 deliveries, and for
    each channel the heads of what is published."""
    subscriptions: int = 65536
    """Subscriptions of one session, each way; consumers of class file and of class stream count apart.  In
    the older dialects: consumers of one channel."""
    calls: int = 65536
    """Methods on one channel of the older dialects that wait for an answer, each way; and of our own answers those that wait
    for the end of a content under way."""
    deliveries: int = 1024 * 1024
    """Deliveries on one channel of the older dialects that wait to be settled."""
    unconfirmed: int = 1024 * 1024
    """Messages published on one channel of the older dialects that wait to be confirmed."""
    declared: int = 65536
    """Exchanges, queues and bindings together that a client of the adapters keeps in mind for one connection of the older
    dialects, to declare them again behind a loss.  What its policies never declare again does not count."""
    staged_files: int = 4096
    """Identifiers of staged files that a session remembers, each way: when there were more, nobody is held to having staged
    what is published or delivered."""
    suspended_branches: int = 4096
    """Branches of distributed transactions that one session has suspended."""


DEFAULT_LIMITS: Final = Limits()


@attrs.frozen(kw_only=True)
class ServerLimits:
    """What all connections of one server of an adapter may cost together.  Octets, counts and seconds; all positive.

    The server closes a connection beyond one at once: it reads nothing and keeps nothing.
    """

    connections: int = 16384
    """Connections at once, open or not."""
    unopened_octets: int = 64 * _MIB
    """Octets that connections may hold together before they are open.  Each is counted with what it may hold at most:
    `adapters.admission.PLAIN_OCTETS` or `TLS_OCTETS`."""
    unopened_per_address: int = 64
    """Those of them that come from one address (of IPv6: from one network of 64 bits), so that one stranger does not take the
    places of all others."""
    tls_seconds: float = 30.0
    """Seconds for a TLS handshake; an AMQP handshake has its own (`Limits.handshake_seconds`)."""
    logins: int = 2
    """Passwords that are checked at once, each in a thread of its own; the others wait their turn."""


DEFAULT_SERVER_LIMITS: Final = ServerLimits()


@attrs.frozen(kw_only=True)
class BrokerLimits:
    """What a broker may be made to keep and to do.  Octets and counts; all positive.

    A client that goes beyond one is refused with 506 (resource-limit-exceeded), unless another answer is named.
    """

    virtual_hosts: int = 64
    """Virtual hosts of one broker; opening one more is answered with close 320."""
    exchanges: int = 65536
    """Exchanges of one virtual host."""
    queues: int = 65536
    """Queues of one virtual host."""
    bindings: int = 1024 * 1024
    """Bindings of one virtual host."""
    binding_words: int = 4 * 1024 * 1024
    """Words in the keys of topic bindings and headers in the arguments of headers bindings of one virtual host: each costs
    memory whatever its octets."""
    routing_steps: int = 16384
    """Steps of routing one message, besides one for each queue that gets it: nodes that the words of its key reach among the
    patterns of a topic exchange, tests of bindings to a headers exchange that do not match, bindings of a queue that is found
    already.  As many again for the selectors of the bindings that match: one for each, and one for each 64 characters of it."""
    subscribers: int = 256 * 1024
    """Subscriptions to all queues of one virtual host together."""
    displacing_queues: int = 1024
    """Rings (qpid.policy_type) from which one message pushes older ones out to their alternate exchanges; what it pushes out of
    further ones goes nowhere.  As many copies of them are made besides one each, and `routing_steps` queues are looked at."""
    letter_copies: int = 65536
    """Copies that the dead letters of one command make besides one for each letter: where an alternate exchange reaches many
    queues, each further letter goes to the first queue that has room."""
    costly_letters: int = 256
    """Dead letters of one command that may take as many steps of routing as a published message (`routing_steps`); the others
    may take 256 each, and go nowhere where that is too few."""
    numbered_octets: int = 4 * _MIB
    """Octets of header that one message takes on queues that number what comes (qpid.queue_msg_sequence) together; further ones
    get it without a number."""
    browsers: int = 1024
    """Subscriptions to one queue that look at each message of it: not-acquired ones, and those with a selector.  A message that
    comes, or comes back, can cost as many looks besides its deliveries."""
    consumer_priorities: int = 64
    """Different priorities (x-priority) of the subscriptions to one queue: each delivery looks at one place per priority."""
    queue_messages: int = 1024 * 1024
    """Messages in one queue, acquired ones included."""
    queue_octets: int = 1024 * _MIB
    """Octets of header and body of the messages in one queue."""
    host_messages: int = 4 * 1024 * 1024
    """Messages in all queues of one virtual host together; one that is in several counts in each."""
    host_octets: int = 4096 * _MIB
    """Octets of header and body of them, counted alike."""
    argument_octets: int = 64 * _MIB
    """Octets of the arguments of all queues and bindings of one virtual host."""
    throttle_messages: int = 256 * 1024
    """Messages in one queue above which publishers that support flow control are stopped until the queue is half empty."""
    branches: int = 4096
    """Branches of distributed transactions that one virtual host knows."""
    transaction_messages: int = 256 * 1024
    """Messages and accepts that one transaction holds back; a message that is for several queues counts for each.  Of a local
    one, what it was made to accept counts until it is settled, also when that was rolled back."""
    transaction_octets: int = 256 * _MIB
    """Octets of header and body that one transaction holds back."""
    held_messages: int = 1024 * 1024
    """Messages that all transactions of one virtual host hold back together, those of prepared branches included, counted
    alike."""
    held_octets: int = 1024 * _MIB
    """Octets of header and body of them."""
    outbox_octets: int = 1 * _MIB
    """Octets that wait to be taken from one connection, from which on it gets no more deliveries and is not read."""
    unaccepted_transfers: int = 65536
    """Transfers to one session that it has not settled; it gets no more until it does.  What it has accepted in a transaction
    counts there (`transaction_messages`), and here no more."""
    selector_octets: int = 4096
    """Octets of one message selector, in UTF-8; a longer one is refused with 531."""
    selector_depth: int = 64
    """Parentheses inside one another in a message selector; a deeper one is refused with 531."""
    like_characters: int = 1024
    """Characters of a text in which LIKE looks for a part with `_` between two `%`, at a cost of its own for each; for a longer
    one it is unknown."""
    rules: int = 4096
    """Rules that say who may do what (`BrokerConfig.access`).  More are refused by the broker itself, with LimitError."""
    kept_sessions: int = 4096
    """Sessions of one identity that outlive their connection; the next one is granted a timeout of 0."""


DEFAULT_BROKER_LIMITS: Final = BrokerLimits()
