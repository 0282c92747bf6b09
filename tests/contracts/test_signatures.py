"""The three adapters have the same words: each call takes the same, but that two of them are awaited."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio.adapters import asyncio, sync, trio
from amqp_sansio.adapters.asyncio import channels as asyncio_channels
from amqp_sansio.adapters.sync import channels as sync_channels
from amqp_sansio.adapters.trio import channels as trio_channels

PAIRS = [(sync, asyncio), (sync, trio), (sync_channels, asyncio_channels), (sync_channels, trio_channels)]
pairs = pytest.mark.parametrize(("sync", "other"), PAIRS, ids=lambda module: module.__name__)
WORDS = ["Connection", "Session", "Channel", "Subscription", "Pending"]
AWAITED = {"__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__"}
ONLY = {("Pending", "sync", "result")}
"""What is awaited in the others."""


def calls(of: type) -> dict[str, Callable[..., object]]:
    return {name: each for name, each in inspect.getmembers(of) if inspect.isfunction(each) and not name.startswith("_")}


def properties(of: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(of, lambda each: isinstance(each, property)) if not name.startswith("_")}


def shown(call: Callable[..., object]) -> str:
    """What it takes and gives, in the words of the blocking adapter."""
    text = str(inspect.signature(call))
    for awaited, plain in (("AsyncGenerator[None]", "Iterator[None]"), ("AsyncIterator[None]", "Iterator[None]")):
        text = text.replace(awaited, plain)
    return text


@pairs
@pytest.mark.parametrize("name", WORDS)
def test_the_calls_take_the_same(sync: object, other: object, name: str) -> None:
    if not hasattr(sync, name):
        return
    ours, theirs = getattr(sync, name), getattr(other, name)
    blocking = {call: shown(each) for call, each in calls(ours).items() if (name, "sync", call) not in ONLY}
    assert {call: shown(each) for call, each in calls(theirs).items()} == blocking
    assert properties(theirs) == properties(ours)


@pairs
def test_the_modules_have_the_same_names(sync: Any, other: Any) -> None:
    assert sorted(other.__all__) == sorted(sync.__all__)
    assert other.Message is sync.Message


@pairs
def test_connecting_takes_the_same(sync: Any, other: Any) -> None:
    """But for the nursery of trio, in which a connection without a block lives."""
    ours, theirs = (inspect.signature(each.connect).parameters for each in (sync, other))
    assert [str(each) for name, each in theirs.items() if name != "nursery"] == [str(each) for each in ours.values()]
    assert ("nursery" in theirs) == (other in (trio, trio_channels))
