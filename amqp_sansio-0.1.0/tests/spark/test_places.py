"""What is made once for Spark is kept in the virtual environment, else in the user's cache, else where everybody may write."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from amqp_sansio.spark.places import places


def test_the_virtual_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/me/.cache")
    monkeypatch.setattr(sys, "prefix", "/here/.venv")
    first, *others = places()
    assert first == Path("/here/.venv/share/amqp-sansio")
    assert others[0] == Path("/home/me/.cache/amqp-sansio")
    assert len(others) == 2
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert list(places()) == others


def test_without_user_ids_the_last_place_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(places())[-1].name == f"amqp-sansio-{os.getuid()}"
    monkeypatch.delattr(os, "getuid")
    assert list(places())[-1].name == "amqp-sansio"
