"""Layouts: how one version puts the vocabulary into octets.  Generated, but for `layout`."""
