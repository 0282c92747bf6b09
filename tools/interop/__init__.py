"""Fetches real brokers, starts them on loopback, and stops them."""
