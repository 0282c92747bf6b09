"""The tag of a broker: made once, and the same as long as its store is there."""

from __future__ import annotations

import stat
from pathlib import Path
from uuid import UUID

import pytest

from amqp_sansio.adapters.tag import FILE, kept_tag, new_tag


def test_every_tag_is_another_one() -> None:
    assert new_tag() != new_tag()


def test_a_directory_keeps_its_tag(tmp_path: Path) -> None:
    made = kept_tag(tmp_path)
    assert kept_tag(tmp_path) == kept_tag(str(tmp_path)) == made
    assert [each.name for each in tmp_path.iterdir()] == [FILE]
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize("octets", [b"", b"what", b"\xff\xfe"])
def test_what_is_no_tag_is_replaced(octets: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(octets)
    made = kept_tag(tmp_path)
    assert str(UUID(made)) == made
    assert kept_tag(tmp_path) == made


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        kept_tag(tmp_path / "none")
