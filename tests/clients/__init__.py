"""Real editors with the real daemon; the model is a script."""
