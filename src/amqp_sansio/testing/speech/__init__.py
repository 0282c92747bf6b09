"""Turns words of the grammars into real methods: controls and commands, with consistent arguments."""
