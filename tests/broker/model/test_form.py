"""How a message of one family is given to another one: the model asks forms, and reads no octets itself."""

from __future__ import annotations

import pytest

from amqp_sansio.broker.model.form import Form
from amqp_sansio.broker.model.message import Entry, Envelope, Message
from amqp_sansio.broker.model.properties import Properties
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.errors import DecodeError


class Words(Form):
    """The header is the routing key and, in upper case, the mark."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.asked: list[str] = []

    def properties(self, header: bytes) -> Properties:
        self.asked.append("properties")
        if header.startswith(b"?"):
            raise DecodeError("word", 0, "not a word")
        return Properties(routing_key=header.decode().lower(), redelivered=header.isupper())

    def marked(self, header: bytes) -> bytes:
        self.asked.append("marked")
        return header.upper()

    def written(self, properties: Properties) -> bytes:
        self.asked.append("written")
        key = f"{self.name}-{properties.routing_key}".encode()
        return key.upper() if properties.redelivered else key


def entry(header: bytes, form: Form, **facts: object) -> Entry:
    envelope = Envelope(form, header, **facts)  # type: ignore[arg-type]  # facts as they are named there
    return Entry(Queue("q"), Message(1, envelope, b""), 0, 1)


def test_its_own_family_gets_the_octets_of_the_publisher_and_nobody_reads_them() -> None:
    form = Words("one")
    mine = entry(b"key", form)
    assert mine.header_in(form) is mine.message.envelope.header is mine.header
    assert form.asked == []
    mine.redelivered = True
    assert mine.header_in(form) == mine.header == b"KEY"
    assert mine.header_in(form) is mine.header
    assert form.asked == ["marked"]


def test_another_family_gets_them_in_its_own_form_made_once() -> None:
    one, other = Words("one"), Words("other")
    mine = entry(b"key", one)
    assert mine.header_in(other) == b"other-key"
    assert mine.header_in(other) is mine.header_in(other)
    mine.redelivered = True
    assert mine.header_in(other) == b"OTHER-KEY"
    assert (one.asked, other.asked) == (["properties", "marked", "properties"], ["written", "written"])


def test_of_a_header_that_cannot_be_read_the_other_family_gets_what_the_model_knows() -> None:
    other = Words("other")
    assert entry(b"?", Words("one"), routing_key="known").header_in(other) == b"other-known"


def test_a_form_says_all_of_it_itself() -> None:
    form = Form("bare")
    assert repr(form) == "<Form of bare>"
    for asked in (form.properties, form.headers, form.marked):
        with pytest.raises(NotImplementedError):
            asked(b"")
    with pytest.raises(NotImplementedError):
        form.headed(b"", "n", 1)
    with pytest.raises(NotImplementedError):
        form.envelope(b"", False)
    with pytest.raises(NotImplementedError):
        form.written(Properties())
