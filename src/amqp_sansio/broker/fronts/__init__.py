"""Fronts: one per family, which executes the commands of the family's clients on the model, and answers them."""
