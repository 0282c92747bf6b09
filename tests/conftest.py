"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of specifications and captures beside the checkout; tests that use it are left out where it is not."""
    for parent in Path(__file__).resolve().parents:
        candidate = parent / "shared"
        if (candidate / "captures" / "MANIFEST.tsv").is_file():
            return candidate
    pytest.skip("no ../shared beside this checkout")
