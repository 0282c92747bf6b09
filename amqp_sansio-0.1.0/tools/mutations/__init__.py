"""`python -m tools.mutations`: faults put into the machines one at a time, and whether the tests notice."""
