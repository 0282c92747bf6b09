"""Broker-J's own selectors: its classes evaluate generated selectors and messages, without a running broker."""
