"""Every broker test that asks for a world is run twice: octets whole, and one at a time."""

from __future__ import annotations

import pytest
from tests.broker.harness import World


@pytest.fixture(params=[None, 1], ids=["whole", "octets"])
def world(request: pytest.FixtureRequest) -> World:
    """A broker without any client yet."""
    return World(chunk=request.param)
