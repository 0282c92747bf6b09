"""Channels of the older dialects, for both roles, on a connection that carries them."""
