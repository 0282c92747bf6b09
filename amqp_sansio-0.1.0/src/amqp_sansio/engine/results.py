"""Results and exceptions, paired with what asked for them, in both directions."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.kernel.picking import ById, pick
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.execution import Exception_


class Owed(NamedTuple):
    """A command of the other side that is not complete: its codes, and the name of the result that it waits for or ""."""

    class_code: int
    code: int
    result: str


class Results:
    """`asked`: our commands that wait for a result or, of class tx and dtx, for their outcome, in the order in which they were
    sent; `owed`: theirs that are under way (transfers excepted).

    * `stray` counts results that nobody asked for.
    * `boundary`: the id behind our last tx.select, tx.commit or tx.rollback: where the open transaction begins.
    * `refused`: id and error code of the command at which the other side ended the session; what came behind it is undone.
    """

    __slots__ = ("asked", "boundary", "owed", "refused", "stray")

    def __init__(self) -> None:
        self.asked: Final[ById[Command]] = ById()
        self.owed: dict[int, Owed] = {}
        self.stray = 0
        self.boundary = 0
        self.refused: tuple[int, int] | None = None

    def said(self, id: int, command: Command) -> None:
        """Our client said a command of class tx or dtx."""
        if isinstance(command, tx.Select | tx.Commit | tx.Rollback):
            self.boundary = (id + 1) & 0xFFFFFFFF
        if not isinstance(command, tx.Select | dtx.Select):
            self.asked[id] = command

    def received(self, id: int) -> Command | None:
        """execution.result came for our command `id`: what asked for it, which waits still; None when nothing did."""
        command = self.asked.get(id)
        if command is None or not command.RESULT:
            self.stray += 1
            return None
        return command

    def check_result(self, id: int, value: Struct | None) -> None:
        """LocalProtocolError unless their command `id` waits for a result of this kind."""
        owed = self.owed.get(id)
        if owed is None or not owed.result:
            waiting = tuple([f"execution.result for {id}: {o.result}" for id, o in self.owed.items() if o.result][:8])
            raise LocalProtocolError(f"execution.result for {id}", "no result is owed", waiting, "execution")
        if value is not None and owed.result != value.NAME:
            raise LocalProtocolError(
                f"execution.result {value.NAME} for {id}", "another result is owed", (f"execution.result {owed.result}",)
            )

    def given(self, id: int) -> None:
        """The result of their command `id` was sent."""
        self.owed[id] = self.owed[id]._replace(result="")

    def check_complete(self, ids: RangeSet) -> None:
        """LocalProtocolError when a command among them still waits for its result: the result comes first."""
        waiting = [id for id in pick(ids, self.owed) if self.owed[id].result]
        if waiting:
            legal = tuple([f"execution.result for {id}: {self.owed[id].result}" for id in waiting[:8]])
            raise LocalProtocolError(f"session.completed {RangeSet.of(*waiting)}", "a result is owed", legal)

    def completed(self, ids: RangeSet) -> None:
        """Their commands are complete."""
        for id in pick(ids, self.owed):
            del self.owed[id]


def exception_of(received: Exception_) -> tuple[int | None, int | None, int | None, int | None]:
    """The command id, class code, command code and field index of an exception that came.

    Deployed brokers fill all of them with 0 when an exception has nothing to do with a command: that is None.
    """
    if not received.class_code and not received.command_code and not received.command_id and received.class_code is not None:
        return None, None, None, None
    return received.command_id, received.class_code, received.command_code, received.field_index
