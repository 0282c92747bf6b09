"""A pytest plugin for the compiled build: skips tests that replace something in a compiled module, with the reason.

Compiled code does not look up its constants, functions and methods again: the replacement would have no effect, and the test
would fail, or pass for no reason.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

import pytest

from tools.compiled.machine import SUFFIX

_given: Final[Callable[..., None]] = pytest.MonkeyPatch.setattr
_object: Final[Callable[..., Any]] = patch.object


def module_of(target: object) -> ModuleType | None:
    """Returns the module that something is, or is defined in; a text is a dotted name."""
    if isinstance(target, str):
        name = target
        while name and name not in sys.modules:
            name = name.rpartition(".")[0]
        return sys.modules.get(name)
    return target if isinstance(target, ModuleType) else sys.modules.get(getattr(target, "__module__", ""))


def compiled(target: object) -> bool:
    """Returns whether its module is machine code."""
    return str(getattr(module_of(target), "__file__", "")).endswith(SUFFIX)


def see(target: object) -> None:
    """Skips the test when a replacement would be in machine code."""
    if compiled(target):
        pytest.skip("replaces something in a compiled module, which does not look it up again")


def pytest_configure() -> None:
    """Wraps `monkeypatch.setattr` and `unittest.mock.patch.object`."""

    def setattr_(self: pytest.MonkeyPatch, target: object, *rest: object, **named: object) -> None:
        see(target)
        _given(self, target, *rest, **named)

    def object_(target: object, *rest: Any, **named: Any) -> Any:
        see(target)
        return _object(target, *rest, **named)

    pytest.MonkeyPatch.setattr = setattr_  # type: ignore[method-assign]
    patch.object = object_  # type: ignore[method-assign]
