"""The default mechanism for a user name and password: SCRAM, which does not send the password, where both sides support it."""

from __future__ import annotations

import secrets
from typing import Final

import attrs

from amqp_sansio.config import ClientConfig, SaslError
from amqp_sansio.engine.sasl import Plain, Scram

NONCE_OCTETS: Final = 24
"""Random octets of a nonce, which is their base64 form."""


def proving(config: ClientConfig) -> ClientConfig:
    """Returns the settings with SCRAM-SHA-256 before PLAIN when they name a user and no mechanisms.

    Returns them unchanged without the extra `scram`, and for names and passwords that SCRAM cannot encode.
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
