"""Xids: what may be one, when two are the same, and how one is shown."""

from __future__ import annotations

import pytest
from tests.builds import wrong_type

from amqp_sansio.errors import EncodeError
from amqp_sansio.spec import dtx
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.xids import check_xid, key_of, show, xid


def test_what_is_left_out_counts_as_nothing() -> None:
    assert key_of(dtx.Xid(None, None, None)) == key_of(dtx.Xid(0, b"", b"")) == key_of(None)
    assert key_of(dtx.Xid(1, b"g", b"b")) == (1, b"g", b"b")


@pytest.mark.parametrize("size", [1, 63, 64])
def test_global_ids_that_fit(size: int) -> None:
    assert xid(7, bytes(size)) == Xid(7, bytes(size), b"")


@pytest.mark.parametrize("size", [0, 63, 64])
def test_branch_ids_that_fit(size: int) -> None:
    assert xid(0, b"g", bytes(size)).branch_id == bytes(size)


@pytest.mark.parametrize(
    ("form", "global_id", "branch_id", "what"),
    [
        (0, b"", b"", "global-id"),
        (0, bytes(65), b"", "global-id"),
        (0, b"g", bytes(65), "branch-id"),
        (-1, b"g", b"", "format"),
        (2**32, b"g", b"", "format"),
    ],
)
def test_what_is_no_xid(form: int, global_id: bytes, branch_id: bytes, what: str) -> None:
    with pytest.raises(EncodeError, match=what):
        xid(form, global_id, branch_id)


def test_what_is_of_a_wrong_type() -> None:
    with wrong_type("global-id"):
        xid(0, "text", b"")  # type: ignore[arg-type]
    with wrong_type("global-id"):
        xid(0, None, b"")  # type: ignore[arg-type]
    with wrong_type("branch-id"):
        xid(0, b"g", None)  # type: ignore[arg-type]
    with wrong_type("format"):
        xid(None, b"g", b"")  # type: ignore[arg-type]


def test_something_else() -> None:
    with pytest.raises(EncodeError, match="str"):
        check_xid("dtx.start.xid", "x")


def test_an_xid_in_a_sentence_is_short() -> None:
    assert show((1, b"\x01", b"")) == "1:01:"
    assert show((1, bytes(200), bytes(200))) == f"1:{'00' * 16}..:{'00' * 16}.."
