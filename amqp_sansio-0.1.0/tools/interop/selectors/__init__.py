"""Broker-J's own selectors: its classes answer for selectors and messages that we make up, without a broker around them."""
