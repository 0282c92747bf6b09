"""The grammar of 0-8, written from its XML.

queue.unbind, which RabbitMQ answers, is only in the repaired document of a client, and marked accordingly.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.notation import Grammar

EXCERPT: Final = "excerpt"

TEXT: Final = """\
connection = refused / open-connection ( S:connection.redirect / S:connection.open-ok *use-connection close-connection )
refused = C:protocol-header S:other-protocol-header
open-connection = C:protocol-header S:connection.start C:connection.start-ok *challenge
    S:connection.tune C:connection.tune-ok C:connection.open
challenge = S:connection.secure C:connection.secure-ok
use-connection = C:connection.heartbeat / S:connection.heartbeat / C:session-traffic / S:session-traffic
close-connection = C:connection.close S:connection.close-ok / S:connection.close C:connection.close-ok
channel = open-channel *use-channel close-channel
open-channel = C:channel.open S:channel.open-ok
use-channel = flow / alert / access / exchange / queue / basic / file / stream / tx / dtx / tunnel / test
close-channel = C:channel.close S:channel.close-ok / S:channel.close C:channel.close-ok
flow = C:channel.flow S:channel.flow-ok / S:channel.flow C:channel.flow-ok
alert = S:channel.alert
access = C:access.request S:access.request-ok
exchange = C:exchange.declare S:exchange.declare-ok / C:exchange.declare+nowait
    / C:exchange.delete S:exchange.delete-ok / C:exchange.delete+nowait
queue = C:queue.declare S:queue.declare-ok / C:queue.declare+nowait
    / C:queue.bind S:queue.bind-ok / C:queue.bind+nowait
    / {excerpt} C:queue.unbind S:queue.unbind-ok
    / C:queue.purge S:queue.purge-ok / C:queue.purge+nowait
    / C:queue.delete S:queue.delete-ok / C:queue.delete+nowait
basic = C:basic.qos S:basic.qos-ok
    / C:basic.consume S:basic.consume-ok / C:basic.consume+nowait
    / C:basic.cancel S:basic.cancel-ok / C:basic.cancel+nowait
    / C:basic.publish content / S:basic.return content / S:basic.deliver content
    / C:basic.get ( S:basic.get-ok content / S:basic.get-empty )
    / C:basic.ack / C:basic.reject / C:basic.recover
file = C:file.qos S:file.qos-ok
    / C:file.consume S:file.consume-ok / C:file.consume+nowait
    / C:file.cancel S:file.cancel-ok / C:file.cancel+nowait
    / C:file.open S:file.open-ok / S:file.open C:file.open-ok / C:file.stage content / S:file.stage content
    / C:file.publish / S:file.return content / S:file.deliver / C:file.ack / C:file.reject
stream = C:stream.qos S:stream.qos-ok
    / C:stream.consume S:stream.consume-ok / C:stream.consume+nowait
    / C:stream.cancel S:stream.cancel-ok / C:stream.cancel+nowait
    / C:stream.publish content / S:stream.return content / S:stream.deliver content
tx = C:tx.select S:tx.select-ok / C:tx.commit S:tx.commit-ok / C:tx.rollback S:tx.rollback-ok
dtx = C:dtx.select S:dtx.select-ok / C:dtx.start S:dtx.start-ok
tunnel = C:tunnel.request content
test = C:test.integer S:test.integer-ok / S:test.integer C:test.integer-ok
    / C:test.string S:test.string-ok / S:test.string C:test.string-ok
    / C:test.table S:test.table-ok / S:test.table C:test.table-ok
    / C:test.content content S:test.content-ok content / S:test.content content C:test.content-ok content
"""

GRAMMAR: Final = Grammar(TEXT)

ANY_TIME: Final[frozenset[str]] = frozenset()
"""Every method with an answer is synchronous."""
