"""The grammars of 0-8, 0-9 and 0-9-1, each written from its XML; rules that stand in several are here once.

The XML tells which methods answer which (response), which side accepts them (chassis), and which carry a content.  It prints no
grammar; the prose says what belongs together.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.notation import Grammar

EXCERPT: Final = "excerpt"
CLASS_QUEUE: Final = "class-queue"
RABBITMQ: Final = "rabbitmq"

_EVERY: Final = """\
refused = C:protocol-header S:other-protocol-header
challenge = S:connection.secure C:connection.secure-ok
close-connection = C:connection.close S:connection.close-ok / S:connection.close C:connection.close-ok
channel = open-channel *use-channel close-channel
close-channel = C:channel.close S:channel.close-ok / S:channel.close C:channel.close-ok
flow = C:channel.flow S:channel.flow-ok / S:channel.flow C:channel.flow-ok
tx = C:tx.select S:tx.select-ok / C:tx.commit S:tx.commit-ok / C:tx.rollback S:tx.rollback-ok
"""
_BEFORE_0_9_1: Final = """\
connection = refused / open-connection ( S:connection.redirect / S:connection.open-ok *use-connection close-connection )
open-connection = C:protocol-header S:connection.start C:connection.start-ok *challenge
    S:connection.tune C:connection.tune-ok C:connection.open
use-connection = C:connection.heartbeat / S:connection.heartbeat / C:session-traffic / S:session-traffic
access = C:access.request S:access.request-ok
file = C:file.qos S:file.qos-ok
    / C:file.consume S:file.consume-ok / C:file.consume+nowait
    / C:file.cancel S:file.cancel-ok / C:file.cancel+nowait
    / C:file.open S:file.open-ok / S:file.open C:file.open-ok / C:file.stage content / S:file.stage content
    / C:file.publish / S:file.return content / S:file.deliver / C:file.ack / C:file.reject
stream = C:stream.qos S:stream.qos-ok
    / C:stream.consume S:stream.consume-ok / C:stream.consume+nowait
    / C:stream.cancel S:stream.cancel-ok / C:stream.cancel+nowait
    / C:stream.publish content / S:stream.return content / S:stream.deliver content
dtx = C:dtx.select S:dtx.select-ok / C:dtx.start S:dtx.start-ok
tunnel = C:tunnel.request content
"""
_SINCE_0_9: Final = """\
exchange = C:exchange.declare S:exchange.declare-ok / C:exchange.declare+nowait
    / C:exchange.delete S:exchange.delete-ok / C:exchange.delete+nowait
    / {rabbitmq} C:exchange.bind S:exchange.bind-ok / {rabbitmq} C:exchange.bind+nowait
    / {rabbitmq} C:exchange.unbind S:exchange.unbind-ok / {rabbitmq} C:exchange.unbind+nowait
confirm = {rabbitmq} C:confirm.select S:confirm.select-ok / {rabbitmq} C:confirm.select+nowait
"""

GRAMMAR_0_8: Final = Grammar(
    _EVERY
    + _BEFORE_0_9_1
    + """\
open-channel = C:channel.open S:channel.open-ok
use-channel = flow / alert / access / exchange / queue / basic / file / stream / tx / dtx / tunnel / test
alert = S:channel.alert
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
test = C:test.integer S:test.integer-ok / S:test.integer C:test.integer-ok
    / C:test.string S:test.string-ok / S:test.string C:test.string-ok
    / C:test.table S:test.table-ok / S:test.table C:test.table-ok
    / C:test.content content S:test.content-ok content / S:test.content content C:test.content-ok content
"""
)
"""The grammar of 0-8, in which every method with an answer is synchronous.

queue.unbind, which RabbitMQ answers, is only in the repaired document of a client, and marked accordingly.
"""

GRAMMAR_0_9: Final = Grammar(
    _EVERY
    + _BEFORE_0_9_1
    + _SINCE_0_9
    + """\
open-channel = C:channel.open S:channel.open-ok / C:channel.resume S:channel.ok
use-channel = flow / alive / access / exchange / queue / basic / file / stream / tx / confirm / dtx / tunnel / message
alive = C:channel.ping S:channel.ok / S:channel.ping C:channel.ok / C:channel.pong S:channel.ok / S:channel.pong C:channel.ok
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
""",
    any_time="channel.ping channel.pong channel.resume message.transfer message.consume message.cancel message.get"
    " message.recover message.qos message.open message.append message.checkpoint message.close message.resume",
)
"""The grammar of 0-9, written from its XML and, for class queue, from the document that prints one.

The printed grammar of class queue has an answer after every method, but its methods have `nowait`, which suppresses it: the
methods win.  In that document queue.unbind has nowait too; in the XML it does not.  Every method of class message is answered
by a method of class message that does not name the request.  RabbitMQ serves 0-9 with its extensions of 0-9-1, which are
marked.
"""

GRAMMAR_0_9_1: Final = Grammar(
    _EVERY
    + _SINCE_0_9
    + """\
connection = refused / open-connection *use-connection close-connection
open-connection = C:protocol-header S:connection.start C:connection.start-ok *challenge
    S:connection.tune C:connection.tune-ok C:connection.open S:connection.open-ok
use-connection = C:connection.heartbeat / S:connection.heartbeat / C:session-traffic / S:session-traffic
    / {rabbitmq} S:connection.blocked / {rabbitmq} S:connection.unblocked
    / {rabbitmq} C:connection.update-secret S:connection.update-secret-ok
open-channel = C:channel.open S:channel.open-ok
use-channel = flow / access / exchange / queue / basic / tx / confirm
access = {rabbitmq} C:access.request S:access.request-ok
queue = C:queue.declare S:queue.declare-ok / C:queue.declare+nowait
    / C:queue.bind S:queue.bind-ok / C:queue.bind+nowait
    / C:queue.unbind S:queue.unbind-ok
    / C:queue.purge S:queue.purge-ok / C:queue.purge+nowait
    / C:queue.delete S:queue.delete-ok / C:queue.delete+nowait
basic = C:basic.qos S:basic.qos-ok
    / C:basic.consume S:basic.consume-ok / C:basic.consume+nowait
    / C:basic.cancel S:basic.cancel-ok / C:basic.cancel+nowait
    / {rabbitmq} S:basic.cancel C:basic.cancel-ok / {rabbitmq} S:basic.cancel+nowait
    / C:basic.publish content / S:basic.return content / S:basic.deliver content
    / C:basic.get ( S:basic.get-ok content / S:basic.get-empty )
    / C:basic.ack / C:basic.reject
    / {rabbitmq} C:basic.nack / {rabbitmq} S:basic.ack / {rabbitmq} S:basic.nack
    / C:basic.recover-async / C:basic.recover S:basic.recover-ok
""",
    any_time="basic.recover",  # the XML does not even say that recover-ok answers it
)
"""The grammar of 0-9-1.

RabbitMQ's additions are marked; blocked, unblocked, update-secret and access.request, which it keeps for old clients, are not
in its XML either.  `no-wait` suppresses the answer; queue.unbind lacks the field.
"""
