"""The wire format: types, frames, segments, layouts.  Stateless."""
