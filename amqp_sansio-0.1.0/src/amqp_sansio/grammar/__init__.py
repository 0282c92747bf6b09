"""The second witness: the conversations of the specification as regular languages, and the automata to compare them by."""
