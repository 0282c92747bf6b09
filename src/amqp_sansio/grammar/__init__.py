"""The grammar: the specification's conversations as regular languages, and automata to compare them, independent of the
tables."""
