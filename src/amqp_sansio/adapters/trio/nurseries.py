"""Nurseries that the program does not see, so that their exception groups would surprise it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def hidden_nursery() -> AsyncIterator[trio.Nursery]:
    """A nursery as a block, from which a KeyboardInterrupt, else a single exception, comes as it was raised."""
    try:
        async with trio.open_nursery() as nursery:
            yield nursery
    except BaseExceptionGroup as group:
        for each in group.exceptions:
            if len(group.exceptions) == 1 or isinstance(each, KeyboardInterrupt):
                raise each from each.__cause__
        raise
