"""Octets: types, frames, segments, layouts.  Knows no state."""
