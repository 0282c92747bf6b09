"""How the other side is told that it broke a rule."""

from __future__ import annotations

from tests.carriers import attached_session

from amqp_sansio.engine.breach import violate
from amqp_sansio.events import Origin, SessionDetached, Violation
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import execution
from amqp_sansio.spec import session as c


def test_an_error_code_goes_out_in_an_exception_behind_what_was_gathered() -> None:
    carrier, session = attached_session("server")
    carrier.hear(execution.Sync())
    session.send(execution.Sync())
    carrier.out.clear()
    carrier.happened()
    violate(session, "a.rule", "said", ("legal",), 542, 99, "text", 7, (4, 1))
    assert carrier.said() == [
        c.Completed(RangeSet.of(0)),
        execution.Exception_(542, 7, 4, 1, None, "a.rule: text"),
        c.Detach(b"s"),
    ]
    violation = Violation("client", "a.rule", "said", ("legal",), 542, 0, 99, "text")
    assert carrier.happened() == [
        SessionDetached(b"s", 0, Origin.VIOLATION, None, "text", violation, in_doubt=RangeSet.of(0), ended=True)
    ]
    assert not carrier.channel(0).free
    carrier.hear(c.Detached(b"s", 0))
    assert carrier.channel(0).free


def test_a_detach_code_goes_out_in_detached() -> None:
    carrier, session = attached_session("client")
    violate(session, "a.rule", "said", (), 4, 0, "text")
    assert carrier.said() == [c.Detached(b"s", 4)]
    assert carrier.channel(0).free
