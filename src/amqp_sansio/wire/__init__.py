"""The wire format: types, frames, segments, layouts.  Knows no state."""
