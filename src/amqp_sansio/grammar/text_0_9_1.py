"""The grammar of 0-9-1, written from its XML.

The XML tells which methods answer which (response), which side accepts them (chassis), and which carry a content.  RabbitMQ's
additions are marked; blocked, unblocked, update-secret and access.request, which it keeps for old clients, are not in its XML
either.  `no-wait` suppresses the answer; queue.unbind lacks the field.  The XML prints no grammar; the prose of 0-9-1 says what
belongs together.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.notation import Grammar

RABBITMQ: Final = "rabbitmq"

TEXT: Final = """\
connection = refused / open-connection *use-connection close-connection
refused = C:protocol-header S:other-protocol-header
open-connection = C:protocol-header S:connection.start C:connection.start-ok *challenge
    S:connection.tune C:connection.tune-ok C:connection.open S:connection.open-ok
challenge = S:connection.secure C:connection.secure-ok
use-connection = C:connection.heartbeat / S:connection.heartbeat / C:session-traffic / S:session-traffic
    / {rabbitmq} S:connection.blocked / {rabbitmq} S:connection.unblocked
    / {rabbitmq} C:connection.update-secret S:connection.update-secret-ok
close-connection = C:connection.close S:connection.close-ok / S:connection.close C:connection.close-ok
channel = open-channel *use-channel close-channel
open-channel = C:channel.open S:channel.open-ok
use-channel = flow / access / exchange / queue / basic / tx / confirm
close-channel = C:channel.close S:channel.close-ok / S:channel.close C:channel.close-ok
flow = C:channel.flow S:channel.flow-ok / S:channel.flow C:channel.flow-ok
access = {rabbitmq} C:access.request S:access.request-ok
exchange = C:exchange.declare S:exchange.declare-ok / C:exchange.declare+nowait
    / C:exchange.delete S:exchange.delete-ok / C:exchange.delete+nowait
    / {rabbitmq} C:exchange.bind S:exchange.bind-ok / {rabbitmq} C:exchange.bind+nowait
    / {rabbitmq} C:exchange.unbind S:exchange.unbind-ok / {rabbitmq} C:exchange.unbind+nowait
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
tx = C:tx.select S:tx.select-ok / C:tx.commit S:tx.commit-ok / C:tx.rollback S:tx.rollback-ok
confirm = {rabbitmq} C:confirm.select S:confirm.select-ok / {rabbitmq} C:confirm.select+nowait
"""

ANY_TIME: Final = frozenset(["basic.recover"])
"""Methods with an answer that are not synchronous; the XML does not even say that recover-ok answers it."""

GRAMMAR: Final = Grammar(TEXT)
