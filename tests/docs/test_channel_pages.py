"""What the manual's pages define for channels does what they show, at a small broker on loopback."""

from __future__ import annotations

from typing import Any

import pytest
from tests.adapters.served_channels import ServedChannels
from tests.docs.test_snippets import ROOT, snippets

from amqp_sansio.adapters.sync import channels
from amqp_sansio.events import DeliveriesSettled


def defined(page: str) -> tuple[dict[str, Any], list[str]]:
    """What the snippets of a page define, and what it shows as printed behind its last one."""
    path = ROOT / "docs" / "how-to" / page
    names: dict[str, Any] = {"__name__": "snippet"}
    found = snippets(path)
    for snippet in found:
        if snippet.language == "python":
            exec(compile(snippet.text, str(path), "exec"), names)
    return names, [snippet.text for snippet in found if snippet.language == "text"]


@pytest.mark.parametrize(
    ("page", "name"), [("request-reply.md", "ask_on_a_channel"), ("client-transactions.md", "move_on_a_channel")]
)
def test_a_program_prints_what_its_page_shows(page: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    names, shown = defined(page)
    capsys.readouterr()
    with ServedChannels() as served:
        names[name](served.url)
    assert [capsys.readouterr().out] == shown


def test_a_worker_settles_in_each_of_the_three_ways() -> None:
    names, _ = defined("workers.md")
    with ServedChannels() as served, channels.connect(served.url) as connection, connection.channel() as channel:
        names["declare_for_channels"](channel)
        for body in (b"1", b"busy", b"nonsense", b"2"):
            channel.publish("", "tasks", body, persistent=True)
        names["run_on_a_channel"](channel)
        assert channel.declare_queue("tasks", passive=True).message_count == 0
        settled = [each for each in served.broker.heard if isinstance(each, DeliveriesSettled)]
    counts = {(verb == "basic.ack", requeue): 0 for verb in ("basic.ack", "basic.nack") for requeue in (False, True)}
    for each in settled:
        counts[each.verb == "basic.ack", each.requeue] += len(each.ids)
    assert counts == {(True, False): 3, (False, True): 1, (False, False): 1, (True, True): 0}
