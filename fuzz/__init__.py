"""`make fuzz`: whatever octets arrive, only events come out: no exception, no endless loop, memory within limits."""
