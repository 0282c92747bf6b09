"""Who may do what at a broker: rules, in the order in which they were written, or a function of the application."""
