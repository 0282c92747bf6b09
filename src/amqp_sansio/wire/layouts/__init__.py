"""Layouts: the encoding of the vocabulary in each version.  Generated, except for `layout`."""
