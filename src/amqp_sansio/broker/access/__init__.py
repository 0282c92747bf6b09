"""Access control: rules, in the order in which they were written, or a function of the application."""
