"""Two machines joined in memory, for tests."""
