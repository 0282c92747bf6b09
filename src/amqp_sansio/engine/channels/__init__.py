"""Channels of the older dialects: both roles, on a connection that carries them."""
