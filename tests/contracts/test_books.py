"""The books of a session are kept once, in ledger/: what else these rooms keep by number is listed here with its reason.

`=`: its numbers are no command ids.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.contracts.trees import tree

import amqp_sansio

SOURCE = Path(amqp_sansio.__file__).parent
ROOMS = ("engine", "captures", "testing/speech")
BY_NUMBER = re.compile(r"\b(MutableRangeSet|ById\[|(?:dict|set|frozenset|deque|list)\[int\b|OrderedDict\[int\b)")

ROW = "the row or message itself, which waits there until it goes out"
OWED = "what the receiver owes for a command that is not complete: only a role works on one"
CLASSES = "classes file and stream count what the specification lets them by marks of their own"
LATER = "of `_withdrawals` those that a resumed session applies later: a third person is in doubt of its credit there"
WHOSE = (
    "whose credit our word takes back: the subscription itself, which its caller holds also when another has its name; the "
    "book of a third person, by names, costs x2.3 for each message (`python -m bench.books`)"
)
OUR = "a word that we said, until it is over: the voice is to say the next one"

REASONS: dict[str, str] = {
    "engine/channel_checker.py ConversationWitness._channels": "= channels",
    "engine/channel_checker.py ConversationWitness._open": "= channels",
    "engine/channels/endpoint.py Channels.used": "= channels",
    "engine/channels/endpoint.py Channels._requests": "= channels",
    "engine/channels/endpoint.py Channels._free": "= channels",
    "engine/channels/endpoint.py Channels._aside": "= channels",
    "engine/channels/endpoint.py Channels.codes": "= reply codes",
    "engine/channels/returns.py Returnable._numbers": "= exchange and key: which publish of those in doubt a return is of",
    "engine/channel.py Channels.used": "= channels",
    "engine/channel.py Channels._names": "= channels",
    "engine/contents.py Consumers._cancels": CLASSES,
    "engine/contents.py Deliveries._open": CLASSES,
    "engine/contents.py Deliveries._perhaps": CLASSES,
    "engine/contents.py Deliveries._received": CLASSES,
    "engine/contents.py Deliveries._ids": CLASSES,
    "engine/findings.py Findings._told": "= channels",
    "engine/guess.py Guess._places": "= offsets",
    "engine/inbound.py Inbound.holes": "what a sender says again after a loss: only a role asks for it",
    "engine/inbound.py Inbound.gapped": "as holes",
    "engine/inbound.py Inbound.owed": OWED,
    "engine/inbound.py Inbound.skipped": OWED,
    "engine/inbound.py Inbound.syncs": OWED,
    "engine/inbound.py Inbound.untold": "what of `known` has changed since it was told",
    "engine/outbound.py Outbound.asked": "the command itself, against which its result is checked; `Ids.awaited` has names",
    "engine/outbound.py Outbound.kept": "octets for replay",
    "engine/outbound.py Outbound.bare": "what has no octets for replay",
    "engine/session_checker.py SessionChecker._quiet": "= channels",
    "engine/subscription.py Subscriptions.withdrawals": WHOSE,
    "engine/subscription.py Subscriptions.completed": LATER,
    "engine/subscription.py Subscribers.flushes": "our own deliveries: when a flush is executed is ours to say",
    "engine/subscription.py Subscribers.windows": "our own deliveries: the subscriber itself, not its name",
    "engine/session_checker.py Witness._channels": "= channels",
    "engine/witness.py StreamWitness._known": "strict only: what the sender said it knows, for the letter of completed",
    "captures/withheld.py Beginning._reached": "= the two sides",
    "captures/withheld.py Beginning.firsts": "= the two sides",
    "captures/columns/heads.py RecordHeads.wrong": "= records",
    "captures/columns/runner.py Runner._awake": "= connections",
    "captures/columns/runner.py Runner._asleep": "= connections",
    "captures/conversation.py Conversation.sums": "= octets and checksums of the two sides",
    "captures/flows.py Listener._used": "= hashes of ports and addresses",
    "captures/flows.py AmqpFlow.syn": "= the two sides",
    "captures/conversation.py PacketIndex.ends": "= offsets",
    "captures/conversation.py PacketIndex.packets": "= packets",
    "captures/conversation.py PacketIndex.times": "= times",
    "captures/replay/rows.py Half.commands": ROW,
    "captures/replay/rows.py Half.awaited": ROW,
    "captures/replay/rows.py Half.incomplete": ROW,
    "captures/replay/rows.py Half.unsettled": ROW,
    "captures/replay/rows.py Half.grace": "which of `unsettled` are complete, in order",
    "captures/replay/rows.py Half.evicted": "of `Ids.outstanding` the messages whose rows have left",
    "captures/replay/rows.py Half.evicted_unsettled": "an observer that is not strict keeps no deliveries",
    "captures/replay/recorder.py SessionHistory._sessions": "= channels",
    "captures/replay/recorder.py SessionHistory._heard": "= channels",
    "captures/replay/recorder.py Attachment._about": "whose row an answer belongs to",
    "captures/replay/transactions.py TransactionRecords._ending": ROW,
    "captures/reader.py Stretch.positions": "= offsets",
    "captures/walk.py Run.positions": "= offsets",
    "captures/walk.py Chains._ends": "= offsets",
    "testing/speech/blame.py Blame.codes": "= error codes",
    "testing/speech/commands.py TransferVoice._acquiring": OUR,
    "testing/speech/commands.py SubscriptionVoice._waiting": OUR,
    "testing/speech/commands.py ContentVoice._cancels": OUR,
}


def test_what_is_kept_by_number_outside_the_ledger_is_listed_with_its_reason() -> None:
    found = {each for room in ROOMS for path in (SOURCE / room).rglob("*.py") for each in kept(path)}
    assert sorted(found - REASONS.keys()) == []
    assert sorted(REASONS.keys() - found) == []
    assert all(REASONS.values())


def kept(path: Path) -> Iterator[str]:
    """The attributes of the classes in a file that hold something by number."""
    for of in [node for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]:
        for node in ast.walk(of):
            if isinstance(node, ast.AnnAssign):
                said = f"{ast.unparse(node.annotation)} {ast.unparse(node.value) if node.value else ''}"
                name = attribute(node.target) or (ast.unparse(node.target) if node in of.body else "")
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                said, name = f"{ast.unparse(node.value.func)}[", attribute(node.targets[0])
            else:
                continue
            if name and BY_NUMBER.search(said):
                yield f"{path.relative_to(SOURCE).as_posix()} {of.name}.{name}"


def attribute(target: ast.expr) -> str:
    own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    return target.attr if isinstance(target, ast.Attribute) and own else ""
