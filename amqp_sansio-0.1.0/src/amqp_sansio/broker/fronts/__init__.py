"""One front per family over the model: it does what clients of the family ask for, and answers them."""
