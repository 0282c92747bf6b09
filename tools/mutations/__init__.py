"""`python -m tools.mutations`: injects faults into the machines one at a time, and checks whether the tests notice."""
