"""Edit plans: differences, hunks, review, commit."""
