"""Built-in tools for the model; each module declares its own."""
