"""The editions that have a text."""

from __future__ import annotations

import pytest

from amqp_sansio.dialects import NAMED
from amqp_sansio.testing.speech.editions import EDITIONS, Edition


@pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)
def test_an_edition_asks_what_its_dialect_has(edition: Edition) -> None:
    assert NAMED[edition.name] is edition.dialect
    asked = {each.word.partition(":")[2].partition(" ")[0] for each in edition.asked("use-channel", "open-channel")}
    assert asked <= edition.verbs
    assert edition.opens["client:channel.open"] == "server:channel.open-ok"


def test_what_was_added_belongs_to_some() -> None:
    asked = {edition.name: {each.word for each in edition.asked("queue")} for edition in EDITIONS}
    assert "client:queue.unbind" not in asked["0-8"]
    assert "client:queue.unbind" in asked["0-8 unbind"]
    assert "client:queue.unbind nowait" not in asked["0-9"]
    assert "client:queue.unbind nowait" in asked["0-9 unbind"]
    added = [each.word for edition in EDITIONS if edition.name == "0-9 RabbitMQ" for each in edition.asked("confirm")]
    assert added == ["client:confirm.select", "client:confirm.select nowait"]


def test_the_words_on_an_open_connection() -> None:
    first, second, *_ = [edition.traffic for edition in EDITIONS]
    assert "server:connection.blocked" in first.server
    assert not first.redirects
    assert second.redirects
    assert second.client == ("client:session-traffic",)
