"""What a subscription of either family does, over an inbox of numbers; to wait is to let one come."""

from __future__ import annotations

import pytest
from tests.conversation.stage import AT_ONCE, staged
from tests.conversation.staged_line import StagedLine, run

from amqp_sansio.conversation.base_client import Ending
from amqp_sansio.conversation.base_session import BaseSubscription
from amqp_sansio.conversation.inbox import BaseInbox
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import SubscriptionClosed


class Numbers(BaseInbox[int]):
    """0, 1, 2 and so on, one for each wait; `mute`: nobody answers a cancel."""

    def __init__(self, mute: bool = False) -> None:
        super().__init__("q", "here")
        self.mute = mute
        self.came = 0

    def come(self) -> None:
        self.messages.append(self.came)
        self.came += 1
        self._wake()

    def take(self) -> int | None:
        return self.messages.popleft() if self.messages else None

    def cancel(self) -> Ticket[None]:
        cancelled: Ticket[None] = Ticket()
        if not self.mute:
            self._end(None)
            cancelled.settle(None)
        return cancelled


def subscription(inbox: Numbers) -> BaseSubscription[int]:
    return BaseSubscription(inbox, StagedLine(inbox.come), Ending(staged(retry=AT_ONCE).client, 1.0))


def test_messages_come_until_it_is_closed() -> None:
    inbox = Numbers()

    async def main() -> list[int]:
        found: list[int] = []
        async with subscription(inbox) as numbers:
            async for number in numbers:
                found.append(number)
                if number == 2:
                    inbox._end(None)
        return found

    assert run(main()) == [0, 1, 2]


def test_what_is_here_is_received_at_once_and_nothing_behind_the_end() -> None:
    inbox = Numbers()
    inbox.come()
    numbers = subscription(inbox)
    assert run(numbers.receive(timeout=1.0)) == 0
    assert run(numbers.receive(timeout=1.0)) == 1  # waited for
    inbox._end(None)
    with pytest.raises(SubscriptionClosed):
        run(numbers.receive())


def test_its_block_cancels_it_once() -> None:
    inbox = Numbers()

    async def main() -> None:
        async with subscription(inbox):
            pass
        inbox.mute = True
        async with subscription(inbox):
            pass  # it is closed: nobody is asked again

    run(main())
    assert inbox.closed


def test_an_end_that_is_not_answered_hides_no_error_of_its_block() -> None:
    numbers = subscription(Numbers(mute=True))

    async def main(error: Exception | None) -> None:
        async with numbers:
            if error is not None:
                raise error

    with pytest.raises(ValueError, match="mine"):
        run(main(ValueError("mine")))
    assert numbers._ending.timeout == 0.0
    with pytest.raises(TimeoutError):
        run(main(None))
