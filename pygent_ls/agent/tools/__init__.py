"""Declaration of tools, and the state that tools share."""
