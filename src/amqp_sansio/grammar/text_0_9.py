"""The grammar of 0-9, written from its XML and, for class queue, from the document that prints one.

The printed grammar of class queue has an answer after every method, but its methods have `nowait`, which suppresses it: the
methods win.  In that document queue.unbind has nowait too; in the XML it does not.  Every method of class message is answered
by a method of class message that does not name the request.  RabbitMQ serves 0-9 with its extensions of 0-9-1, which are
marked.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.notation import Grammar

CLASS_QUEUE: Final = "class-queue"
RABBITMQ: Final = "rabbitmq"

TEXT: Final = """\
connection = refused / open-connection ( S:connection.redirect / S:connection.open-ok *use-connection close-connection )
refused = C:protocol-header S:other-protocol-header
open-connection = C:protocol-header S:connection.start C:connection.start-ok *challenge
    S:connection.tune C:connection.tune-ok C:connection.open
challenge = S:connection.secure C:connection.secure-ok
use-connection = C:connection.heartbeat / S:connection.heartbeat / C:session-traffic / S:session-traffic
close-connection = C:connection.close S:connection.close-ok / S:connection.close C:connection.close-ok
channel = open-channel *use-channel close-channel
open-channel = C:channel.open S:channel.open-ok / C:channel.resume S:channel.ok
use-channel = flow / alive / access / exchange / queue / basic / file / stream / tx / confirm / dtx / tunnel / message
close-channel = C:channel.close S:channel.close-ok / S:channel.close C:channel.close-ok
flow = C:channel.flow S:channel.flow-ok / S:channel.flow C:channel.flow-ok
alive = C:channel.ping S:channel.ok / S:channel.ping C:channel.ok / C:channel.pong S:channel.ok / S:channel.pong C:channel.ok
access = C:access.request S:access.request-ok
exchange = C:exchange.declare S:exchange.declare-ok / C:exchange.declare+nowait
    / C:exchange.delete S:exchange.delete-ok / C:exchange.delete+nowait
    / {rabbitmq} C:exchange.bind S:exchange.bind-ok / {rabbitmq} C:exchange.bind+nowait
    / {rabbitmq} C:exchange.unbind S:exchange.unbind-ok / {rabbitmq} C:exchange.unbind+nowait
queue = C:queue.declare S:queue.declare-ok / C:queue.declare+nowait
    / C:queue.bind S:queue.bind-ok / C:queue.bind+nowait
    / C:queue.unbind S:queue.unbind-ok / {class-queue} C:queue.unbind+nowait
    / C:queue.purge S:queue.purge-ok / C:queue.purge+nowait
    / C:queue.delete S:queue.delete-ok / C:queue.delete+nowait
basic = C:basic.qos S:basic.qos-ok
    / C:basic.consume S:basic.consume-ok / C:basic.consume+nowait
    / C:basic.cancel S:basic.cancel-ok / C:basic.cancel+nowait
    / C:basic.publish content / S:basic.return content / S:basic.deliver content
    / C:basic.get ( S:basic.get-ok content / S:basic.get-empty )
    / C:basic.ack / C:basic.reject / C:basic.recover
    / {rabbitmq} S:basic.cancel C:basic.cancel-ok / {rabbitmq} S:basic.cancel+nowait
    / {rabbitmq} C:basic.nack / {rabbitmq} S:basic.ack / {rabbitmq} S:basic.nack
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
confirm = {rabbitmq} C:confirm.select S:confirm.select-ok / {rabbitmq} C:confirm.select+nowait
dtx = C:dtx.select S:dtx.select-ok / C:dtx.start S:dtx.start-ok
tunnel = C:tunnel.request content
message = C:message.transfer ( S:message.ok / S:message.reject ) / S:message.transfer ( C:message.ok / C:message.reject )
    / C:message.consume S:message.ok / C:message.cancel S:message.ok
    / C:message.get ( S:message.ok / S:message.empty )
    / C:message.recover S:message.ok / C:message.qos S:message.ok
    / reference
reference = C:message.open S:message.ok / S:message.open C:message.ok
    / C:message.append S:message.ok / S:message.append C:message.ok
    / C:message.checkpoint S:message.ok / S:message.checkpoint C:message.ok
    / C:message.close S:message.ok / S:message.close C:message.ok
    / C:message.resume S:message.offset / S:message.resume C:message.offset
"""

GRAMMAR: Final = Grammar(TEXT)

ANY_TIME: Final = frozenset(
    [
        each.word.partition(":")[2].partition(" ")[0]
        for each in GRAMMAR.questions("open-channel", "alive", "message")
        if each.answers and each.word != "client:channel.open"
    ]
)
"""Methods with an answer that are not synchronous: the answer may come at any time."""
