"""Fronts, one per protocol family: each executes its clients' commands on the model and answers them."""
