"""What is public on the objects that programs hold: one name more or less is a decision, and is written down here.

Nothing public may spoil the conversation: write octets that no rule has seen, invent an event, complete without a check.  What
the rooms of the engine need of one another, and programs must not touch, begins with an underscore (docs/topics/laws.md).
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator

import pytest

from amqp_sansio import (
    AMQP_0_9_1,
    ChannelClientConnection,
    ChannelServerConnection,
    ClientConfig,
    ClientConnection,
    Observer,
    ServerConfig,
    ServerConnection,
)
from amqp_sansio.adapters import asyncio, sync, trio
from amqp_sansio.adapters.sync.session import Session as SyncSession
from amqp_sansio.adapters.sync.session import Subscription as SyncSubscription
from amqp_sansio.broker import Broker
from amqp_sansio.conversation.inbox import Inbox
from amqp_sansio.conversation.session import Session as AwaitedSession
from amqp_sansio.conversation.session import Subscription as AwaitedSubscription
from amqp_sansio.conversation.session_core import SessionCore
from amqp_sansio.testing.link import Link

URL = "amqp://127.0.0.1"


def held() -> dict[str, object]:
    """One of each, by the name under which its members are listed."""
    link = Link(ClientConnection(ClientConfig()), ServerConnection())
    link.run()
    session = link.client.session(b"s")
    link.run()
    subscription = session.subscribe("q", "d")
    link.run()
    (served,) = link.server.sessions
    on_asyncio = asyncio.connect(URL)
    on_threads = sync.Connection(on_asyncio.address, on_asyncio._client, None, 1.0)  # as it is before it is open
    core = SessionCore(on_asyncio._client, b"t", 0)
    inbox = Inbox(core, "q", "d", 1, 1, True, False)
    return {
        "ClientConnection": link.client,
        "ServerConnection": link.server,
        "ChannelClientConnection": ChannelClientConnection(ClientConfig(dialect=AMQP_0_9_1)),
        "ChannelServerConnection": ChannelServerConnection(ServerConfig(dialects=(AMQP_0_9_1,))),
        "Session": session,
        "Subscription": subscription,
        "Subscriber": served.subscribers["d"],
        "Tx": session.tx,
        "Dtx": session.dtx,
        "Observer": Observer(),
        "Broker": (broker := Broker()),
        "Peer": broker.connect(),
        "sync.Connection": on_threads,
        "sync.Session": SyncSession(core, on_threads._line, on_threads._ending),
        "sync.Subscription": SyncSubscription(inbox, on_threads._line, on_threads._ending),
        "asyncio.Connection": on_asyncio,
        "trio.Connection": trio.connect(URL),
        "conversation.Session": AwaitedSession(core, on_asyncio._line, on_asyncio._ending),
        "conversation.Subscription": AwaitedSubscription(inbox, on_asyncio._line, on_asyncio._ending),
        "conversation.SessionCore": core,
        "conversation.Inbox": inbox,
    }


def members(value: object) -> set[str]:
    """The public names of an object: of its class and those above it, and of its own."""
    return {name for name in dir(value) if not name.startswith("_")}


PUBLIC = {
    "ClientConnection": """
        blocked bytes_to_send capabilities capable channel_max close closed_cause codec data_to_send due eager_headers eventful
        events finished is_open limits lingers max_frame_size next_event now peer profile reading receive_data receive_eof
        resume role
        session session_named sessions state take_unread tick untimed wants_data
    """,
    "ServerConnection": """
        accept blocked bytes_to_send capabilities capable channel_max close closed_cause codec data_to_send decided due
        eager_headers eventful events finished is_open limits lingers max_frame_size next_event now open_ok peer profile
        reading receive_data
        receive_eof redirect refuse role session_named sessions state take_deferred take_unread tick
        untimed wants_data
    """,
    "ChannelClientConnection": """
        blocked bytes_to_send capabilities capable channel channel_max channels close closed_cause codec data_to_send due
        eager_headers eventful events finished is_open limits lingers max_frame_size next_event now peer profile reading
        receive_data receive_eof role state take_unread tick untimed update_secret wants_data
    """,
    "ChannelServerConnection": """
        accept block blocked bytes_to_send capabilities capable channel_max channels close closed_cause codec data_to_send
        decided due eager_headers eventful events fail finished is_open limits lingers max_frame_size next_event now open_ok
        peer profile reading receive_data receive_eof redirect refuse role state take_deferred take_secret take_unread tick
        unblock untimed wants_data
    """,
    "Session": """
        accept acquire attach cause charges_headers check_open check_speak codes_of complete completes_on_hand_out
        confirm counts_headers deliver delivers detach dtx due fail flush has_state in_doubt legal limits name peer
        profile publish reject release request_timeout restore result resumable role select_dtx select_tx send send_all snapshot
        state subscribe subscribers subscriptions sync tick timeout tx
    """,
    "Subscription": """
        accept_mode acquire_mode cancel cancelled check_usable destination flush grant message_credit mode
        octet_credit queue set_mode stop unsettled
    """,
    "Subscriber": """
        accept_mode acquire_mode destination message_credit mode octet_credit queue
    """,
    "Tx": """
        commit rollback session under_way
    """,
    "Dtx": """
        commit end forget get_timeout prepare recover rollback session set_timeout start under_way
    """,
    "Observer": """
        dialect events finish frames limits next_alike next_event read_headers receive_data receive_eof receive_gap
        restore snapshot stored strict unfinished unread
    """,
    "Broker": """
        config connect coordinator due events exists hints host journal journalled limits next_event now peers ready
        restore set_access snapshot tick
    """,
    "Peer": """
        bytes_to_send close data_to_send decided ended finished full held_up identity is_open number receive_data
        receive_eof take_deferred wants_data writable
    """,
    "sync.Connection": """
        address close closed is_open open_session remade session
    """,
    "sync.Session": """
        bind bound branch carry_out close closed commit declare_exchange declare_queue delete_exchange delete_queue execute
        forget is_open name prepare publish purge query_queue recover remade rollback send subscribe sync transaction unbind
    """,
    "sync.Subscription": """
        cancel receive
    """,
    "asyncio.Connection": """
        address close closed is_open open_session remade session
    """,
    "trio.Connection": """
        address close closed is_open open_session remade session
    """,
    "conversation.Session": """
        bind bound branch carry_out close closed commit declare_exchange declare_queue delete_exchange delete_queue execute
        forget is_open name prepare publish purge query_queue recover remade rollback send subscribe sync transaction unbind
    """,
    "conversation.Subscription": """
        cancel receive
    """,
    "conversation.SessionCore": """
        accept close ended execute failure flush guard has_room in_flight inboxes most_in_flight
        most_in_flight_octets name open_again opened over pending prompt publish remade room session
        speakable subscribe sync timeout traces transactions wake
    """,
    "conversation.Inbox": """
        browse cancel closed destination error explicit messages more must_be_open octets prefetch queue reject settle take
        core release
    """,
}


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_on_an_object_is_listed(name: str) -> None:
    assert sorted(members(held()[name])) == sorted(PUBLIC[name].split())


def test_every_object_that_a_program_holds_is_listed() -> None:
    assert list(held()) == list(PUBLIC)


SETTINGS = {"conversation.SessionCore.most_in_flight", "conversation.SessionCore.most_in_flight_octets"}
"""What a program may assign to."""


def own_attributes(of: type) -> Iterator[tuple[str, bool]]:
    """What methods of a class assign to `self`: its name, and whether that is declared as Final."""
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[of.__module__]))):
        if not isinstance(node, ast.ClassDef) or node.name != of.__name__:
            continue
        for each in ast.walk(node):
            if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == "self":
                yield each.attr, False
            elif isinstance(each, ast.AnnAssign) and ast.unparse(each.annotation).startswith("Final"):
                yield ast.unparse(each.target).removeprefix("self."), True


def test_what_is_public_is_not_assigned_to() -> None:
    """It is a property, a method, or Final to the type checker; but for settings."""
    found: set[str] = set()
    for name, value in held().items():
        for of in type(value).__mro__:
            if of.__module__.startswith("amqp_sansio"):
                attributes = list(own_attributes(of))
                final = {each for each, is_final in attributes if is_final}
                found |= {f"{name}.{each}" for each, _ in attributes if not each.startswith("_") and each not in final}
    assert found == SETTINGS
