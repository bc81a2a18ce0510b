"""The terminal front end: output for the user, and prompts."""
