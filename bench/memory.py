"""Measures the memory kept per received message of 100 octets, header untouched, with tracemalloc over many messages."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Final

from amqp_sansio.ledger.tags import Tags
from bench import ours, peer_pamqp
from bench.messages import Message, messages

COUNT: Final = 10_000


def retained(keep: Callable[[list[Message]], list[object]], sent: list[Message]) -> float:
    """Returns the octets per message that stay allocated while only the messages are kept."""
    keep(sent[:50])  # excludes what is created once
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = keep(sent)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    if len(kept) != len(sent):
        raise SystemExit(f"bench: {len(kept)} messages kept of {len(sent)}: the comparison is void")
    return (after - before) / len(kept)


def outstanding(count: int = 100_000) -> tuple[float, float]:
    """Returns the octets for each outstanding delivery of a channel, or unconfirmed publish.

    In order, and with every second one settled.
    """
    kept: list[float] = []
    for holes in (False, True):
        gc.collect()
        tracemalloc.start()
        tags = Tags(False)
        for tag in range(1, count + 1):
            tags.give(tag, not holes or tag % 2 == 0)
        kept.append(tracemalloc.get_traced_memory()[0] / tags.count)
        tracemalloc.stop()
    return kept[0], kept[1]


def compare() -> dict[str, tuple[float, float]]:
    """Returns the octets per message, ours and pamqp's, by kind of message."""
    return {
        kind: (retained(ours.kept, sent), retained(peer_pamqp.kept, sent))
        for kind, sent in (
            ("repeated", messages(COUNT, rich=False, varied=False)),
            ("varied", messages(COUNT, rich=False, varied=True)),
        )
    }
