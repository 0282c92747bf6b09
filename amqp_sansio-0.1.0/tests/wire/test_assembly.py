"""Assemblies and breaches are plain values."""

from __future__ import annotations

import pickle

from amqp_sansio.wire.assembly import COMMAND, Assembly, Malformed


def test_plain_values() -> None:
    assembly = Assembly(1, 1, COMMAND, b"c", b"h", None, 0, 40)
    malformed = Malformed("assembly.segments", "text", 503, 1, 40)
    for thing in (assembly, malformed):
        assert pickle.loads(pickle.dumps(thing)) == thing
        assert hash(thing) == hash(pickle.loads(pickle.dumps(thing)))
    assert assembly.complete
    assert not assembly.unended
    assert not malformed.ends_connection
    assert not malformed.fatal
