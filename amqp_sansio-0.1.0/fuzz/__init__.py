"""`make fuzz`: whatever octets arrive, nothing but events comes out: no exception, no endless loop, memory within limits."""
