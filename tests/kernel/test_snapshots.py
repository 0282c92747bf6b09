"""Objects as plain values and back."""

from __future__ import annotations

from collections import deque
from enum import IntEnum

import pytest

from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.kernel.snapshots import Dumper, Loader


class Node:
    __slots__ = ("call", "next", "things")

    def __init__(self, things: object) -> None:
        self.things = things
        self.next: Node | None = None
        self.call = len


TABLE = Table("t", "a", [Row("a", "C", "x", "b")])
CLASSES = {"Node": Node}


def again(root: object) -> object:
    return Loader(CLASSES, {"t": TABLE}, len).load(Dumper(CLASSES).dump(root))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        1.5,
        "s",
        b"b",
        (),
        (1, (2, "x")),
        [1, [2]],
        {"k": (1,), 2: []},
        deque([1, 2]),
        {1, 2},
        bytearray(b"x"),
        TABLE,
    ],
)
def test_values_come_back(value: object) -> None:
    back = again(value)
    assert back == value
    assert type(back) is type(value)


def test_objects_come_back_once_each_and_may_know_each_other() -> None:
    first, second = Node([1]), Node({"a": b"b"})
    first.next, second.next = second, first
    back = again((first, second, first))
    assert isinstance(back, tuple)
    one, two, three = back
    assert one is three
    assert one.next is two
    assert two.next is one
    assert (one.things, two.things, one.call) == ([1], {"a": b"b"}, len)


def test_attributes_that_a_class_got_later_have_the_values_given_for_them() -> None:
    plain = (("object", 0), (("Node", ("things", 1)),))
    back = Loader(CLASSES, {}, None, {}, {"Node": {"things": 0, "next": None, "call": None}}).load(plain)
    assert isinstance(back, Node)
    found: tuple[object, ...] = (back.things, back.next, back.call)
    assert found == (1, None, None)
    assert not hasattr(Loader(CLASSES, {}, None).load(plain), "next")


class Level(IntEnum):
    HIGH = 1


@pytest.mark.parametrize("value", [Node(1), Level.HIGH])
def test_what_is_not_named_does_not_go_in(value: object) -> None:
    with pytest.raises(TypeError):
        Dumper({}).dump(value)


@pytest.mark.parametrize(
    "plain",
    [
        (),
        (1,),
        (1, 2),
        (["x"], ()),
        (("object", 5), ()),
        (("object", "x"), ()),
        (("object", 0), (("int",),)),
        (("object", 0), (("Node", ("nothing", 1)),)),
        (("table", "u"), ()),
        (("what", 1), ()),
        (("object", 0), (7,)),
    ],
)
def test_what_no_dumper_has_written_is_refused(plain: tuple[object, ...]) -> None:
    with pytest.raises(DecodeError):
        Loader(CLASSES, {}, None).load(plain)
