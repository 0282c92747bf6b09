"""What is imported without its extra names the extra."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [
        ("amqp_sansio.adapters.trio", "trio", "trio"),
        ("amqp_sansio.adapters.trio.channels", "trio", "trio"),
        ("amqp_sansio.adapters.otel", "opentelemetry", "otel"),
        ("amqp_sansio.testing.strategies", "hypothesis", "testing"),
        ("amqp_sansio.testing.machines", "hypothesis", "testing"),
    ],
)
def test_without_its_extra_an_import_names_it(module: str, missing: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = ".".join(module.split(".")[:3])
    for name in [each for each in sys.modules if each.startswith((package, f"{missing}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(
        ModuleNotFoundError, match=rf"^{missing} is not installed: pip install 'amqp-sansio\[{extra}\]'$"
    ) as raised:
        import_module(module)
    assert raised.value.name == missing
