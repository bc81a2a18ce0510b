"""Edit plans: differences, hunks, review, checkpoints and commit."""
