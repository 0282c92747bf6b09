"""How a name and a password are proven to a server: without saying the password, where both sides can."""

from __future__ import annotations

import secrets
from typing import Final

import attrs

from amqp_sansio.config import ClientConfig, SaslError
from amqp_sansio.engine.sasl import Plain, Scram

NONCE_OCTETS: Final = 24
"""Random octets of a nonce, which is them in base64."""


def proving(config: ClientConfig) -> ClientConfig:
    """The settings, by which SCRAM-SHA-256 comes before PLAIN when they name a user and no mechanisms.

    They stay as they are without the extra `scram`, and for names and passwords that SCRAM cannot say.
    """
    username = config.username
    if config.mechanisms or username is None:
        return config
    scram = Scram(username, config.password, nonce=lambda: secrets.token_urlsafe(NONCE_OCTETS))
    try:
        scram.start()
    except (ImportError, SaslError):
        return config
    return attrs.evolve(config, mechanisms=(scram, Plain(username, config.password)))
