"""The checker of sessions, by itself: what the observer's tests do not ask."""

from __future__ import annotations

from typing import Literal

import pytest

from amqp_sansio.engine.ear import Ear
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.observer import Observer
from amqp_sansio.engine.session_checker import UNHEARD, SessionChecker, hear_opening, missed_opening
from amqp_sansio.engine.witness_handshake import HandshakeWitness
from amqp_sansio.errors import DecodeError
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.connection import StartOk, TuneOk
from amqp_sansio.wire.segments import SEGMENTATION


def checker() -> SessionChecker:
    made = Observer()._checker
    assert isinstance(made, SessionChecker)
    return made


def test_only_a_transfer_and_its_kind_carry_more() -> None:
    carries = checker().carries
    assert carries(4, 1)
    assert carries(119, 1)
    assert not carries(4, 2)


def test_it_goes_on_with_a_witness_and_with_nothing_else() -> None:
    one, another = checker(), checker()
    another.resume(one.state())
    assert another.findings is one.findings
    with pytest.raises(DecodeError):
        another.resume(("not", "a witness"))


Ears = dict[Literal["C", "S"], Ear]


def made(mechanism: str = "") -> tuple[Ears, HandshakeWitness]:
    ears: Ears = {
        "C": Ear(DEFAULT_LIMITS, SEGMENTATION, lambda *_: True),
        "S": Ear(DEFAULT_LIMITS, SEGMENTATION, lambda *_: True),
    }
    for ear in ears.values():
        ear.read_frames()
    handshake = HandshakeWitness(Findings(False, DEFAULT_LIMITS))
    handshake.mechanism = mechanism
    return ears, handshake


@pytest.mark.parametrize(("mechanism", "doubt"), [("", UNHEARD), ("PLAIN", ""), ("DIGEST-MD5", "")])
def test_what_was_lost_may_have_held_the_mechanism(mechanism: str, doubt: str) -> None:
    ears, handshake = made(mechanism)
    missed_opening(ears, handshake)
    assert [ear.doubt for ear in ears.values()] == [doubt, doubt]


def test_the_mechanism_tells_whether_there_may_be_a_layer() -> None:
    for mechanism, left in (("PLAIN", ""), ("GSSAPI", "behind the security layer of GSSAPI")):
        ears, handshake = made()
        missed_opening(ears, handshake)
        handshake.mechanism = mechanism
        hear_opening("C", ears, StartOk(None, mechanism, b"", None), handshake)
        assert [ear.doubt for ear in ears.values()] == [left, left]


def test_both_sides_may_speak_through_a_layer_as_soon_as_its_mechanism_is_chosen() -> None:
    ears, handshake = made("DIGEST-MD5")
    hear_opening("C", ears, StartOk(None, "DIGEST-MD5", b"", None), handshake)
    assert {ear.doubt for ear in ears.values()} == {"behind the security layer of DIGEST-MD5"}


def test_the_largest_frame_holds_from_the_answer_on() -> None:
    ears, handshake = made("PLAIN")
    handshake.max_frame_size = 4096
    hear_opening("C", ears, TuneOk(1, 4096, 0), handshake)
    reader = ears["C"].reader
    assert reader is not None
    assert reader.max_frame_size == 4096
