"""The sandbox for commands: what it shows, what it protects, and what is looked for after each of them."""
