"""Real brokers, fetched, started on loopback, and stopped again."""
