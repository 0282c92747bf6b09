"""The grammar: the specification's conversations as regular languages, and automata to compare them.

Written independently of the tables.
"""
