"""The grammar of class stream."""

from __future__ import annotations

from tests.grammar.naive import equivalent

from amqp_sansio.grammar import file, stream
from amqp_sansio.grammar.algebra import interleaved, renamed


def test_it_is_like_class_file_without_staging_and_acknowledgement() -> None:
    mixed = interleaved(file.qos(), file.consumer(), file.published())
    assert equivalent(stream.stream(), renamed(mixed, lambda word: word.replace("file.", "stream.")))
    assert stream.qos().accepts(["client:stream.qos", "server:stream.qos-ok"])
    assert stream.consumer().prefixes().accepts(["client:stream.consume nowait", "server:stream.deliver"])
    assert stream.published().accepts(["client:stream.publish", "server:stream.return"])
