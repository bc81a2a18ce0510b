"""Review of the agent's changes: what waits for it, how it is shown and stored, and the user's decisions."""
