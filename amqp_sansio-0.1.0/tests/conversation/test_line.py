"""What adapters lend their sessions has one form."""

from __future__ import annotations

from amqp_sansio.adapters.asyncio.line import Line as OnAsyncio
from amqp_sansio.adapters.trio.line import Line as OnTrio
from amqp_sansio.conversation.line import Line


def test_both_adapters_have_it() -> None:
    lines: list[Line] = [OnAsyncio(), OnTrio()]  # for the type checker, mostly
    names = {name for name in vars(Line) if not name.startswith("_")}
    assert names == {"free", "writable", "wait", "asked", "within"}
    for line in lines:
        assert all(callable(getattr(line, name)) for name in names)
