"""Names of branches: read back as written, and never taken for somebody else's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.errors import AmqpError
from amqp_sansio.spark.live.identity import (
    FORMAT,
    JOB,
    MOST,
    SINK,
    SOURCE,
    branch,
    branch_named,
    name_of,
    new_owner,
    number_of,
    number_of_job,
    owned,
    unseen,
)
from amqp_sansio.spec.xids import key_of, xid

OWNERS = st.binary(min_size=16, max_size=16)


@given(OWNERS, st.sampled_from([SOURCE, SINK, JOB]), st.integers(0, MOST))
def test_a_branch_is_read_back_from_its_word(owner: bytes, kind: bytes, number: int) -> None:
    made = branch(owner, kind, number)
    assert key_of(branch_named(name_of(made))) == key_of(made)
    assert number_of(made) == number
    assert owned([made], owner, kind) == [made]


@given(OWNERS, OWNERS)
def test_nobody_elses_branch_is_ours(one: bytes, two: bytes) -> None:
    """Of all branches at a broker, those of an owner and a kind are found, and no others."""
    mine = branch(one, SOURCE, 1)
    others = [
        branch(one, SINK, 1),
        xid(1, b"transfer 17"),
        xid(FORMAT, one),
        xid(FORMAT, one + bytes(8), b"S"),
        xid(0, one * 2),
    ]
    if one != two:
        others.append(branch(two, SOURCE, 1))
    assert owned([*others, mine], one, SOURCE) == [mine]


def test_each_attempt_is_another_branch() -> None:
    owner = new_owner()
    assert len({name_of(branch(owner, SOURCE, 1)) for _ in range(100)}) == 100
    assert new_owner() != owner
    assert number_of_job("one") == number_of_job("one") != number_of_job("two")


@pytest.mark.parametrize("text", ["", "x-y", "00", "0g-00", "AB-CD"])
def test_what_names_no_branch(text: str) -> None:
    with pytest.raises((ValueError, AmqpError)):
        branch_named(text)


def test_what_was_seen_is_not_seen_again() -> None:
    owner = new_owner()
    one, two = branch(owner, SINK, 1), branch(owner, SINK, 2)
    seen: set[str] = set()
    assert unseen([one], seen) == [one]
    assert unseen([one, two], seen) == [two]
    assert unseen([one, two], seen) == []
