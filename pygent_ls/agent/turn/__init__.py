"""One turn: the loop, its limits and its state."""
