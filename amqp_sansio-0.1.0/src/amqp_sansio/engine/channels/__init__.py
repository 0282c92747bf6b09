"""Channels of the older dialects: both halves of what is said on them, on a connection that carries them."""
