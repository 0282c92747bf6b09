"""A model broker without I/O: octets and calls in; octets, events, journal entries and one deadline out."""
