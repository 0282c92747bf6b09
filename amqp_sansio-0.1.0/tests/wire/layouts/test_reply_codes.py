"""Which reply codes each version has, by hand from the four documents and what RabbitMQ says besides."""

from __future__ import annotations

from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.wire.layouts.reply_codes import REPLY_CODES

ALL = {200, 311, 320, 402, 403, 404, 405, 501, 502, 503, 504, 506, 530, 540, 541}


def test_the_codes_of_each_version() -> None:
    more = {"0-8": {310}, "0-9": {310, 312, 313, 406}, "0-9-1": {313, 406, 505}, "rabbitmq": {312, 313, 406, 505}}
    assert {name: ALL | codes for name, codes in more.items()} == REPLY_CODES


def test_each_code_is_one_of_a_version() -> None:
    assert set(ReplyCode) == set().union(*REPLY_CODES.values())
