"""Tests of tools.codegen.reply_codes; what it writes is tested where it lies."""

from __future__ import annotations

import pytest

from tools.codegen import reply_codes
from tools.codegen.reply_codes import of_all, printed


def test_every_constant_that_is_no_frame_is_a_reply_code() -> None:
    """None is left out because nobody wrote a sentence about it."""
    assert [len(printed(name)) for name in ("0-8", "0-9", "0-9-1")] == [16, 19, 18]


def test_versions_that_contradict_one_another_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"0-8": {"not-found": (404, "soft-error")}, "0-9": {"not-found": (404, "hard-error")}}
    monkeypatch.setattr(reply_codes, "printed", lambda name: said.get(name, {}))
    with pytest.raises(ValueError, match="0-9: not-found is"):
        of_all()
