"""Test tools: machines joined in memory, simulation, strategies and the probe."""
